// A process is killed while steps change rows: SQL and Swift transforms, moved values, merged entities,
// and entities that get a parent. The steps run in one transaction, or each in its own. More kills:
// VAULT_KILLS.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.kills, .slow), .serialized) struct MigrationRowKills {
  private static let texts = [
    """
    create entity Base {
      attribute label string default ""
    }
    create entity User {
      attribute name string
      attribute town string default "x"
      relationship account -> Account inverse Account.user
    }
    create entity Account {
      attribute code int default 1
      relationship user -> User inverse User.account
    }
    create entity Guest {
      attribute name string
    }
    """,
    "transform sql { UPDATE $User SET $User.name = upper($User.name) || '!' }\n"
      + "transform swift double on Account reads Account.code writes Account.code batch 300",
    "move attribute User.town -> Account.town by User.account",
    "merge entity Guest into User with Guest.name -> User.name",
    "set parent of Account to Base",
  ]
  private static let last = texts.count
  private static let rows = 3000
  private let folder: TemporaryFolder
  private let set: MigrationSet

  init() throws {
    folder = try TemporaryFolder()
    set = try MigrationSet(
      Self.texts.enumerated().map {
        try MigrationStep(number: $0 + 1, name: "s\($0 + 1)", text: "format: 1\n[up]\n\($1)\n")
      }
    ).transforming(by: childTransforms)
    let steps = folder.url.appendingPathComponent("Steps")
    try FileManager.default.createDirectory(at: steps, withIntermediateDirectories: false)
    for step in set.steps { try Data(step.text.utf8).write(to: steps.appendingPathComponent(step.fileName)) }
  }

  /// A store at version 1, and its content at each version.
  private func make() async throws -> (template: URL, contents: [[String]]) {
    let url = folder.url.appendingPathComponent("template.store")
    try await Store.create(at: url, key: testKey, migrations: set.upTo(1))
    let connection = try Connection.open(url.path, key: testKey)
    for table in ["User", "Guest"] {
      try connection.execute(
        "INSERT INTO \(identifier: table)(name) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT \(Self.rows)) SELECT 'user ' || i FROM n"
      )
    }
    try connection.execute("INSERT INTO Account(id, code, user_id) SELECT id, id, id FROM User")
    connection.close()
    var contents: [[String]] = []
    for version in 1...Self.last {
      let led = folder.url.appendingPathComponent("v\(version).store")
      try FileManager.default.copyItem(at: url, to: led)
      if version > 1 {
        try await Store.migrate(at: led, key: testKey, migrations: set.upTo(version), makesBackups: false)
      }
      contents.append(try contentWithoutTimes(led))
    }
    return (url, contents)
  }

  @Test func `a killed run of steps on rows leaves the old store, the new one, or whole steps`() async throws
  {
    let (template, contents) = try await make()
    #expect(Set(contents).count == Self.last)
    let former = try StoreRows(folder.url.appendingPathComponent("v\(Self.last).store"))
    // A second check of the steps' results.
    #expect(
      former.sums == [
        Int64(2 * Self.rows), Int64(Self.rows * (Self.rows + 1)), Int64(Self.rows), Int64(Self.rows),
      ])
    var (seconds, ends): ([String: Double], [Int: Int]) = ([:], [:])
    for round in 0..<(isTorture ? killCount : 8) {
      let isEach = round % 2 == 1
      let mode = isEach ? "lead-each-\(Self.last)" : "lead-\(Self.last)"
      let url = folder.url.appendingPathComponent("k\(round).store")
      if seconds[mode] == nil {
        try FileManager.default.copyItem(at: template, to: url)
        let start = Date()
        _ = try runChild(mode, url.path)
        seconds[mode] = Date().timeIntervalSince(start)
        #expect(try contentWithoutTimes(url) == contents[Self.last - 1])
        for left in folder.names where left.hasPrefix("k\(round).") { unlink(folder.path(left)) }
      }
      try FileManager.default.copyItem(at: template, to: url)
      _ = try runAndKillChild(mode, url, after: 0...(seconds[mode] ?? 1))
      let found = try contentWithoutTimes(url)
      let version = contents.firstIndex(of: found)
      ends[version ?? -1, default: 0] += 1
      #expect(version != nil && (isEach || version == 0 || version == Self.last - 1), "\(mode): \(found)")
      try await Store.migrate(at: url, key: testKey, migrations: set, makesBackups: false)
      #expect(try contentWithoutTimes(url) == contents[Self.last - 1], "\(mode)")
      for left in folder.names where left.hasPrefix("k\(round).") { unlink(folder.path(left)) }
    }
    if isTorture { print("killed at versions \(ends.map { "\($0 + 1): \($1)" }.sorted())") }
  }

  /// Numbers of a store after all steps, by plain SQL.
  private struct StoreRows {
    /// The users with a name in capitals or of a guest, the sum of the doubled codes, the towns that
    /// moved, and the accounts among the rows of their parent.
    let sums: [Int64]

    init(_ url: URL) throws {
      let connection = try Connection.open(url.path, key: testKey)
      defer { connection.close() }
      sums = try [
        "SELECT count(*) FROM User WHERE name GLOB 'USER *!' OR name GLOB 'user *'",
        "SELECT total(code) FROM Base", "SELECT count(*) FROM Base WHERE town = 'x'",
        "SELECT count(*) FROM Base WHERE _entity = 'Account'",
      ].map { Int64(try connection.value(sql: $0)?.double ?? -1) }
    }
  }
}
