// The places that a save writes, planned without a store.

import CipherSQLite
import ObjectVault
import Testing

@Suite(.tags(.pure)) struct OrderedPlans {
  /// An album with row 1, and songs, in a context without a file.
  private final class Bench {
    let mapping: SchemaMapping
    let maps: IdentityMaps
    var reader = BenchReader()
    var pending = PendingChanges()
    let album: ManagedObject
    let songs: RelationshipMapping

    init(isNew: Bool = false) throws {
      let model = Schema(entities: [
        EntityDescription(
          name: "Album",
          relationships: [
            .init(name: "songs", destination: "Song", isToMany: true, isOrdered: true, inverse: "albums")
          ]),
        EntityDescription(
          name: "Song",
          relationships: [.init(name: "albums", destination: "Album", isToMany: true, inverse: "songs")]),
      ])
      mapping = try SchemaMapping(model)
      maps = IdentityMaps(mapping.entities) { entity, _ in
        IdentityMap(entity, of: DynamicObject.self) { DynamicObject.make(entity) }
      }
      songs = try #require(mapping.entities[0].relationships.first)
      album = Self.object(isNew ? pending.makeTemporaryID() : 1, maps[0])
      if isNew { pending.didInsert(album) }
    }

    deinit { for object in maps.objects { object.map = nil } }

    static func object(_ id: Int64, _ map: IdentityMap) -> ManagedObject {
      let object = map.make()
      object.map = map
      object.rowID = id
      object.state = id < 0 ? .inserted : .loaded
      if id < 0 { object.overlay = Overlay(slotCount: map.entity.slots.count, changed: map.entity.allStored) }
      map.insert(object, for: id)
      return object
    }

    func song(_ id: Int64) -> ManagedObject { maps[1].find(id) ?? Self.object(id, maps[1]) }

    /// Sets the members in the file, and also those in memory if `isKnown`.
    func store(_ members: [(Int64, Int64?)], isKnown: Bool) {
      reader.places = members.map { MemberPlace(owner: 1, member: $0.0, place: $0.1) }
      if isKnown { album.members(songs.slot).adopt(members.map { song($0.0) }) }
    }

    func add(_ ids: Int64...) {
      for id in ids {
        album.members(songs.slot).insert(song(id))
        pending.didTouch(album)
      }
    }

    func arrange(_ ids: Int64...) {
      _ = album.members(songs.slot).arrange(ids.map(song))
      pending.didTouch(album)
    }

    func places() throws -> [Int64: Int64?] {
      var planner = SavePlanner(pending, mapping: mapping, maps: maps, reader: reader)
      let plan = try planner.make()
      return Dictionary(uniqueKeysWithValues: plan.places.flatMap(\.members).map { ($0.member, $0.place) })
    }
  }

  private let gap = MemberOrdering.gap

  @Test func `new members are placed after the last one, and only its place is read`() throws {
    let bench = try Bench()
    bench.store([(1, 100), (2, 200)], isKnown: false)
    bench.reader.mayReadMembers = false
    bench.add(8, 9)
    #expect(try bench.places() == [8: 200 + gap, 9: 200 + 2 * gap])
  }

  @Test func `members of a new object are numbered from the beginning, without reading the file`() throws {
    let bench = try Bench(isNew: true)
    bench.reader.mayReadMembers = false
    bench.reader.places = [MemberPlace(owner: 41, member: 7, place: 5)]
    bench.add(8, 9)
    #expect(try bench.places() == [8: gap, 9: 2 * gap])
  }

  @Test func `an added object that is a member in the file already keeps its place`() throws {
    let bench = try Bench()
    bench.store([(1, 100), (2, 200)], isKnown: false)
    bench.add(1, 9)
    #expect(try bench.places() == [1: 100, 9: 200 + gap])
  }

  @Test func `a changed order is planned against the order in the file`() throws {
    let bench = try Bench()
    bench.store([(1, 100), (2, 200), (3, 300)], isKnown: true)
    bench.arrange(3, 1, 2)
    #expect(try bench.places() == [3: 100 - gap])
    // Another context has made the same order meanwhile.
    bench.store([(3, 50), (1, 100), (2, 200)], isKnown: false)
    #expect(try bench.places().isEmpty)
    // Or it has removed a member.
    bench.store([(1, 100), (2, 200)], isKnown: false)
    #expect(try bench.places().isEmpty)
  }

  @Test func `no places are planned for unchanged members and for deleted ones`() throws {
    let bench = try Bench()
    bench.store([(1, 100), (2, 200)], isKnown: true)
    bench.pending.didTouch(bench.album)
    #expect(try bench.places().isEmpty)
    bench.add(9)
    bench.song(9).state = .deleted
    bench.pending.didDelete(bench.song(9))
    bench.reader.versions = [:]
    #expect(try bench.places().isEmpty)
  }
}
