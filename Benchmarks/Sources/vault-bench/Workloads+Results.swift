// Workloads 23 to 25: groups, the first of each group, and values.

import CFloor
import CipherSQLite
import Foundation
import ObjectVault

final class Chat: ManagedObject {
  @Attribute var title: String
  @ToMany(inverse: \Line.chat) var lines: Set<Line>
}

final class Line: ManagedObject {
  @Attribute var text: String
  @Attribute var kind: Int
  @Attribute var bytes: Int
  @Attribute var sentAt: Double
  @ToOne var chat: Chat?
}

let resultSchema = Schema {
  Entity(Chat.self)
  Entity(Line.self).index(\.chat, \.sentAt)
}

/// A store of chats and their lines. The floor reads the same file by a connection of its own.
@MainActor final class ResultBench {
  static let chats = 1_000
  private let folder: URL
  private let store: Store
  private let floor: Floor

  init(lines: Int) async throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("vault-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let url = folder.appendingPathComponent("ours.store")
    store = try await Store.open(
      at: url, key: .raw(rawKey), schema: resultSchema, migrations: .creatingSchema)
    let context = store.makeContext()
    let chats = (0..<Self.chats).map { number in context.insert(Chat.self) { $0.title = "chat \(number)" } }
    for number in 0..<lines {
      context.insert(Line.self) {
        $0.text = "the text of line \(number)"
        $0.kind = number * 7919 % 100
        $0.bytes = number % 5000
        $0.sentAt = Double(number * 7919 % lines)
        $0.chat = chats[number % chats.count]
      }
    }
    try context.save()
    floor = Floor(url.path, cacheBytes: Floor.readerCache)
  }

  isolated deinit {
    store.close()
    floor.close()
    try? FileManager.default.removeItem(at: folder)
  }

  // MARK: 23

  func floorGroups() -> Double {
    var groups: [(kind: Int, count: Int, sum: Int, average: Double)] = []
    let time = seconds {
      let statement = floor.prepare(
        "SELECT kind, count(*), sum(bytes), avg(bytes) FROM Line GROUP BY kind ORDER BY kind")
      while sqlite3_step(statement) == SQLITE_ROW {
        groups.append(
          (integer(statement, 0), integer(statement, 1), integer(statement, 2), real(statement, 3)))
      }
      sqlite3_finalize(statement)
    }
    blackHole(groups.count)
    return time
  }

  func oursGroups() async throws -> Double {
    try await store.read { context in
      var count = 0
      let time = try seconds {
        let groups = try context.fetch(Line.self).grouped(
          by: \.kind, .count, .sum(\.bytes), .average(\.bytes))
        count = groups.count
      }
      blackHole(count)
      return time
    }
  }

  // MARK: 24

  struct LineRow {
    var id: Int
    var text: String
    var kind: Int
    var bytes: Int
    var sentAt: Double
    var chat: Int
  }

  func floorFirsts() -> Double {
    var rows: [LineRow] = []
    let time = seconds {
      let statement = floor.prepare(
        "SELECT l.id, l._version, l.text, l.kind, l.bytes, l.sentAt, l.chat_id FROM Chat c JOIN Line l ON l.id = "
          + "(SELECT id FROM Line WHERE chat_id = c.id ORDER BY sentAt DESC, id DESC LIMIT 1) "
          + "ORDER BY l.sentAt DESC, l.id DESC")
      while sqlite3_step(statement) == SQLITE_ROW {
        rows.append(
          LineRow(
            id: integer(statement, 0), text: text(statement, 2), kind: integer(statement, 3),
            bytes: integer(statement, 4), sentAt: real(statement, 5), chat: integer(statement, 6)))
      }
      sqlite3_finalize(statement)
    }
    blackHole(rows.count)
    return time
  }

  func oursFirsts() async throws -> Double {
    try await store.read { context in
      var rows: [Line] = []
      let time = try seconds {
        rows = try context.fetch(Line.self).sorted(by: \.sentAt, .reverse).first(ofEach: \.chat)
      }
      blackHole(rows.count)
      return time
    }
  }

  // MARK: 25

  func floorValues() -> Double {
    var rows: [(String, Int)] = []
    let time = seconds {
      let statement = floor.prepare("SELECT text, bytes FROM Line")
      while sqlite3_step(statement) == SQLITE_ROW { rows.append((text(statement, 0), integer(statement, 1))) }
      sqlite3_finalize(statement)
    }
    blackHole(rows.count)
    return time
  }

  func oursValues() async throws -> Double {
    try await store.read { context in
      var rows: [(String, Int)] = []
      let time = try seconds {
        rows = try context.fetch(Line.self).values(\.text, \.bytes)
      }
      blackHole(rows.count)
      return time
    }
  }
}
