// Several processes, and many tasks, on one file. VAULT_SECONDS sets the seconds, one by default.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.processes, .slow)) struct Processes {
  @Test func `two writing and four reading processes lose no update and see no partial one`() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path("a.store")
    _ = try Connection.create(path, key: childKeys.first) {
      try $0.executeScript(
        "CREATE TABLE account(id, amount, moves); INSERT INTO account VALUES (1, 1000, 0), (2, 1000, 0)")
    }
    let moves = try await withThrowingTaskGroup(of: Int.self) { group in
      for mode in ["move", "move", "read", "read", "read", "read"] {
        group.addTask {
          let lines = try await onThread { try runChild(mode, path) }
          let done = try #require(lines.first.flatMap { Int($0) }, "\(mode)")
          #expect(done > 0)
          return mode == "move" ? done : 0
        }
      }
      return try await group.reduce(0, +)
    }
    let connection = try Connection.open(path, key: childKeys.first)
    let found = try connection.rows("SELECT amount, moves FROM account ORDER BY id")
    #expect(
      found == [
        [.integer(Int64(1000 - moves)), .integer(Int64(moves))], [.integer(Int64(1000 + moves)), 0],
      ])
    #expect(try connection.integrityErrors().isEmpty)
  }

  @Test func `processes that are killed while they write lose no acknowledged commit`() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path("a.store")
    _ = try Connection.create(path, key: childKeys.first) {
      try $0.executeScript(
        "CREATE TABLE account(id, amount, moves); INSERT INTO account VALUES (1, 1000, 0), (2, 1000, 0)")
    }
    let (acknowledged, kills) = try await withThrowingTaskGroup(of: (Int, Int).self) { group in
      for _ in 0..<2 {
        group.addTask {
          try await onThread {
            // Starting here: on a busy machine a task may start long after it was added.
            let end = Date().addingTimeInterval(childSeconds)
            var (moves, kills) = (0, 0)
            repeat {
              moves += try runAndKillChild(
                "move-on", URL(fileURLWithPath: path), after: 0.02...0.4, mayFail: true)
              kills += 1
            } while Date() < end
            return (moves, kills)
          }
        }
        group.addTask {
          let lines = try await onThread { try runChild("read", path) }
          let reads = try #require(lines.first.flatMap { Int($0) }, "another sum")
          #expect(reads > 0)
          return (0, 0)
        }
      }
      return try await group.reduce((0, 0)) { ($0.0 + $1.0, $0.1 + $1.1) }
    }
    let connection = try Connection.open(path, key: childKeys.first)
    let found = try connection.rows("SELECT amount, moves FROM account ORDER BY id")
    let moves = Int(try #require(found.first?.last?.int64))
    // The last commit of each killed process may have come before its line.
    #expect((acknowledged...acknowledged + kills).contains(moves) && acknowledged > 0)
    #expect(found.map(\.first) == [.integer(Int64(1000 - moves)), .integer(Int64(1000 + moves))])
    #expect(try connection.integrityErrors().isEmpty && connection.auditPages().isEmpty)
  }

  @Test func `copies made while another process writes are of one moment, whichever call makes them`()
    async throws
  {
    let folder = try TemporaryFolder()
    let path = folder.path("a.store")
    // The two rows that belong together are at both ends of the file.
    _ = try Connection.create(path, key: childKeys.first) { connection in
      try connection.executeScript(
        "CREATE TABLE account(id INTEGER PRIMARY KEY, amount, moves); INSERT INTO account VALUES (1, 1000, 0)"
      )
      try connection.executeScript("CREATE TABLE filler(x)")
      for _ in 0..<200 { try connection.execute("INSERT INTO filler VALUES (zeroblob(4000))") }
      try connection.executeScript("INSERT INTO account VALUES (2, 1000, 0)")
    }
    let copies = try await withThrowingTaskGroup(of: Int.self) { group in
      group.addTask {
        _ = try await onThread { try runChild("move", path) }
        return 0
      }
      group.addTask {
        try await onThread {
          let end = Date().addingTimeInterval(childSeconds)
          var count = 0
          repeat {
            let inspection = try Inspection(path: path, key: childKeys.first)
            #expect(inspection.connection.auditPages().isEmpty)
            #expect(try inspection.connection.integrityErrors().isEmpty)
            let (backup, copy, plain) = (folder.path("b"), folder.path("c"), folder.path("p"))
            try inspection.connection.backup(to: backup)
            try inspection.connection.copy(to: copy, key: childKeys.first)
            try inspection.connection.exportPlaintext(to: plain)
            try Connection.encrypt(plaintext: plain, to: folder.path("e"), key: childKeys.first)
            for made in [backup, copy, folder.path("e")] {
              let opened = try Connection.open(made, key: childKeys.first)
              let found = try opened.rows("SELECT amount, moves FROM account ORDER BY id")
              let moves = try #require(found.first?.last?.int64)
              #expect(found == [[.integer(1000 - moves), .integer(moves)], [.integer(1000 + moves), 0]])
            }
            for made in [backup, copy, plain, folder.path("e")] {
              try FileManager.default.removeItem(atPath: made)
            }
            count += 1
          } while Date() < end
          return count
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(copies > 0)
    // The log of a process that ended during an inspection stays until the file is opened for writing.
    #expect(try Connection.open(path, key: childKeys.first).integrityErrors().isEmpty)
    #expect(folder.names == ["a.store"])
  }

  @Test func `sixteen tasks on one pool and one queue keep the sum`() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path("a.store")
    _ = try Connection.create(path, key: childKeys.first) {
      try $0.executeScript(
        "CREATE TABLE account(id, amount); INSERT INTO account VALUES (1, 1000), (2, 1000)")
    }
    let pool = try ConnectionPool(path: path, key: childKeys.first)
    let queue = try ConnectionQueue(path: path, key: childKeys.first)
    let end = Date().addingTimeInterval(childSeconds)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<16 {
        group.addTask {
          while Date() < end {
            switch task % 4 {
            case 0:
              try await pool.write {
                _ = try $0.execute("UPDATE account SET amount = amount + CASE id WHEN 1 THEN 1 ELSE -1 END")
              }
            case 1:
              try await queue.transaction {
                _ = try $0.execute("UPDATE account SET amount = amount - CASE id WHEN 1 THEN 1 ELSE -1 END")
              }
            case 2:
              let sum = try await pool.read { try $0.value("SELECT sum(amount) FROM account") }
              #expect(sum == 2000)
            default:
              let snapshot = try pool.snapshot()
              let first = try await snapshot.read { try $0.rows("SELECT * FROM account") }
              let second = try await snapshot.read { try $0.rows("SELECT * FROM account") }
              #expect(first == second)
              snapshot.close()
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try pool.withReader { try $0.value("SELECT sum(amount) FROM account") } == 2000)
  }
}
