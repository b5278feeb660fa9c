// Automatic migrations: changes that lose nothing are made at open, and all others are refused with the
// lines to write.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

extension Automatic {
  enum First {
    final class Song: ManagedObject {
      @Attribute var title: String
      @Attribute var plays: Int = 0
    }
  }
  enum Second {
    final class Song: ManagedObject {
      @Attribute(.indexed) var title: String
      @Attribute(.renamed(from: "plays")) var count: Int = 0
      @Attribute var stars: Int = 3
      @Attribute var note: String?
      @ToOne var album: Album?
    }
    final class Album: ManagedObject {
      @Attribute var name: String
      @ToMany(inverse: \Song.album) var songs: Set<Song>
    }
  }
  enum Lossy { final class Song: ManagedObject { @Attribute var title: String } }
  enum Doubtful {
    final class Song: ManagedObject {
      @Attribute var title: String
      @Attribute var listens: Int = 0
    }
  }
  enum Other {
    final class Track: ManagedObject {
      @Attribute var title: String
      @Attribute var plays: Int = 0
    }
  }
  enum Chained {
    final class Song: ManagedObject {
      @Attribute var title: String
      @Attribute(.renamed(from: "plays")) var count: Int = 0
      /// Uses the former name again, for something else.
      @Attribute var plays: Int = 5
    }
  }
  enum Exchanged {
    final class Song: ManagedObject {
      @Attribute(.renamed(from: "count")) var plays: Int = 0
      @Attribute(.renamed(from: "plays")) var count: Int = 0
      @Attribute var title: String
    }
  }
  /// The properties of ``Exchanged``, without former names.
  enum Same {
    final class Song: ManagedObject {
      @Attribute var plays: Int = 0
      @Attribute var count: Int = 0
      @Attribute var title: String
    }
  }
  enum Required {
    final class Song: ManagedObject {
      @Attribute var title: String
      @Attribute var plays: Int = 0
      @Attribute var artist: String
    }
  }

  enum Noted {
    final class Song: ManagedObject {
      @Attribute var title: String
      @Attribute var plays: Int = 0
      @Attribute var note: String?
    }
  }
  enum Starred {
    final class Song: ManagedObject {
      @Attribute var title: String
      @Attribute var plays: Int = 0
      @Attribute var note: String?
      @Attribute var stars: Int = 3
    }
  }
}

@Suite(.tags(.slow)) struct Automatic {
  let folder: TemporaryFolder
  var url: URL { folder.url.appendingPathComponent("cache.store") }
  let first = Schema { Entity(First.Song.self) }
  let second = Schema {
    Entity(Second.Song.self)
    Entity(Second.Album.self)
  }

  init() throws { folder = try TemporaryFolder() }

  func open(_ schema: Schema) async throws -> Store {
    try await Store.open(at: url, key: testKey, schema: schema, migrations: .automatic)
  }

  func fill() async throws {
    let store = try await open(first)
    #expect(store.opening.isNew && store.opening.version == 1 && store.opening.automaticStep == nil)
    try await store.write { context in
      for number in 0..<3 {
        context.insert(First.Song.self) {
          $0.title = "song \(number)"
          $0.plays = number
        }
      }
    }
    store.close()
  }

  @Test func `changes that lose nothing are made at open, and the step can be written to a file`()
    async throws
  {
    try await fill()
    let store = try await open(second)
    let step = try #require(store.opening.automaticStep)
    #expect(store.opening.migratedSteps == [2] && step.fileName == "0002_automatic.migration")
    let songs = try await store.read { context in
      try context.fetch(Second.Song.self).sorted(by: \.count).all().map {
        "\($0.title) \($0.count) \($0.stars) \($0.note ?? "-") \($0.album == nil)"
      }
    }
    #expect(songs == ["song 0 0 3 - true", "song 1 1 3 - true", "song 2 2 3 - true"])
    #expect(try await store.verify().isEmpty)
    store.close()
    let again = try await open(second)
    #expect(
      again.opening.automaticStep == nil && again.opening.migratedSteps.isEmpty && again.opening.version == 2)
    again.close()
    // Written to files, the steps are those that ran, and a new store equals the migrated one.
    let carried = try await Store.carriedSteps(at: url, key: testKey)
    for step in carried.steps { try folder.write(Data(step.text.utf8), to: step.fileName) }
    #expect(
      try String(contentsOf: folder.url.appendingPathComponent(step.fileName), encoding: .utf8).contains(
        "rename"))
    for place in [url, folder.url.appendingPathComponent("new.store")] {
      let store = try await Store.open(
        at: place, key: testKey, schema: second, migrations: .directory(folder.url))
      #expect(store.opening.version == 2 && store.opening.migratedSteps.isEmpty)
      store.close()
    }
    // The step can also be rolled back.
    try await Store.downgrade(
      at: url, key: testKey, to: 1, migrations: carried,
      allowing: ["Song.stars", "Song.note", "Song.album", "Album"])
    let former = try await open(first)
    #expect(try await former.read { try $0.fetch(First.Song.self).where("plays == 2").count() } == 1)
    former.close()
  }

  @Test(arguments: [
    (Schema { Entity(Lossy.Song.self) }, "Song.plays would be lost", "drop attribute Song.plays"),
    (
      Schema { Entity(Doubtful.Song.self) },
      "Song.plays=listens may be a renaming; if it is, give Song.listens the option .renamed(from: \"plays\")",
      "add attribute Song.listens"
    ),
    (
      Schema { Entity(Other.Track.self) },
      "Song=Track may be a renaming; if it is, write in the schema Entity(Track.self).renamed(from: \"Song\")",
      "create entity Track"
    ),
    (Schema { Entity(Required.Song.self) }, "Song.artist is required", "add attribute Song.artist"),
  ])
  func `changes that lose something or need a decision are refused with the lines to write`(
    _ schema: Schema, _ reason: String, _ line: String
  ) async throws {
    try await fill()
    await #expect {
      try await open(schema)
    } throws: { error in
      guard case StoreError.notAutomatic(_, let reasons, let lines) = error else { return false }
      return reasons.contains { $0.contains(reason) } && lines.contains { $0.contains(line) }
        && "\(error)".contains(reason) && "\(error)".contains(line)
        && !"\(error)".contains(". the step could")
    }
    let store = try await open(first)
    #expect(store.opening.version == 1 && store.opening.migratedSteps.isEmpty)
    #expect(try await store.read { try $0.fetch(First.Song.self).count() } == 3)
    store.close()
  }

  @Test func `an entity with a former name keeps its objects under the new name`() async throws {
    try await fill()
    let tracks = Schema { Entity(Other.Track.self).renamed(from: "Song") }
    for isFirst in [true, false] {
      let store = try await open(tracks)
      let text = store.opening.automaticStep?.text
      #expect(text?.contains("rename entity Song -> Track") == (isFirst ? true : nil))
      let plays = try await store.read {
        try $0.fetch(Other.Track.self).sorted(by: \.plays).all().map(\.plays)
      }
      #expect(plays == [0, 1, 2] && store.opening.version == 2)
      store.close()
    }
  }

  @Test func `a name that is used again does not keep the values of the renamed property`() async throws {
    try await fill()
    let chained = Schema { Entity(Chained.Song.self) }
    for _ in 0..<2 {
      let store = try await open(chained)
      let songs = try await store.read { context in
        try context.fetch(Chained.Song.self).sorted(by: \.count).all().map {
          "\($0.title) \($0.count) \($0.plays)"
        }
      }
      #expect(songs == ["song 0 0 5", "song 1 1 5", "song 2 2 5"])
      store.close()
    }
    // If both names exist, it cannot be determined whether they are to be exchanged or were exchanged.
    await #expect {
      try await open(Schema { Entity(Exchanged.Song.self) })
    } throws: { error in
      guard case StoreError.notAutomatic(_, let reasons, _) = error else { return false }
      // The program has no steps and no command line, so the error must not mention any.
      return reasons.contains {
        $0.hasPrefix("Song.count declares the former name Song.plays, but the class has both")
      } && !"\(error)".contains("the steps have") && !"\(error)".contains("--rename")
    }
  }

  @Test func `classes that exchange the names of properties open no store, whatever its state`() async throws
  {
    let exchanged = Schema { Entity(Exchanged.Song.self) }
    func isRefused() async {
      await #expect {
        try await open(exchanged)
      } throws: { error in
        guard case StoreError.notAutomatic(_, let reasons, []) = error else { return false }
        return reasons.count == 2 && reasons[0].contains("but the class has both")
          && "\(error)".contains(
            "the classes do not determine which model an existing store has")
          && !"\(error)".contains("differ from the store's model")
          && "\(error)".contains("Store.carriedSteps")
      }
    }
    // There is no store yet, and none is made that the same classes could not open.
    await isRefused()
    #expect(folder.names.isEmpty)
    try await open(Schema { Entity(Same.Song.self) }).close()
    await isRefused()
    // As an earlier release leaves it, with nothing but the hash of the model.
    let connection = try Connection.open(url.path, key: testKey)
    try connection.execute("DELETE FROM vault_meta WHERE key = 'standing'")
    connection.close()
    await isRefused()
    let store = try await open(Schema { Entity(Same.Song.self) })
    #expect(try await store.verify() == [])
    store.close()
  }

  @Test func `a former name that was applied prevents no later opening`() async throws {
    try await fill()
    for _ in 0..<2 {
      try await open(second).close()
      let connection = try Connection.open(url.path, key: testKey)
      try connection.execute("DELETE FROM vault_meta WHERE key = 'standing'")
      connection.close()
    }
  }

  @Test func `a program with the former classes is refused, and changes nothing`() async throws {
    try await fill()
    try await open(second).close()
    await #expect {
      try await open(first)
    } throws: {
      if case StoreError.notAutomatic = $0 { true } else { false }
    }
    let store = try await open(second)
    #expect(store.opening.version == 2)
    store.close()
  }

  @Test func `the limit of an opening also applies to the automatic step`() async throws {
    try await fill()
    let (url, second) = (url, second)
    #expect {
      try Store.open(
        at: url, key: testKey, schema: second, migrations: .automatic, migratingAtMost: .rows(0))
    } throws: {
      if case StoreError.migrationNeeded = $0 { true } else { false }
    }
    let store = try Store.open(
      at: url, key: testKey, schema: second, migrations: .automatic, migratingAtMost: .rows(100))
    #expect(store.opening.automaticStep != nil)
    store.close()
  }
}
