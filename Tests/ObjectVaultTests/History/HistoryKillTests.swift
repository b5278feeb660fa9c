// A process with a history is killed while it saves, and two processes record at once.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.kills, .slow), .serialized) struct HistoryKills {
  private static let set = [
    "format: 1\n[up]\ncreate entity Memo history full {\n attribute title string\n attribute pages int default 0 indexed\n}"
  ]

  @Test func `after each kill the history, replayed onto an empty store, gives the rows that are there`()
    async throws
  {
    let folder = try TemporaryFolder()
    let steps = try MigrationSet([MigrationStep(number: 1, name: "one", text: Self.set[0])])
    let url = folder.url.appendingPathComponent("a.store")
    try await Store.create(at: url, key: testKey, migrations: steps)
    var (acknowledged, token) = (0, HistoryToken?.none)
    let copy = folder.url.appendingPathComponent("copy.store")
    try await Store.create(at: copy, key: testKey, migrations: steps)
    for _ in 0..<killCount {
      acknowledged += try runAndKillChild("save-recorded", url, after: 0.001...0.08) - 1
      let store = try await Store.open(at: url, key: testKey)
      let replica = try await Store.open(at: copy, key: testKey)
      #expect(try await store.verify() == [])
      for transaction in try await store.history(since: token) {
        try await replica.apply(transaction.changes)
      }
      token = try await store.historyToken()
      let count = try await store.history().count
      // At most the transaction that was running has committed without an acknowledgement.
      #expect(count >= acknowledged)
      acknowledged = count
      let rows = [store, replica].map { try? $0.rows("SELECT id, title, pages FROM Memo ORDER BY id") }
      #expect(rows[0] != nil && rows[0] == rows[1])
      store.close()
      replica.close()
    }
    #expect(acknowledged > 0)
  }

  @Test func `two processes have one history, in the order of their commits`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    try await Store.create(
      at: url, key: testKey,
      migrations: MigrationSet([MigrationStep(number: 1, name: "one", text: Self.set[0])]))
    let store = try await Store.open(at: url, key: testKey)
    let child = Process()
    child.executableURL = URL(fileURLWithPath: builtExecutable("test-child"))
    child.arguments = ["save-recorded", url.path]
    child.standardOutput = Pipe()
    try child.run()
    defer { kill(child.processIdentifier, SIGKILL) }
    var token: HistoryToken?
    var told: [HistoryTransaction] = []
    // Ends when both have written, however slow the machine is.
    var own = 0
    while own < 20 || Set(told.map(\.author)).count < 10 {
      do {
        try await store.write { context in
          context.author = "parent"
          _ = try context.insert(entity: "Memo") { ($0["title"], $0["pages"]) = ("own", 1_000_000) }
        }
        own += 1
      } catch SQLError.busy {}
      let new = try await store.history(since: token)
      told += new
      token = new.last?.token ?? token
    }
    kill(child.processIdentifier, SIGKILL)
    child.waitUntilExit()
    told += try await store.history(since: token)
    #expect(try await store.history() == told)
    #expect(told.count { $0.author == "parent" } == own)
    #expect(told.map(\.token) == told.map(\.token).sorted() && Set(told.map(\.token)).count == told.count)
    store.close()
  }
}
