// Key slots: which secrets open a key file, which no longer do, and how damage is reported.

import CipherSQLite
import Foundation
import TestSupport
import Testing

/// Whether opening a key file reports it as damaged.
func isDamaged(_ path: String, _ unlock: KeyFile.Unlock) -> Bool {
  do { _ = try KeyFile.open(at: path, unlock: unlock) } catch SQLError.keyFileDamaged {
    return true
  } catch {
    return false
  }
  return false
}

@Suite(.tags(.slow)) struct KeyFiles {
  let folder: TemporaryFolder
  let path: String
  let store: String
  // The lowest cost that is allowed, so that the tests are fast.
  let work: ScryptWork

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("a.keys")
    store = folder.path("a.store")
    work = try #require(ScryptWork(logN: 10))
  }

  static let horse = KeyFile.Unlock.passphrase("correct horse")
  static let pony = KeyFile.Unlock.passphrase("small pony")
  static let token = KeyFile.Unlock.rawKey([UInt8](repeating: 9, count: 32))

  func make() throws -> KeyFile {
    let keys = try KeyFile.create(at: path, slot: "Ann", unlock: Self.horse, work: work)
    _ = try Connection.create(store, key: keys.key) {
      try $0.executeScript("CREATE TABLE t(x); INSERT INTO t VALUES (7)")
    }
    return keys
  }

  func read(_ unlock: KeyFile.Unlock) throws -> SQLValue? {
    try Connection.open(store, key: .keyFile(path, unlock: unlock)).value("SELECT x FROM t")
  }

  @Test func `each kind of slot opens the store: passphrase, raw key, recovery code`() throws {
    let keys = try make()
    try keys.addSlot("Bo", unlock: Self.pony, work: work)
    try keys.addSlot("token", unlock: Self.token)
    let code = try keys.addRecoveryCode(slot: "paper").text()
    for unlock in [Self.horse, Self.pony, Self.token, .recoveryCode(try RecoveryCode(typed: code))] {
      #expect(try read(unlock) == 7)
    }
    #expect(try KeyFile.slots(at: path).map(\.name) == ["Ann", "Bo", "token", "paper"])
    #expect(try KeyFile.slots(at: path).map(\.kind) == [.passphrase, .passphrase, .rawKey, .recoveryCode])
    #expect(try KeyFile.slots(at: path)[0].work == work)
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  @Test func `a wrong secret is not reported as damage`() throws {
    _ = try make()
    #expect(throws: SQLError.noSlotOpens(file: path)) { try read(Self.pony) }
    #expect(throws: SQLError.noSlotOpens(file: path)) { try read(Self.token) }
    #expect(throws: SQLError.emptyKey) { try read(.passphrase("")) }
    #expect(throws: SQLError.keyLength(expected: 16, found: 3)) { try read(.rawKey([1, 2, 3])) }
    #expect(throws: SQLError.notFound(file: folder.path("no.keys"))) {
      try KeyFile.open(at: folder.path("no.keys"), unlock: Self.horse)
    }
  }

  @Test func `every changed byte and every truncation of a key file is reported as damage`() throws {
    let keys = try make()
    try keys.addSlot("token", unlock: Self.token)
    let good = try folder.bytes("a.keys")
    for index in good.indices {
      var changed = good
      changed[index] ^= 0x20
      try folder.write(changed, to: "a.keys")
      #expect(isDamaged(path, Self.token), "byte \(index)")
    }
    for length in stride(from: 1, to: good.count, by: 7) {
      try folder.write(good.prefix(length), to: "a.keys")
      #expect(isDamaged(path, Self.token), "\(length) bytes")
    }
    try folder.write(good + Data(count: 1 << 20), to: "a.keys")
    #expect(isDamaged(path, Self.token))
    try folder.write(good, to: "a.keys")
    #expect(try read(Self.token) == 7)
  }

  @Test func `a key file combined from two files is refused, although its checksum is valid`() throws {
    _ = try make()
    let other = folder.path("b.keys")
    let stranger = try KeyFile.create(at: other, slot: "Eve", unlock: Self.pony, work: work)
    _ = stranger
    // Eve's slot in the place of Ann's, with a valid checksum.
    let (ann, eve) = (Array(try folder.bytes("a.keys")), Array(try folder.bytes("b.keys")))
    var mixed = Array(ann.prefix(48)) + Array(eve[48..<224]) + Array(ann[224..<256])
    mixed += Primitives.sha256(mixed)
    try folder.write(Data(mixed), to: "a.keys")
    #expect(throws: SQLError.noSlotOpens(file: path)) { try KeyFile.open(at: path, unlock: Self.pony) }
    // Ann's own slot under another name: the slot opens, but the file is not as she wrote it.
    var renamed = ann
    renamed[48 + 108] = UInt8(ascii: "E")
    renamed = Array(renamed.dropLast(32)) + Primitives.sha256(Array(renamed.dropLast(32)))
    try folder.write(Data(renamed), to: "a.keys")
    #expect(
      throws: SQLError.keyFileDamaged(
        file: path, reason: "it was modified, or combined from several key files")
    ) {
      try KeyFile.open(at: path, unlock: Self.horse)
    }
    // The file of another store.
    try folder.write(Data(eve), to: "a.keys")
    #expect(throws: SQLError.wrongKey(file: store)) { try read(Self.pony) }
  }

  /// The data key and the MAC key of a file whose first slot is Ann's, computed from the documented layout
  /// alone.
  func unwrapped(_ file: [UInt8]) throws -> (dataKey: SecureBytes, macKey: SecureBytes) {
    let slot = Array(file[48..<224])
    let wrapping = try SecureBytes(copying: Array("correct horse".utf8)).withBytes {
      try Primitives.scrypt($0, salt: Array(slot[16..<48]), work: work)
    }
    var head = Array(slot[0..<48])
    head[1] = 0
    let dataKey = try #require(
      try Primitives.open(
        Array(slot[60..<108]), key: wrapping, nonce: Array(slot[48..<60]),
        associated: Array(file[0..<10]) + Array(file[16..<32]) + head))
    let macKey = try dataKey.withBytes {
      try Primitives.hkdf($0, salt: Array(file[16..<32]), info: Array("ObjectVault key file MAC 1".utf8))
    }
    return (dataKey, macKey)
  }

  @Test func `the layout of a key file is the documented one`() throws {
    let keys = try make()
    let file = Array(try folder.bytes("a.keys"))
    #expect(file.count == 48 + 176 + 64)
    #expect(Array(file.prefix(12)) == Array("OVKEYS\r\n".utf8) + [0, 1, 1, 0])
    let slot = Array(file[48..<224])
    #expect(slot[0] == 1 && slot[1] == 3 && slot[4] == 10 && slot[11] == 8 && slot[15] == 1)
    #expect(Array(slot[108..<111]) == Array("Ann".utf8))
    let (dataKey, macKey) = try unwrapped(file)
    #expect(
      Primitives.hmac(Array(file.dropLast(64)), key: macKey)
        == Array(file[(file.count - 64)..<(file.count - 32)]))
    #expect(Primitives.sha256(Array(file.dropLast(32))) == Array(file.suffix(32)))
    #expect(try Connection.open(store, key: .raw(dataKey)).value("SELECT x FROM t") == 7)
    _ = keys
  }

  @Test func `a changed or removed slot opens neither the file nor its previous copy`() throws {
    let keys = try make()
    try keys.addSlot("Bo", unlock: Self.pony, work: work)
    #expect(try KeyFile.slots(at: path + ".previous").map(\.name) == ["Ann"])
    try keys.changeSlot("Ann", unlock: .passphrase("new horse"), work: work)
    for file in [path, path + ".previous"] {
      #expect(throws: SQLError.noSlotOpens(file: file)) { try KeyFile.open(at: file, unlock: Self.horse) }
    }
    #expect(try read(.passphrase("new horse")) == 7)
    try keys.removeSlot("Ann")
    for file in [path, path + ".previous"] {
      #expect(throws: SQLError.noSlotOpens(file: file)) {
        try KeyFile.open(at: file, unlock: .passphrase("new horse"))
      }
    }
    #expect(try read(Self.pony) == 7)
    #expect(throws: SQLError.lastSlot(file: path)) { try keys.removeSlot("Bo") }
    #expect(try read(Self.pony) == 7)
  }

  @Test func `slots are renamed without their secret, and invalid names are refused`() throws {
    let keys = try make()
    try keys.addSlot("Bo", unlock: Self.pony, work: work)
    try keys.renameSlot("Bo", to: "Böhm 北京")
    #expect(try KeyFile.slots(at: path).map(\.name) == ["Ann", "Böhm 北京"])
    #expect(try read(Self.pony) == 7)
    #expect(throws: SQLError.noSuchSlot(file: path, name: "Bo", available: ["Ann", "Böhm 北京"])) {
      try keys.removeSlot("Bo")
    }
    for name in ["", "Ann", String(repeating: "x", count: 65)] {
      #expect(throws: SQLError.self) { try keys.addSlot(name, unlock: Self.token) }
      #expect(throws: SQLError.self) { try keys.renameSlot("Böhm 北京", to: name) }
    }
    for number in 3...32 { try keys.addSlot("slot \(number)", unlock: Self.token) }
    #expect(throws: SQLError.self) { try keys.addSlot("one more", unlock: Self.token) }
  }

  @Test func `a rotation invalidates old key files and keeps the slots that it was given`() throws {
    let keys = try make()
    try keys.addSlot("Bo", unlock: Self.pony, work: work)
    try keys.addSlot("token", unlock: Self.token)
    let stolen = try folder.bytes("a.keys")
    let pool = try ConnectionPool(path: store, key: .keyFile(path, unlock: Self.horse))
    #expect(throws: SQLError.slotsWouldBeLost(file: path, names: ["token"])) {
      try keys.rotate(pool, keeping: ["Ann": Self.horse, "Bo": Self.pony])
    }
    #expect(throws: SQLError.noSlotOpens(file: path)) {
      try keys.rotate(pool, keeping: ["Ann": Self.pony, "Bo": Self.pony], dropsOthers: true)
    }
    let fresh = try keys.rotate(pool, keeping: ["Ann": Self.horse, "Bo": Self.pony], dropsOthers: true)
    try pool.withWriter { _ = try $0.execute("UPDATE t SET x = 8") }
    pool.close()
    #expect(try KeyFile.slots(at: path).map(\.name) == ["Ann", "Bo"])
    #expect(try read(Self.horse) == 8 && read(Self.pony) == 8)
    #expect(
      throws: SQLError.keyFileDamaged(
        file: path, reason: "it was replaced by another key file since it was opened; open it again")
    ) { try keys.renameSlot("Bo", to: "x") }
    try fresh.renameSlot("Bo", to: "Bob")
    try folder.write(stolen, to: "stolen.keys")
    #expect(throws: SQLError.wrongKey(file: store)) {
      try Connection.open(store, key: .keyFile(folder.path("stolen.keys"), unlock: Self.token))
    }
  }

  @Test func `during a rotation the key file cannot be changed, and opening leaves it unchanged`() throws {
    let keys = try KeyFile.create(at: path, slot: "Ann", unlock: Self.horse)
    let database = folder.path("a.store")
    _ = try Connection.create(database, key: keys.key) { connection in
      try connection.executeScript("CREATE TABLE t(x); INSERT INTO t VALUES (zeroblob(2000000))")
    }
    let pool = try ConnectionPool(path: database, key: .keyFile(path, unlock: Self.horse))
    var other = try KeyFile.open(at: path, unlock: Self.horse)
    other.lockTimeout = 0
    var looks = 0
    let before = Locked<Data?>(nil)
    _ = try keys.rotate(pool, keeping: ["Ann": Self.horse]) { _, _ in
      looks += 1
      let content = try folder.bytes("a.keys")
      // Opening succeeds with either key, depending on the moment. If the process of the rotation had died,
      // this would abandon the rotation.
      _ = try? Connection.open(database, key: .keyFile(path, unlock: Self.horse))
      #expect(throws: SQLError.self) { try other.renameSlot("Ann", to: "Eve") }
      #expect(try folder.bytes("a.keys") == content)
      before.withLock { $0 = content }
    }
    let after = try folder.bytes("a.keys")
    #expect(looks > 0 && before.withLock { $0 } != after)
    #expect(try KeyFile.slots(at: path).map(\.name) == ["Ann"])
    pool.close()
    #expect(try Connection.open(database, key: .keyFile(path, unlock: Self.horse)).tableExists("t"))
  }

  @Test func `a rotation that does not get the write lock keeps the old key valid`() throws {
    let keys = try make()
    var configuration = ConnectionPool.Configuration()
    configuration.connection.busyTimeout = 0.2
    let pool = try ConnectionPool(path: store, key: keys.key, configuration: configuration)
    let other = try Connection.open(store, key: keys.key)
    try other.execute("BEGIN IMMEDIATE")
    #expect(
      isBusy(store, after: 0.2...60) {
        _ = try keys.rotate(pool, keeping: ["Ann": Self.horse])
      })
    other.rollback()
    try keys.addSlot("Bo", unlock: Self.pony, work: work)
    #expect(try read(Self.pony) == 7)
  }

  @Test func `a rotation whose check fails after the change is completed, and reports the damage`() throws {
    let keys = try make()
    let pool = try ConnectionPool(path: store, key: keys.key)
    try pool.withWriter { _ = try $0.execute("CREATE TABLE big AS SELECT randomblob(2000000) AS body") }
    _ = try pool.withWriter { try $0.checkpoint(.truncate) }
    let before = try folder.bytes("a.store")
    let spoilt = before.count - 2048
    var isSpoilt = false
    let file = store
    #expect {
      try keys.rotate(pool, keeping: ["Ann": Self.horse]) { done, total in
        guard done > total / 2, !isSpoilt else { return }
        // The first part of the pages is verified, the last page is not. The test damages the last page only
        // after it was copied under the new key: a later copy would repair it.
        let deadline = Date(timeIntervalSinceNow: 300)
        while try folder.bytes("a.store").suffix(64) == before.suffix(64) {
          try #require(Date() < deadline, "the last page was not copied, so it cannot be damaged")
          Thread.sleep(forTimeInterval: 0.002)
        }
        try folder.flip("a.store", at: spoilt)
        isSpoilt = true
      }
    } throws: { error in
      guard case SQLError.rekeyDamaged(file, _) = error else { return false }
      return true
    }
    pool.close()
    // The number of slots that are pending until a rotation ends.
    #expect(try folder.bytes("a.keys")[11] == 0)
    try folder.flip("a.store", at: spoilt)
    #expect(try read(Self.horse) == 7)
    #expect(throws: SQLError.wrongKey(file: store)) { try Connection.open(store, key: keys.key) }
  }

  @Test func `a rotation that died before the database changed is abandoned by the next opening`() throws {
    let keys = try make()
    let before = Array(try folder.bytes("a.keys"))
    // The first part of a rotation writes the slots, and the same slots again as pending.
    var body = Array(before.prefix(48)) + Array(before[48..<224]) + Array(before[48..<224])
    body[11] = 1
    let signed = try body + Primitives.hmac(body, key: unwrapped(before).macKey)
    try folder.write(Data(signed + Primitives.sha256(signed)), to: "a.keys")
    #expect(throws: SQLError.self) { try keys.addSlot("token", unlock: Self.token) }
    #expect(try read(Self.horse) == 7)
    try keys.addSlot("token", unlock: Self.token)
    #expect(try read(Self.token) == 7)
  }

  @Test func `recovery codes tolerate handwriting, and typing errors are detected`() throws {
    let code = try RecoveryCode.random()
    let text = code.text()
    #expect(text.wholeMatch(of: #/([0-9A-HJKMNP-TV-Z]{4}-){7}[0-9A-HJKMNP-TV-Z]{4}/#) != nil)
    let sloppy = text.lowercased().replacing("-", with: " ").replacing("0", with: "o").replacing(
      "1", with: "l")
    #expect(try RecoveryCode(typed: sloppy).text() == text)
    #expect(!"\(code)".contains(text) && !String(reflecting: code).contains(text))
    for index in text.indices where text[index] != "-" {
      var wrong = text
      wrong.replaceSubrange(index...index, with: text[index] == "7" ? "8" : "7")
      // One of 256 errors passes the checksum. That code then opens nothing.
      if let passed = try? RecoveryCode(typed: wrong) { #expect(passed.text() != text) }
    }
    for wrong in ["", "7Q2M", text + "A", text.replacing("-", with: "!")] {
      #expect(throws: SQLError.self) { try RecoveryCode(typed: wrong) }
    }
  }

  @Test func `two Unicode forms of a passphrase open the same slot`() throws {
    let keys = try KeyFile.create(at: path, slot: "Ann", unlock: .passphrase("caf\u{E9}"), work: work)
    _ = keys
    _ = try KeyFile.open(at: path, unlock: .passphrase("cafe\u{301}"))
  }

  @Test func `no secret is in a description, a mirror or the key file`() throws {
    let keys = try make()
    let shown = [
      "\(keys)", String(reflecting: keys), "\(Self.horse)", String(reflecting: Self.horse),
      "\(Key.keyFile(path, unlock: Self.horse))",
    ]
    var dumped = ""
    dump(keys, to: &dumped)
    dump(Self.horse, to: &dumped)
    dump(Key.keyFile(path, unlock: Self.horse), to: &dumped)
    for text in shown + [dumped] { #expect(!text.contains("horse")) }
    #expect(try folder.bytes("a.keys").range(of: Data("horse".utf8)) == nil)
  }

  @Test func `ScryptWork refuses costs outside of its limits`() {
    #expect(ScryptWork(logN: 30) == nil && ScryptWork(logN: 22, r: 32) == nil && ScryptWork(logN: 9) == nil)
    #expect(ScryptWork(logN: 14, r: 8, p: 17) == nil && ScryptWork(logN: 17)?.memoryBytes == 128 << 20)
  }
}
