// A run and a plan read one state of the store, whatever another process does meanwhile.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct Looking {
  private static let steps = [
    "create entity User {\n relationship likes -> Note many\n}\ncreate entity Note {\n attribute text string\n}",
    "make relationship User.likes an entity Like (who, what)",
    "rename entity Note -> Page",
  ]
  private let fill = [
    "INSERT INTO Note(id, text) VALUES (1, 'a'), (2, 'b')", "INSERT INTO User(id) VALUES (1)",
    "INSERT INTO User_likes VALUES (1, 1), (1, 2)",
  ]

  private func lab() async throws -> DowngradeLab { try await DowngradeLab(Self.steps, fill: fill) }

  /// Repeats `body`. In each repetition another connection runs all steps after one statement of `body`:
  /// the first statement, then the second, and so on.
  /// - Returns: The number of repetitions in which the other connection could run them.
  private func interrupt(_ body: (DowngradeLab, _ watch: (Connection) -> Void) throws -> Void) async throws
    -> Int
  {
    var runs = 0
    while true {
      let lab = try await lab()
      let other = try lab.open()
      defer { other.close() }
      // WAL, as in normal use: a reader does not block a writer.
      #expect(try other.value("PRAGMA journal_mode = WAL") == "wal")
      var (statements, hasRun) = (0, false)
      try body(lab) { connection in
        connection.onStatement { _ in
          statements += 1
          guard statements == runs + 1 else { return }
          do {
            _ = try MigrationRunner(connection: other, set: lab.set, progress: nil).migrate()
            hasRun = true
          } catch SQLError.busy {} catch { Issue.record(error) }
        }
      }
      guard hasRun else { return runs }
      runs += 1
      #expect(try lab.rows("SELECT count(*) FROM \"Like\"") == [[2]])
      _ = try lab.image
    }
  }

  @Test func `another process may run the same steps after any statement of a run before its lock`()
    async throws
  {
    let runs = try await interrupt { lab, watch in
      let connection = try lab.open()
      defer { connection.close() }
      watch(connection)
      _ = try MigrationRunner(connection: connection, set: lab.set, progress: Progress(totalUnitCount: 1))
        .migrate()
    }
    #expect(runs > 10)
  }

  @Test func `another process may run the steps after any statement of a plan`() async throws {
    let runs = try await interrupt { lab, watch in
      let inspection = try Inspection(path: lab.url.path, key: testKey, busyTimeout: 5)
      defer { inspection.connection.close() }
      try StoreInfo.prepare(inspection.connection)
      watch(inspection.connection)
      let plan = try MigrationPlan(inspection, with: lab.set, asksRows: true)
      #expect(plan.steps.isEmpty || plan.steps.count == 2 && plan.cost.rows > 0)
    }
    #expect(runs > 10)
  }
}
