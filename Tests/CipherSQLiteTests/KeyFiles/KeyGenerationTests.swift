// Data keys that a rotation replaced: files under a former data key still open, until that key is discarded.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct KeyGenerations {
  let folder: TemporaryFolder
  let path: String
  let unlock = KeyFile.Unlock.rawKey([UInt8](repeating: 9, count: 32))
  let other = KeyFile.Unlock.rawKey([UInt8](repeating: 7, count: 32))

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("a.keys")
  }

  /// Creates a key file, and databases of one row each under its data key.
  func make(_ names: String...) throws -> KeyFile {
    let keys = try KeyFile.create(at: path, slot: "Ann", unlock: unlock)
    for name in names { try create(name, keys.key) }
    return keys
  }

  func create(_ name: String, _ key: Key) throws {
    _ = try Connection.create(folder.path(name), key: key) {
      try $0.execute("CREATE TABLE t AS SELECT \(name) AS x")
    }
  }

  func read(_ name: String, _ unlock: KeyFile.Unlock? = nil) throws -> SQLValue? {
    try Connection.open(folder.path(name), key: .keyFile(path, unlock: unlock ?? self.unlock))
      .value("SELECT x FROM t")
  }

  @discardableResult
  func rotate(_ name: String, dropsOthers: Bool = false, _ progress: ((Int, Int) throws -> Void)? = nil)
    throws
    -> KeyFile
  {
    let connection = try Connection.open(folder.path(name), key: .keyFile(path, unlock: unlock))
    defer { connection.close() }
    return try KeyFile.open(at: path, unlock: unlock).rotate(
      connection, keeping: ["Ann": unlock], dropsOthers: dropsOthers, progress: progress)
  }

  @Test func `backups and other databases open after each of several rotations`() throws {
    let keys = try make("a.store", "b.store")
    try Connection.open(folder.path("a.store"), key: keys.key).backup(
      to: folder.path("monday.store"), key: nil)
    for round in 1...3 {
      try rotate("a.store")
      for name in ["a.store", "b.store"] { #expect(try read(name) == .text(name), "round \(round)") }
      #expect(try read("monday.store") == "a.store", "round \(round)")
      try Connection.open(folder.path("a.store"), key: .keyFile(path, unlock: unlock))
        .backup(to: folder.path("backup \(round).store"), key: nil)
    }
    for round in 1...3 { #expect(try read("backup \(round).store") == "a.store") }
    let now = try KeyFile.open(at: path, unlock: unlock)
    let numbers = try ["a", "b", "monday", "backup 1", "backup 2", "backup 3"].map {
      try now.generation(of: folder.path("\($0).store"))
    }
    #expect(numbers == [4, 1, 1, 2, 3, 4])
    #expect(try KeyFile.generations(at: path).map(\.number) == [4, 3, 2, 1])
    #expect(try KeyFile.generations(at: path).map(\.isCurrent) == [true, false, false, false])
    // A new database gets the current data key.
    try create("new.store", .keyFile(path, unlock: unlock))
    #expect(try now.generation(of: folder.path("new.store")) == 4)
  }

  @Test func `a key file notes each file once that is opened under a former data key`() throws {
    _ = try make("a.store", "b.store")
    try rotate("a.store")
    #expect(try KeyFile.generations(at: path).map(\.files) == [[], []])
    let previous = try folder.bytes("a.keys.previous")
    _ = try read("b.store")
    _ = try read("a.store")
    let real = try #require(realpath(folder.path("b.store"), nil).map { String(cString: $0) })
    #expect(try KeyFile.generations(at: path).map(\.files) == [[], [real]])
    #expect(try folder.bytes("a.keys.previous") == previous)
    let noted = try folder.bytes("a.keys")
    _ = try read("b.store")
    #expect(try folder.bytes("a.keys") == noted, "noted once")
    // The next rotation keeps the note.
    try rotate("a.store")
    #expect(try KeyFile.generations(at: path).map(\.files) == [[], [], [real]])
  }

  @Test func `a read-only connection changes no byte of the key file`() throws {
    _ = try make("a.store", "b.store")
    try rotate("a.store")
    let before = try folder.bytes("a.keys")
    var configuration = Connection.Configuration()
    configuration.access = .readOnly
    let connection = try Connection.open(
      folder.path("b.store"), key: .keyFile(path, unlock: unlock), configuration: configuration)
    #expect(try connection.value("SELECT x FROM t") == "b.store")
    #expect(try folder.bytes("a.keys") == before)
  }

  @Test func `a discarded data key opens nothing any more, nor does the previous copy`() throws {
    _ = try make("a.store", "b.store")
    let keys = try rotate("a.store")
    #expect(throws: SQLError.noSuchGeneration(file: path, number: 2, available: [1])) {
      try keys.forgetGeneration(2)
    }
    try keys.forgetGeneration(1)
    #expect(throws: SQLError.wrongKey(file: folder.path("b.store"))) { try read("b.store") }
    for file in [path, path + ".previous"] {
      #expect(try KeyFile.generations(at: file).map(\.number) == [2])
    }
    #expect(try read("a.store") == "a.store")
    // The numbers continue.
    try rotate("a.store")
    #expect(try KeyFile.generations(at: path).map(\.number) == [3, 2])
  }

  @Test func `a former key file opens databases under its data key, but none that was rotated`() throws {
    let keys = try make("a.store", "b.store")
    try keys.addSlot("Eve", unlock: other)
    try folder.write(try folder.bytes("a.keys"), to: "stolen.keys")
    try rotate("a.store", dropsOthers: true)
    let stolen = Key.keyFile(folder.path("stolen.keys"), unlock: other)
    #expect(throws: SQLError.wrongKey(file: folder.path("a.store"))) {
      try Connection.open(folder.path("a.store"), key: stolen)
    }
    #expect(try Connection.open(folder.path("b.store"), key: stolen).value("SELECT x FROM t") == "b.store")
    // A rekey brings the other database to the current data key.
    let present = Key.keyFile(path, unlock: unlock)
    try Connection.open(folder.path("b.store"), key: present).rekey(to: present)
    #expect(throws: SQLError.wrongKey(file: folder.path("b.store"))) {
      try Connection.open(folder.path("b.store"), key: stolen)
    }
    #expect(try KeyFile.open(at: path, unlock: unlock).generation(of: folder.path("b.store")) == 2)
    #expect(throws: SQLError.sameKey(file: folder.path("b.store"))) {
      try Connection.open(folder.path("b.store"), key: present).rekey(to: present)
    }
  }

  struct Death: Error {}

  /// Stops a rotation of `a.store` as if its process were killed: the key file is left as it was during the
  /// rotation.
  /// - Parameter afterCommit: Whether the database already has its new key.
  func interrupt(afterCommit: Bool) throws {
    var pending: Data?
    _ = try? rotate("a.store") { _, _ in
      pending = try folder.bytes("a.keys")
      if !afterCommit { throw Death() }
    }
    try folder.write(try #require(pending), to: "a.keys")
    #expect(pending?[11] == 1, "the pending slots")
  }

  @Test(arguments: [false, true])
  func `opening another database after an interrupted rotation discards no data key`(_ isCommitted: Bool)
    throws
  {
    _ = try make("a.store", "b.store")
    try interrupt(afterCommit: isCommitted)
    // This database is still under the old data key.
    #expect(try read("b.store") == "b.store")
    #expect(try read("a.store") == "a.store")
    #expect(try read("b.store") == "b.store")
    let keys = try KeyFile.open(at: path, unlock: unlock)
    try keys.addSlot("Bo", unlock: other)
    for name in ["a.store", "b.store"] { #expect(try read(name, other) == .text(name)) }
  }

  @Test func `a rotation after an interrupted one of another database keeps both keys`() throws {
    _ = try make("a.store", "b.store")
    try interrupt(afterCommit: true)
    // Opened with the data key and not by the key file, which would end the first rotation.
    let b = try Connection.open(folder.path("b.store"), key: KeyFile.open(at: path, unlock: unlock).key)
    _ = try KeyFile.open(at: path, unlock: unlock).rotate(b, keeping: ["Ann": unlock])
    b.close()
    for name in ["a.store", "b.store"] { #expect(try read(name) == .text(name)) }
  }

  @Test func `every changed byte of a key file with former data keys is reported as damage`() throws {
    _ = try make("a.store", "b.store")
    try rotate("a.store")
    _ = try read("b.store")
    let good = try folder.bytes("a.keys")
    #expect(good[9] == 2 && good[12] == 1)
    for index in good.indices {
      var changed = good
      changed[index] ^= 0x20
      try folder.write(changed, to: "a.keys")
      #expect(isDamaged(path, unlock), "byte \(index)")
    }
    for length in stride(from: 1, to: good.count, by: 5) {
      try folder.write(good.prefix(length), to: "a.keys")
      #expect(throws: SQLError.self, "\(length) bytes") { try KeyFile.generations(at: path) }
    }
  }

  @Test func `a key file keeps at most 64 former data keys, and refuses a further rotation`() throws {
    _ = try make("a.store")
    for _ in 1...64 { try rotate("a.store") }
    let before = try folder.bytes("a.keys")
    #expect(throws: SQLError.tooManyGenerations(file: path, limit: 64)) { try rotate("a.store") }
    #expect(try folder.bytes("a.keys") == before)
    try KeyFile.open(at: path, unlock: unlock).forgetGeneration(1)
    try rotate("a.store")
    #expect(try KeyFile.generations(at: path).map(\.number).first == 66)
    #expect(try read("a.store") == "a.store")
  }

  @Test func `a key file that was never rotated has format 1, which older versions read`() throws {
    let keys = try make("a.store")
    try keys.addSlot("Bo", unlock: other)
    #expect(try folder.bytes("a.keys")[9] == 1)
    try rotate("a.store", dropsOthers: true)
    #expect(try folder.bytes("a.keys")[9] == 2)
  }
}
