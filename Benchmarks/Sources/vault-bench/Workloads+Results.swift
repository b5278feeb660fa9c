// Workloads 17 and 23 to 26: a stream, groups, the first of each group, values, and folded searches.

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

  // MARK: 17

  func floorStream() -> Double {
    var sum = 0
    let time = seconds {
      let statement = floor.prepare("SELECT id, _version, text, kind, bytes, sentAt, chat_id FROM Line")
      while sqlite3_step(statement) == SQLITE_ROW { sum += integer(statement, 4) }
      sqlite3_finalize(statement)
    }
    blackHole(sum)
    return time
  }

  func oursStream() async throws -> Double {
    try await store.read { context in
      var sum = 0
      let time = try seconds { try context.fetch(Line.self).forEach { sum += $0.bytes } }
      blackHole(sum)
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

final class Note: ManagedObject {
  @Attribute var text: String
}

/// A store of texts of 40 to 400 characters. In one of eight texts some letters have marks.
@MainActor final class TextBench {
  private static let words = [
    "river", "Mountain", "the", "Of", "letter", "COMPUTER", "garden", "a", "Window",
  ]
  private static let marked = ["naïve", "Straße", "Übung", "élan", "façade"]
  private let folder: URL
  private let store: Store

  init(texts: Int) async throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("vault-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    store = try await Store.open(
      at: folder.appendingPathComponent("texts.store"), key: .raw(rawKey),
      schema: Schema { Entity(Note.self) },
      migrations: .creatingSchema)
    let context = store.makeContext()
    for number in 0..<texts {
      context.insert(Note.self) { note in
        let length = 40 + number * 7919 % 361
        var (text, seed) = ("", number)
        while text.utf8.count < length {
          seed = seed &* 31 &+ 7
          let words = number % 8 == 0 && seed % 5 == 0 ? Self.marked : Self.words
          text += words[abs(seed) % words.count] + " "
        }
        note.text = text + (number % 100 == 0 ? "Zebra" : "")
      }
    }
    try context.save()
  }

  isolated deinit {
    store.close()
    try? FileManager.default.removeItem(at: folder)
  }

  /// Counts the texts that contain a word.
  /// - Parameter options: What the search ignores: `""` or `"[cd]"`.
  func contains(_ options: String) async throws -> Double {
    try await store.read { context in
      var count = 0
      let time = try seconds {
        count = try context.fetch(Note.self).where("text CONTAINS\(options) 'zebra'").count()
      }
      blackHole(count)
      return time
    }
  }
}
