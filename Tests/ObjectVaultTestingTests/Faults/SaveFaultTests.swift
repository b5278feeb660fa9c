// Writes that fail, and the consequences for an app.

import CipherSQLite
import Foundation
import Microblog
import Migrations
import ObjectVault
import ObjectVaultTesting
import Testing

@Suite(.tags(.faults)) struct SaveFaults {
  private func make() async throws -> TestStore {
    try await TestStore(microblog, migrations: MicroblogMigrations.all)
  }

  private static func insert(_ count: Int, _ store: Store) async throws {
    try await store.write { context in
      for number in 0..<count {
        let user = context.insert(User.self) { $0.name = "user \(number)" }
        context.insert(Status.self) {
          $0.text = String(repeating: "text ", count: 2_000)
          $0.createdAt = .now
          $0.user = user
        }
      }
    }
  }

  @Test func `a refused commit saves nothing, and the next one succeeds`() async throws {
    let test = try await make()
    try test.arm(.commitRefused)
    await #expect {
      try await Self.insert(1, test.store)
    } throws: { error in
      if case SQLError.constraint = error { true } else { false }
    }
    #expect(try test.content().count == 0)
    try test.disarm()
    try await Self.insert(1, test.store)
    #expect(try test.content().count == 2)
  }

  @Test func `a full disk is reported as such, and a disk with space takes the data`() async throws {
    let test = try await make()
    try test.arm(.diskFull(afterPages: 4))
    await #expect {
      try await Self.insert(20, test.store)
    } throws: { error in
      switch error {
      case SQLError.diskFull, SQLError.engine(13, _, _, _): true
      default: false
      }
    }
    #expect(try test.content().count == 0)
    try test.disarm()
    try await Self.insert(20, test.store)
    #expect(try test.content().count == 40)
  }

  @Test(arguments: [1, 2, 3, 5])
  func `an interruption is for one statement only`(_ number: Int) async throws {
    let test = try await make()
    try test.arm(.interrupted(atStatement: number))
    await #expect {
      try await Self.insert(3, test.store)
    } throws: { error in
      if case SQLError.interrupted = error { true } else { false }
    }
    #expect(try test.content().count == 0)
    // Without being disarmed: the fault was for that statement only.
    try await Self.insert(3, test.store)
    #expect(try test.content().count == 6)
  }
}

@Suite(.tags(.slow)) struct AllOrNothing {
  private func make() async throws -> TestStore {
    try await TestStore(microblog, migrations: MicroblogMigrations.all)
  }

  private static func insert(_ name: String, _ store: Store) async throws {
    try await store.write { context in
      let user = context.insert(User.self) { $0.name = name }
      for number in 0..<30 {
        context.insert(Status.self) {
          $0.text = "\(number) " + String(repeating: "text ", count: 400)
          $0.createdAt = .now
          $0.user = user
        }
      }
    }
  }

  private func failure(_ body: @escaping @Sendable (Store) async throws -> Void) async throws -> CheckFailure
  {
    let test = try await make()
    return try #require(
      await #expect(throws: CheckFailure.self) { try await test.checkAllOrNothing(body) })
  }

  @Test func `one write is complete or absent`() async throws {
    let test = try await make()
    try await test.checkAllOrNothing { try await Self.insert("Ada", $0) }
    #expect(try test.content().count == 0)
  }

  @Test func `a save of a context is complete or absent`() async throws {
    let test = try await make()
    try await test.checkAllOrNothing { store in
      let context = store.makeContext()
      let user = context.insert(User.self) { $0.name = "Ada" }
      context.insert(Status.self) {
        $0.text = "Hello"
        $0.createdAt = .now
        $0.user = user
      }
      try context.save()
    }
  }

  @Test func `checkAllOrNothing detects two writes that belong together`() async throws {
    let found = try await failure { store in
      try await Self.insert("Ada", store)
      try await Self.insert("Bo", store)
    }
    #expect(found.check == "checkAllOrNothing" && found.place.hasPrefix("killed after statement"))
    #expect("\(found)".contains("User: 1 row is new (row 1)"))
    #expect("\(found)".contains("one store.write"))
  }

  @Test func `checkAllOrNothing detects a swallowed error`() async throws {
    let found = try await failure { store in try? await Self.insert("Ada", store) }
    #expect("\(found)".contains("no error was thrown, and nothing was written"))
  }

  @Test func `checkAllOrNothing fails for a body that writes nothing`() async throws {
    let found = try await failure { _ in }
    #expect(found.findings == ["nothing was changed"])
  }

  @Test func `an error of the body itself is thrown, and is not a finding`() async throws {
    let test = try await make()
    await #expect(throws: StoreError.noResult(entity: "User")) {
      try await test.checkAllOrNothing { store in
        try await store.write { _ = try $0.fetch(User.self).one() }
      }
    }
  }
}

@Suite(.tags(.faults)) struct EnqueuedWriteFaults {
  private func make() async throws -> TestStore {
    try await TestStore(microblog, migrations: MicroblogMigrations.all)
  }

  private static func enqueue(_ name: String, length: Int = 10, _ store: Store) async throws {
    try await store.enqueue { context in
      let user = context.insert(User.self) { $0.name = name }
      context.insert(Status.self) {
        ($0.text, $0.createdAt, $0.user) = (String(repeating: "x", count: length), .now, user)
      }
    }
  }

  private static func isLoss(of count: Int, _ error: any Error) -> Bool {
    if case SQLError.sharedWritesLost(_, count, _) = error { true } else { false }
  }

  @Test func `a commit that fails is reported by flush once, with the number of lost writes`() async throws {
    let test = try await make()
    try test.arm(.commitRefused)
    for name in ["a", "b", "c"] { try await Self.enqueue(name, test.store) }
    await #expect { try await test.store.flush() } throws: { Self.isLoss(of: 3, $0) }
    try await test.store.flush()
    try test.disarm()
    #expect(try test.content().count == 0)
    try await Self.enqueue("d", test.store)
    try await test.store.flush()
    #expect(try test.content().count == 2)
  }

  @Test func `reads go on without lost writes, and the next flush or enqueue reports them`() async throws {
    let test = try await make()
    let live = test.store.observe { try $0.fetch(User.self).count() }
    var counts = live.makeAsyncIterator()
    #expect(try await counts.next() == 0)
    for isFlush in [true, false] {
      try test.arm(.commitRefused)
      for name in ["a", "b"] { try await Self.enqueue(name, test.store) }
      #expect(try await test.store.read { try $0.fetch(User.self).count() } == 0)
      try test.disarm()
      await #expect {
        if isFlush { try await test.store.flush() } else { try await Self.enqueue("c", test.store) }
      } throws: { Self.isLoss(of: 2, $0) }
      #expect(try test.content().count == 0)
    }
    try await Self.enqueue("d", test.store)
    try await test.store.flush()
    // The live result has not ended.
    #expect(try await counts.next() == 1)
  }

  @Test func `what close could not commit is reported by a flush after it`() async throws {
    let test = try await make()
    try test.arm(.commitRefused)
    try await Self.enqueue("a", test.store)
    test.store.close()
    await #expect { try await test.store.flush() } throws: { Self.isLoss(of: 1, $0) }
    try await test.store.flush()
  }

  @Test func `a disk that is full within a write loses the earlier ones, and the next call says so`()
    async throws
  {
    let test = try await make()
    try test.arm(.diskFull(afterPages: 40))
    var (count, full) = (0, 0)
    // Each has three pages: one of them exceeds the limit.
    for number in 0..<100 where full == 0 {
      do {
        try await Self.enqueue("user \(number)", length: 10_000, test.store)
        count += 1
      } catch SQLError.diskFull { full += 1 } catch SQLError.engine(13, _, _, _) { full += 1 }
    }
    #expect(full == 1 && count > 0)
    await #expect {
      try await Self.enqueue("never", test.store)
    } throws: { Self.isLoss(of: count, $0) }
    try test.disarm()
    #expect(try test.content().count == 0)
    for number in 0..<3 { try await Self.enqueue("user \(number)", test.store) }
    try await test.store.flush()
    #expect(try test.content().count == 6)
    #expect(try await test.store.verify() == [])
  }
}
