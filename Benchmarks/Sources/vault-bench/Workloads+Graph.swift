// Workloads 8, 10, 11, 18 and 32: joins, to-ones, cascades, memory, and a file that was just opened.

import CFloor
import CipherSQLite
import Foundation
import ObjectVault

final class Member: ManagedObject {
  @Attribute var name: String
  @ToMany(inverse: \Message.member, onDelete: .cascade) var messages: Set<Message>
}

final class Message: ManagedObject {
  @Attribute var text: String
  @ToOne var member: Member?
}

/// A store of authors and their posts. The floor reads the same file by a connection of its own.
@MainActor final class GraphBench {
  static let authors = 10_000
  private let bench: Bench
  private let floor: Floor
  /// The name of a tenth of the authors.
  private let tenth = "name 3"

  init(posts: Int) async throws {
    bench = try await Bench()
    let context = bench.store.makeContext()
    let authors = (0..<Self.authors).map { number in
      context.insert(Author.self) {
        $0.name = "name \(number % 10)"
        $0.age = number % 90
      }
    }
    for number in 0..<posts {
      context.insert(Post.self) {
        $0.text = "the text of post \(number)"
        $0.likes = number % 1000
        $0.score = Double(number % 77) / 7
        $0.author = authors[number * 7 % authors.count]
      }
    }
    try context.save()
    floor = Floor(bench.folder.appendingPathComponent("ours.store").path, cacheBytes: Floor.readerCache)
  }

  struct PostRow {
    var text: String
    var likes: Int
    var score: Double
    var author: Int
  }

  struct PostAndAuthorRow {
    var post: PostRow
    var name: String
    var age: Int
  }

  // MARK: 8

  func floorJoin() -> Double {
    var rows: [PostRow] = []
    let time = seconds {
      let statement = floor.prepare(
        "SELECT p.id, p._version, p.text, p.likes, p.score, p.author_id FROM Author a JOIN Post p ON p.author_id = a.id "
          + "WHERE a.name = ?")
      floor.bind(statement, 1, tenth)
      while sqlite3_step(statement) == SQLITE_ROW { rows.append(post(statement)) }
      sqlite3_finalize(statement)
    }
    blackHole(rows.count)
    return time
  }

  private func post(_ statement: OpaquePointer?) -> PostRow {
    PostRow(
      text: text(statement, 2), likes: integer(statement, 3), score: real(statement, 4),
      author: integer(statement, 5))
  }

  func oursJoin(readingAll: Bool = false) async throws -> Double {
    let name = tenth
    return try await bench.store.read { context in
      var rows: [Post] = []
      var sum = 0
      let time = try seconds {
        rows = try context.fetch(Post.self).where(#Predicate { $0.author?.name == name }).all()
        if readingAll { for row in rows { sum &+= sumOfAll(row) } }
      }
      blackHole(rows.count &+ sum)
      return time
    }
  }

  // MARK: 10

  func floorToOnes() -> Double {
    var rows: [PostAndAuthorRow] = []
    var sum = 0
    let time = seconds {
      let statement = floor.prepare(
        "SELECT p.id, p._version, p.text, p.likes, p.score, p.author_id, a.id, a._version, a.name, a.age "
          + "FROM Post p JOIN Author a ON a.id = p.author_id ORDER BY p.id LIMIT 10000")
      while sqlite3_step(statement) == SQLITE_ROW {
        rows.append(
          PostAndAuthorRow(post: post(statement), name: text(statement, 8), age: integer(statement, 9)))
      }
      sqlite3_finalize(statement)
      for row in rows { sum &+= row.age }
    }
    // As in the other workloads, the rows are freed after the timed part.
    blackHole(rows.count &+ sum)
    return time
  }

  func oursToOnes(readingAll: Bool = false) async throws -> Double {
    try await bench.store.read { context in
      var rows: [Post] = []
      var sum = 0
      let time = try seconds {
        rows = try context.fetch(Post.self).sorted(by: \.id).limit(10_000).prefetch(\.author).all()
        for row in rows {
          guard let author = row.author else { continue }
          sum &+= author.age
          if readingAll { sum &+= sumOfAll(row) &+ author.name.utf8.count }
        }
      }
      if context.statistics.queries > 2 {
        FileHandle.standardError.write(Data("  \(context.statistics.queries) queries\n".utf8))
      }
      blackHole(rows.count &+ sum)
      return time
    }
  }

  // MARK: 11

  static let members = 1000
  static let messages = 50

  /// Fills both files anew.
  private func fillMembers() throws {
    bench.floor.run(
      """
      CREATE TABLE IF NOT EXISTS Member (id INTEGER PRIMARY KEY, _version INTEGER NOT NULL DEFAULT 1, name TEXT NOT NULL);
      CREATE TABLE IF NOT EXISTS Message (id INTEGER PRIMARY KEY, _version INTEGER NOT NULL DEFAULT 1, text TEXT NOT NULL,
        member_id INTEGER REFERENCES Member(id) ON DELETE CASCADE);
      CREATE INDEX IF NOT EXISTS message_member ON Message(member_id);
      BEGIN;
      """)
    for member in 1...Self.members {
      bench.floor.run("INSERT INTO Member(id, name) VALUES (\(member), 'member \(member)')")
      for number in 1...Self.messages {
        bench.floor.run("INSERT INTO Message(text, member_id) VALUES ('message \(number)', \(member))")
      }
    }
    bench.floor.run("COMMIT")
    let context = bench.store.makeContext()
    for member in 1...Self.members {
      let owner = context.insert(Member.self) { $0.name = "member \(member)" }
      for number in 1...Self.messages {
        context.insert(Message.self) {
          $0.text = "message \(number)"
          $0.member = owner
        }
      }
    }
    try context.save()
  }

  func floorCascade() throws -> Double {
    try fillMembers()
    return seconds { bench.floor.run("DELETE FROM Member") }
  }

  func oursCascade() throws -> Double {
    let context = bench.store.makeContext()
    let members = try context.fetch(Member.self).all()
    return try seconds {
      for member in members { context.delete(member) }
      try context.save()
    }
  }
}

/// Reads every attribute.
@inline(__always) private func sumOfAll(_ row: Post) -> Int {
  row.text.utf8.count &+ row.likes &+ Int(row.score)
}

// MARK: 32

/// A file that was just opened: the connection has cached nothing of it.
enum ColdBench {
  @MainActor static func floor(_ path: String) -> Double {
    let floor = Floor(path, cacheBytes: Floor.readerCache)
    defer { floor.close() }
    floor.run("SELECT count(*) FROM sqlite_master")
    return tens(floor)
  }

  static func ours(_ url: URL) async throws -> Double {
    let store = try await Store.open(
      at: url, key: .raw(rawKey), schema: benchSchema, migrations: .creatingSchema)
    defer { store.close() }
    return try await store.read { context in
      var rows: [Ten] = []
      let time = try seconds { rows = try context.fetch(Ten.self).all() }
      blackHole(rows.count)
      return time
    }
  }

  private static func tens(_ floor: Floor) -> Double {
    var rows: [TenRow] = []
    let time = seconds { rows = tenRows(floor) }
    blackHole(rows.count)
    return time
  }
}

// MARK: 18

/// The memory of a million objects, in a process that does nothing else.
enum MemoryBench {
  /// The bytes of a packed row: for each of its ten cells a byte and a word, the bytes padded to words.
  static let rowBytes = 16 + 10 * 8

  /// Returns the bytes that are allocated. The process has more memory of the system than that: freed
  /// memory, such as that of rows that were read ahead, stays in the process for the next fetch.
  private static func inUse() -> Int {
    let memory = mallinfo2()
    return Int(memory.uordblks) + Int(memory.hblkhd)
  }

  /// Returns the bytes of an object beyond its row of ten integers, measured in a process that did
  /// nothing else: memory that was freed after filling the store could be used again without being
  /// counted.
  @MainActor static func perObject(_ count: Int) async throws -> Double {
    let bench = try await Bench()
    try bench.fillTens(count)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = ["--memory-of", bench.store.url.path]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (Double(text.trimmingCharacters(in: .whitespacesAndNewlines)) ?? .nan) / Double(count)
  }

  /// Returns the bytes that all objects of `Ten` take beyond their rows.
  static func ofAll(_ url: URL) async throws -> Int {
    let store = try await Store.open(
      at: url, key: .raw(rawKey), schema: benchSchema, migrations: .creatingSchema)
    defer { store.close() }
    // The engine's caches of both connections that the fetch uses are filled first. Each read waits until
    // the other one has its connection.
    let (one, two) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    async let first: Int = store.read { context in
      one.signal()
      two.wait()
      return try context.fetch(Ten.self).count()
    }
    async let second: Int = store.read { context in
      two.signal()
      one.wait()
      return try context.fetch(Ten.self).count()
    }
    _ = try await (first, second)
    return try await store.read { context in
      let before = inUse()
      let rows = try context.fetch(Ten.self).all()
      let after = inUse()
      blackHole(rows.count)
      return after - before - rows.count * rowBytes
    }
  }
}
