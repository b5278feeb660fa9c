// Writes and syncs of files that fail at a chosen moment, and the state of the store and of the objects
// afterwards.

import CipherSQLite
import Foundation
import Microblog
import Migrations
import ObjectVault
import ObjectVaultTesting
import Testing

@Suite(.tags(.faults, .slow)) struct DiskFaults {
  private let test: TestStore
  private let context: ObjectContext

  init() async throws {
    test = try await TestStore(microblog, migrations: MicroblogMigrations.all)
    context = test.store.makeContext()
  }

  private func insert(_ name: String) -> User {
    let user = context.insert(User.self) { $0.name = name }
    for number in 0..<20 {
      context.insert(Status.self) {
        $0.text = "\(number) " + String(repeating: "text ", count: 400)
        $0.createdAt = .now
        $0.user = user
      }
    }
    return user
  }

  private static func isIOError(_ error: any Error) -> Bool {
    if case SQLError.engine(10, _, _, _) = error { true } else { false }
  }

  static let moments: [SaveMoment] = [
    .write(1), .write(2), .write(7), .halfWrite(1), .halfWrite(6), .halfWrite(9), .sync(1), .commit,
    .committed,
  ]

  @Test(arguments: moments)
  func `a disk error keeps the store and the pending objects, and the next save works`(_ moment: SaveMoment)
    async throws
  {
    let before = try test.content()
    try test.arm(.ioError(at: moment))
    let user = insert("Ada")
    #expect {
      try context.save()
    } throws: { Self.isIOError($0) }
    #expect(user.state == .inserted && user.name == "Ada" && user.statuses.count == 20 && context.hasChanges)
    #expect(try test.content() == before)
    // The fault was for that moment alone.
    try context.save()
    #expect(user.state == .loaded && !context.hasChanges)
    #expect(try test.content().count == 21)
    try test.disarm()
    #expect(try await test.store.verify().isEmpty)
  }

  @Test(arguments: moments)
  func `a write with a disk error throws, saves nothing and reports no changes`(_ moment: SaveMoment)
    async throws
  {
    let recorder = ChangeRecorder(test.store)
    try test.arm(.ioError(at: moment))
    await #expect {
      try await test.store.write { context in
        _ = context.insert(User.self) { $0.name = "Ada" }
        try context.save()
        _ = context.insert(User.self) { $0.name = String(repeating: "Bo", count: 20_000) }
      }
    } throws: { Self.isIOError($0) }
    try test.disarm()
    #expect(try test.content().count == 0)
    #expect(try recorder.takeMerged().inserted.isEmpty)
  }

  @Test func `a change and a deletion that could not be written stay pending, and can be rolled back`()
    async throws
  {
    let (user, other) = (insert("Ada"), insert("Bo"))
    try context.save()
    let before = try test.content()
    user.name = "Eve"
    context.delete(other)
    try test.arm(.ioError(at: .commit))
    #expect {
      try context.save()
    } throws: { Self.isIOError($0) }
    #expect(user.name == "Eve" && user.hasChanges && other.isDeleted)
    #expect(try test.content() == before)
    context.rollback()
    #expect(user.name == "Ada" && !other.isDeleted && !context.hasChanges)
  }

  @Test(arguments: [SaveMoment.write(1), .write(5), .commit])
  func `saves fail as long as the disk is full, and succeed afterwards`(_ moment: SaveMoment) async throws {
    try test.arm(.noSpace(from: moment))
    let user = insert("Ada")
    for _ in 0..<3 {
      #expect {
        try context.save()
      } throws: { error in
        if case SQLError.diskFull = error { true } else { false }
      }
      #expect(user.state == .inserted && context.hasChanges)
      #expect(try test.content().count == 0)
    }
    try test.disarm()
    try context.save()
    #expect(try test.content().count == 21)
    #expect(try await test.store.verify().isEmpty)
  }

  @Test func `reads see the committed state while the disk is full`() async throws {
    _ = insert("Ada")
    try context.save()
    try test.arm(.noSpace(from: .write(1)))
    let again = try await test.openedAgain()
    defer { again.close() }
    await #expect(throws: SQLError.self) {
      try await test.store.write { _ = $0.insert(User.self) { $0.name = "Bo" } }
    }
    #expect(try await test.store.read { try $0.fetch(User.self).count() } == 1)
    #expect(try await again.read { try $0.fetch(User.self).count() } == 1)
    // The disk of another connection works.
    try await again.write { _ = $0.insert(User.self) { $0.name = "Cid" } }
    #expect(try await again.read { try $0.fetch(User.self).count() } == 2)
  }

  @Test(arguments: [SaveMoment.write(1), .write(9), .commit])
  func `a rekey that fails on a full disk keeps the old key`(_ moment: SaveMoment) async throws {
    _ = insert("Ada")
    try context.save()
    let before = try test.content()
    try test.arm(.noSpace(from: moment))
    await #expect {
      try await test.store.rekey(to: .raw([UInt8](repeating: 7, count: 32)))
    } throws: { error in
      if case SQLError.diskFull = error { true } else { false }
    }
    #expect(try test.content() == before)
    // The store continues on another connection.
    try await test.store.write { _ = $0.insert(User.self) { $0.name = "Bo" } }
    #expect(try test.content().count == before.count + 1)
    #expect(try await test.store.verify().isEmpty)
  }

  @Test func `a store with an armed fault can be closed`() async throws {
    try test.arm(.ioError(at: .write(1_000)))
    try await test.store.write { _ = $0.insert(User.self) { $0.name = "Ada" } }
    test.store.close()
    #expect(try test.content().count == 1)
  }
}
