// A key file states the cost of opening it. The cost is limited, and the limit always admits our own files.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct KeyFileCosts {
  let folder: TemporaryFolder
  let path: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("a.keys")
  }

  static let horse = KeyFile.Unlock.passphrase("correct horse")
  static let pony = KeyFile.Unlock.passphrase("small pony")
  static let headerBytes = 48
  static let slotBytes = 176

  /// Writes a key file with a valid checksum whose passphrase slots require other costs.
  /// - Parameter works: log2 N and p of each slot; each slot has its own salt.
  func plant(_ works: [(logN: UInt8, p: UInt8)]) throws {
    let file = Array(try folder.bytes("a.keys"))
    var body = Array(file.prefix(Self.headerBytes))
    body[10] = UInt8(works.count)
    for (index, work) in works.enumerated() {
      var slot = Array(file[Self.headerBytes..<Self.headerBytes + Self.slotBytes])
      (slot[4], slot[15], slot[16]) = (work.logN, work.p, UInt8(index))
      body += slot
    }
    body += [UInt8](repeating: 0, count: 32)
    try folder.write(Data(body + Primitives.sha256(body)), to: "a.keys")
  }

  @Test(.timeLimit(.minutes(60)))
  func `a key file that would cost minutes and a gigabyte is refused without paying the cost`() throws {
    _ = try KeyFile.create(at: path, slot: "Ann", unlock: Self.horse, work: ScryptWork(logN: 10))
    try plant(Array(repeating: (20, 16), count: 32))
    let expected = SQLError.keyFileTooCostly(file: path, seconds: 32 * 32, memoryBytes: 1 << 30)
    let seconds = threadTime {
      #expect(throws: expected) { try KeyFile.open(at: path, unlock: Self.horse) }
      #expect(throws: expected) { try Connection.open(path, key: .keyFile(path, unlock: Self.horse)) }
    }
    #expect(seconds < 20)
    #expect(expected.description.contains("1024 s and 1074 MB") && expected.description.contains("allowing"))
  }

  @Test(.timeLimit(.minutes(60)))
  func `many slots of an allowed cost are tried for a total of two seconds`() throws {
    _ = try KeyFile.create(at: path, slot: "Ann", unlock: Self.horse, work: ScryptWork(logN: 10))
    try plant(Array(repeating: (17, 1), count: 32))
    // Eight slots of a quarter of a second each are tried. The error is about the other 24.
    let expected = SQLError.keyFileTooCostly(file: path, seconds: 6, memoryBytes: 128 << 20)
    #expect(throws: expected) { try KeyFile.open(at: path, unlock: Self.horse) }
  }

  @Test func `a cost that is explicitly allowed is accepted`() throws {
    let heavy = try #require(ScryptWork(logN: 12, p: 16))
    let small = ScryptBudget(seconds: 0.1, memoryBytes: 8 << 20)
    #expect(
      throws: SQLError.slotTooCostly(
        file: path, seconds: heavy.seconds, memoryBytes: heavy.memoryBytes, allowedSeconds: 0.1,
        allowedMemoryBytes: 8 << 20)
    ) {
      try KeyFile.create(at: path, slot: "Ann", unlock: Self.horse.allowing(small), work: heavy)
    }
    #expect(folder.names.isEmpty)
    _ = try KeyFile.create(at: path, slot: "Ann", unlock: Self.horse, work: heavy)
    #expect(throws: SQLError.keyFileTooCostly(file: path, seconds: heavy.seconds, memoryBytes: 4 << 20)) {
      try KeyFile.open(at: path, unlock: Self.horse.allowing(small))
    }
    _ = try KeyFile.open(at: path, unlock: Self.horse.allowing(.unlimited))
  }

  @Test func `a slot of allowed cost opens after one that is too costly, and so does a raw key`() throws {
    let keys = try KeyFile.create(
      at: path, slot: "slow", unlock: Self.horse, work: ScryptWork(logN: 13, p: 16))
    try keys.addSlot("quick", unlock: Self.pony, work: ScryptWork(logN: 10))
    let token = KeyFile.Unlock.rawKey([UInt8](repeating: 9, count: 32))
    try keys.addSlot("token", unlock: token)
    let small = ScryptBudget(seconds: 0.01, memoryBytes: 8 << 20)
    _ = try KeyFile.open(at: path, unlock: Self.pony.allowing(small))
    _ = try KeyFile.open(at: path, unlock: token.allowing(small))
    #expect(throws: SQLError.self) { try KeyFile.open(at: path, unlock: Self.horse.allowing(small)) }
  }

  @Test func `a key file opens as quickly with its last passphrase as with its first`() throws {
    let keys = try KeyFile.create(at: path, slot: "slot 1", unlock: Self.horse, work: ScryptWork(logN: 15))
    // Slots of equal cost share the salt of the first one; otherwise the costs of 32 slots would add up.
    for number in 2...32 {
      try keys.addSlot("slot \(number)", unlock: .passphrase("pony \(number)"), work: ScryptWork(logN: 15))
    }
    let file = Array(try folder.bytes("a.keys"))
    let salts = Set((0..<32).map { Array(file[(48 + 176 * $0 + 16)..<(48 + 176 * $0 + 48)]) })
    #expect(salts.count == 1)
    let allowed = ScryptBudget(seconds: 0.1, memoryBytes: 64 << 20)
    _ = try KeyFile.open(at: path, unlock: .passphrase("pony 32").allowing(allowed))
    #expect(throws: SQLError.noSlotOpens(file: path)) {
      try KeyFile.open(at: path, unlock: .passphrase("pony 33").allowing(allowed))
    }
    try keys.changeSlot("slot 7", unlock: .passphrase("mule"), work: ScryptWork(logN: 15))
    _ = try KeyFile.open(at: path, unlock: .passphrase("mule").allowing(allowed))
  }

  @Test func `a slot that would make the file cost more than allowed is not added`() throws {
    let keys = try KeyFile.create(at: path, slot: "1", unlock: Self.horse, work: ScryptWork(logN: 10, p: 1))
    let tight = ScryptBudget(seconds: 0.05, memoryBytes: 64 << 20)
    let before = try folder.bytes("a.keys")
    #expect(throws: SQLError.self) {
      try keys.addSlot("2", unlock: Self.pony.allowing(tight), work: ScryptWork(logN: 15))
    }
    #expect(try folder.bytes("a.keys") == before)
    #expect(try KeyFile.slots(at: path).map(\.name) == ["1"])
  }

  @Test func `calibration on a busy machine stays between the minimum and the budget`() async throws {
    // Every core is busy, so the measurement is too slow. No more threads, as other tests run at the same
    // time.
    let isDone = Locked(false)
    for _ in 0..<ProcessInfo.processInfo.activeProcessorCount * 2 {
      Thread.detachNewThread { while !isDone.withLock({ $0 }) {} }
    }
    defer { isDone.withLock { $0 = true } }
    for _ in 0..<2 {
      let work = try ScryptWork.calibrated()
      #expect(work.logN == 17 && (1...2).contains(work.p) && work.r == 8)
      #expect(work.seconds <= ScryptBudget.standard.seconds / 2)
      #expect(work.memoryBytes <= ScryptBudget.standard.memoryBytes)
    }
  }
}
