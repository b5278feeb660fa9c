// Ordered relationships in models: declarations of classes, JSON, hash, tables, other languages.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite struct OrderedSchemas {
  private static func model(_ isOrdered: Bool, isToMany: Bool = true) -> Schema {
    Schema(entities: [
      EntityDescription(
        name: "A",
        relationships: [
          RelationshipDescription(
            name: "bs", destination: "B", isToMany: isToMany, isOrdered: isOrdered, inverse: "a")
        ]),
      EntityDescription(
        name: "B", relationships: [RelationshipDescription(name: "a", destination: "A", inverse: "bs")]),
    ])
  }

  @Test func `an array property is ordered, and a set property is not`() throws {
    try orderedModel.validate()
    let song = try #require(orderedModel.entity(named: "Song"))
    #expect(song.relationship(named: "lists")?.isOrdered == true)
    #expect(song.relationship(named: "followers")?.isOrdered == false)
    #expect(song.relationship(named: "album")?.isOrdered == false)
    #expect(orderedModel.entity(named: "Album")?.relationship(named: "songs")?.inverse == "album")
  }

  @Test func `an order is part of the model's hash, and models without one have their former JSON`() throws {
    let (plain, ordered) = (Self.model(false), Self.model(true))
    #expect(!plain.json.contains("isOrdered"))
    // As earlier versions wrote it.
    let former = """
      {"entities":[{"attributes":[],"indexes":[],"name":"A","relationships":[{"deleteRule":"nullify",
      "destination":"B","inverse":"a","isRequired":false,"isToMany":true,"name":"bs"}]},
      {"attributes":[],"indexes":[],"name":"B","relationships":[{"deleteRule":"nullify","destination":"A",
      "inverse":"bs","isRequired":false,"isToMany":false,"name":"a"}]}]}
      """
    #expect(try Schema(json: former) == plain)
    #expect(plain.meaningHash == "53d2caba3df73544965195725b932cd0dbdb94ad28ef3d87973779823a1a8a0a")
    #expect(plain != ordered && plain.meaningHash != ordered.meaningHash)
    #expect(try Schema(json: ordered.json) == ordered)
    #expect(try Schema(json: orderedModel.json) == orderedModel)
  }

  @Test func `only a to-many can be ordered`() {
    #expect {
      try Self.model(true, isToMany: false).validate()
    } throws: { "\($0)".contains("A.bs: only a to-many can be ordered") }
  }

  @Test func `positions are stored beside the to-one, or in the join table`() {
    let sql = Self.model(true).rendered(as: .sql).text
    #expect(sql.contains("\"_a_position\" INTEGER"))
    #expect(sql.contains("CREATE INDEX \"ix_B_a\" ON \"B\" (\"a_id\", \"_a_position\")"))
    #expect(!Self.model(false).rendered(as: .sql).text.contains("position"))
    let links = orderedModel.rendered(as: .sql).text
    #expect(links.contains("\"Playlist_songs_position\" INTEGER, \"Song_lists_position\" INTEGER"))
    #expect(links.contains("PRIMARY KEY (\"Playlist_id\", \"Song_id\")) WITHOUT ROWID"))
    #expect(
      links.contains(
        "\"ix_Playlist_songs_target\" ON \"Playlist_songs\" (\"Song_id\", \"Song_lists_position\")"))
    #expect(
      links.contains(
        "\"ix_Playlist_songs_order\" ON \"Playlist_songs\" (\"Playlist_id\", \"Playlist_songs_position\")"))
  }

  @Test func `Swift and Mermaid output show orders`() {
    #expect(orderedModel.rendered(as: .swift).text.contains("var songs: [Song]"))
    #expect(orderedModel.rendered(as: .swift).text.contains("var followers: Set<Song>"))
    #expect(orderedModel.rendered(as: .mermaid).text.contains("lists (ordered)"))
  }

  @Test func `change sets without positions have their former JSON`() throws {
    let plain = ChangeSet(inserted: [.init(entity: "A", rowID: 1, values: [:])], name: "x")
    let text = String(decoding: try JSONEncoder().encode(plain), as: UTF8.self)
    #expect(!text.contains("placed"))
    #expect(try JSONDecoder().decode(ChangeSet.self, from: Data(text.utf8)) == plain)
    let place = ChangeSet.Placement(entity: "A", relationship: "bs", owner: 1, member: 2, old: nil, new: 7)
    let placed = ChangeSet(placed: [place])
    #expect(try JSONDecoder().decode(ChangeSet.self, from: JSONEncoder().encode(placed)) == placed)
    #expect(ChangeSet(merging: [placed, placed.inverse]).isEmpty && !placed.isEmpty)
    #expect(placed.descriptionWithValues == "placed A 1.bs 2: none to 7")
  }

  @Test func `positions that do not fit are refused before anything is written`() async throws {
    let temporary = try await TemporaryStore(orderedModel)
    let store = temporary.store
    try await store.write { context in
      context.insert(Album.self) { album in
        album.songs = [context.insert(Song.self), context.insert(Song.self)]
      }
      _ = context.insert(Song.self)
    }
    func place(_ relationship: String, member: Int64, from old: Int64?, to new: Int64?) -> ChangeSet {
      ChangeSet(placed: [
        .init(entity: "Album", relationship: relationship, owner: 1, member: member, old: old, new: new)
      ])
    }
    for unfit in [
      place("songs", member: 1, from: 3, to: 4), place("songs", member: 3, from: nil, to: 4),
      place("songs", member: 9, from: nil, to: 4),
      place("sleeves2", member: 1, from: nil, to: 1),
    ] {
      await #expect(throws: StoreError.self) { try await store.apply(unfit) }
    }
    let context = store.makeContext()
    let album = try context.fetch(Album.self).one()
    let before = album.songs.map(\.id)
    try await store.apply(place("songs", member: 1, from: 65536, to: 900_000))
    context.refresh(album)
    #expect(album.songs.map(\.id) == before.reversed() && before.count == 2)
  }
}
