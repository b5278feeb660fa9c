// A process is killed while one to five steps run, or are rolled back, in one transaction. The store is
// old or new, and nothing else is left. More kills: VAULT_KILLS.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

/// The versions from which and to which a child migrates until it is killed.
private struct KilledWay: CustomTestStringConvertible {
  let from: Int
  let to: Int
  var testDescription: String { "\(from) to \(to)" }

  static let all = (2...6).map { KilledWay(from: 1, to: $0) } + (1...5).map { KilledWay(from: 6, to: $0) }
}

@Suite(.tags(.kills, .slow), .serialized) struct MigrationKills {
  /// The first step makes a store. Five more steps follow, and each can be rolled back.
  private static let texts = [
    """
    create entity User {
      attribute name string unique
    }
    create entity Post {
      attribute text string
      attribute stars int default 0
      relationship author -> User
    }
    """,
    "rename attribute Post.text -> body\nmake Post.body optional\nadd index Post(body)",
    "rename entity Post -> Note\nadd attribute User.town string default \"?\" indexed",
    "make Note.author many",
    "rename attribute User.name -> title\ncreate entity Town {\n}",
    "make User.title optional\nset default of Note.stars to 5",
  ]
  /// The data that rollbacks of these steps lose.
  private static let losses: Set = ["User.town", "Town"]

  private let folder: TemporaryFolder
  private let set: MigrationSet

  init() throws {
    folder = try TemporaryFolder()
    set = try MigrationSet(
      Self.texts.enumerated().map {
        try MigrationStep(number: $0 + 1, name: "s\($0 + 1)", text: "format: 1\n[up]\n\($1)\n")
      })
    let steps = folder.url.appendingPathComponent("Steps")
    try FileManager.default.createDirectory(at: steps, withIntermediateDirectories: false)
    for step in set.steps { try Data(step.text.utf8).write(to: steps.appendingPathComponent(step.fileName)) }
  }

  private func make() async throws -> URL {
    let url = folder.url.appendingPathComponent("template.store")
    try await Store.create(at: url, key: testKey, migrations: set.upTo(1))
    let connection = try Connection.open(url.path, key: testKey)
    defer { connection.close() }
    try connection.execute(
      "INSERT INTO User(name) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 8000) SELECT 'user ' || i FROM n"
    )
    try connection.execute("INSERT INTO Post(text, author_id) SELECT 'post ' || id, id FROM User")
    return url
  }

  private func lead(_ url: URL, to version: Int) async throws {
    if try Connection.open(url.path, key: testKey).userVersion() <= version {
      try await Store.migrate(at: url, key: testKey, migrations: set.upTo(version), makesBackups: false)
    } else {
      try await Store.downgrade(
        at: url, key: testKey, to: version, migrations: set, makesBackups: false, allowing: Self.losses)
    }
  }

  /// The lines that only one of two contents has.
  private func difference(_ one: [String], _ other: [String]?) -> String {
    Set(one).symmetricDifference(other ?? []).sorted().joined(separator: "\n")
  }

  @Test func `a killed migration of one to five steps leaves the old store or the new one, nothing else`()
    async throws
  {
    let template = try await make()
    var (contents, seconds, ends): ([Int: [String]], [String: Double], [Bool: Int]) = ([:], [:], [:])
    var (copied, begun) = (0, 0)
    for version in 1...6 {
      let url = folder.url.appendingPathComponent("v\(version).store")
      try FileManager.default.copyItem(at: template, to: url)
      try await lead(url, to: version)
      contents[version] = try contentWithoutTimes(url)
    }
    // Each way occurs with and without a copy. The short form begins with another one each day.
    let first = isTorture ? 0 : Rotation.seed * killCount % (2 * KilledWay.all.count)
    for round in first..<first + killCount {
      let way = KilledWay.all[round % KilledWay.all.count]
      let name = "k\(round).store"
      let url = folder.url.appendingPathComponent(name)
      try FileManager.default.copyItem(at: folder.url.appendingPathComponent("v\(way.from).store"), to: url)
      // Every second time the store is copied before, so that some children are killed during the copy.
      let copies = (round / KilledWay.all.count) % 2 == 1
      let (mode, kind) = ("lead-\(copies ? "copied-" : "")\(way.to)", "\(way.testDescription) \(copies)")
      // The first run of each kind measures its time, so that the others are killed at any point.
      if seconds[kind] == nil {
        let start = Date()
        _ = try runChild(mode, url.path)
        seconds[kind] = Date().timeIntervalSince(start)
        let arrived = try contentWithoutTimes(url)
        #expect(
          arrived == contents[way.to], "\(way.testDescription): \(difference(arrived, contents[way.to]))")
        for left in folder.names where left.hasPrefix(name) { unlink(folder.path(left)) }
        try FileManager.default.copyItem(at: folder.url.appendingPathComponent("v\(way.from).store"), to: url)
      }
      _ = try runAndKillChild(mode, url, after: 0...(seconds[kind] ?? 1))
      let found = try contentWithoutTimes(url)
      ends[found == contents[way.to], default: 0] += 1
      #expect(
        found == contents[way.from] || found == contents[way.to],
        "\(way.testDescription): \(difference(found, contents[way.to]))")
      // A copy has its name when it is complete. A file with another name is no copy yet, and the next
      // run removes it.
      let kept = folder.names.filter { $0.hasPrefix("k\(round).") && $0.hasSuffix(".backup") }
      #expect(kept.isEmpty || copies, "\(kept)")
      for copy in kept {
        let former = try contentWithoutTimes(folder.url.appendingPathComponent(copy))
        #expect(former == contents[way.from], "\(copy): \(difference(former, contents[way.from]))")
      }
      copied += kept.count
      begun += folder.names.filter { $0.hasPrefix("k\(round).") && $0.contains(".unfinished") }.count
      // Once more: the store arrives at the version, and what the killed child left beside the store is
      // removed.
      try await lead(url, to: way.to)
      let arrived = try contentWithoutTimes(url)
      #expect(arrived == contents[way.to], "\(way.testDescription): \(difference(arrived, contents[way.to]))")
      let left = folder.names.filter { $0.hasPrefix("k\(round).") && $0 != name }
      #expect(left.allSatisfy { kept.contains($0) }, "\(left)")
      for left in folder.names where left.hasPrefix("k\(round).") { unlink(folder.path(left)) }
    }
    if isTorture {
      print(
        "killed \(killCount) times: \(ends[false] ?? 0) old, \(ends[true] ?? 0) new, \(copied) copies, \(begun) begun"
      )
      #expect(ends.count == 2 && copied + begun > 0)
    }
  }
}

/// Returns the content of a file, except the times in its history: each table with its columns, rows,
/// foreign keys and indexes.
func contentWithoutTimes(_ url: URL) throws -> [String] {
  let connection = try Connection.open(url.path, key: testKey)
  defer { connection.close() }
  try StoreInfo.prepare(connection)
  #expect(try connection.findings().isEmpty && StoreInfo(connection).drift(connection).isEmpty)
  let names = try connection.rows("SELECT name FROM sqlite_master ORDER BY name").compactMap {
    $0.first?.string
  }
  // The bookkeeping tables show the steps that were rolled back, so they are excluded. The order of
  // columns depends on the way to a version.
  let contents = try names.filter { !$0.hasPrefix("vault_") && !$0.hasPrefix("sqlite_") }.flatMap { name in
    let table = try connection.tableInfo(name)
    let columns = table.columns.sorted { $0.name < $1.name }.map { column in
      "\(name) \(column)"
    }
    // Compares whole rows in any order: rows that exchanged a value would have as many of each value.
    let values = SQL.joined(
      table.columns.map(\.name).sorted().map { "quote(\(identifier: $0))" }, by: " || ' ' || ")
    // An index has no columns.
    let rows =
      columns.isEmpty
      ? [] : try connection.rows("SELECT \(values) FROM \(identifier: name) ORDER BY 1")
    return [name, "\(name) \(rows.count) rows, \(rows.hashValue)"] + columns
      + table.foreignKeys.map { "\(name) \($0)" }.sorted()
      + table.indexes.map { "\(name) \($0)" }.sorted()
  }
  let history = try connection.rows("SELECT version, checksum FROM vault_migrations ORDER BY version")
  return contents + ["\(try connection.userVersion())", "\(history)"]
}
