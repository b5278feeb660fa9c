// fetch and count on the real binary: rows against plain SQL, every format against its own reader, and what is left.

import CipherSQLite
import Foundation
import Microblog
import Migrations
import ObjectVault
import TestSupport
import Testing

/// A model that the tool never saw as classes: it is read from the file.
private let wide = Schema(entities: [
  EntityDescription(
    name: "Thing",
    attributes: [
      .init(name: "text", type: .string, isOptional: true),
      .init(name: "flag", type: .bool, isOptional: true),
      .init(name: "number", type: .int, isOptional: true),
      .init(name: "real", type: .double, isOptional: true),
      .init(name: "float", type: .float, isOptional: true),
      .init(name: "price", type: .decimal, isOptional: true),
      .init(name: "at", type: .date, isOptional: true), .init(name: "data", type: .data, isOptional: true),
      .init(name: "json", type: .json, isOptional: true),
    ],
    relationships: [
      .init(name: "parent", destination: "Thing", inverse: "parts"),
      .init(name: "parts", destination: "Thing", isToMany: true, inverse: "parent"),
    ])
])

@Suite struct FetchCommands {
  let folder: TemporaryFolder
  let url: URL
  static let key = Key.passphrase("horse")

  init() throws {
    folder = try TemporaryFolder()
    url = folder.url.appendingPathComponent("notes.store")
  }

  private func run(_ words: String..., key: String = "horse") throws -> ToolResult {
    try runTool(
      builtExecutable("store-migrate"), [words[0], url.path] + words.dropFirst() + ["--no-input"],
      environment: ["STORE_MIGRATE_KEY": key])
  }

  private func shell(_ command: String) throws -> ToolResult {
    try runTool(
      "/bin/bash", ["-c", command],
      environment: [
        "STORE_MIGRATE_KEY": "horse", "TOOL": builtExecutable("store-migrate"), "STORE": url.path,
      ])
  }

  private func makeBlog() async throws {
    let store = try await openMicroblog(url, key: Self.key)
    defer { store.close() }
    try await store.write { context in
      for (number, name) in ["Binger", "陳大文", "Zoë", "e\u{301}mile"].enumerated() {
        let user = context.insert(User.self) {
          $0.name = name
          $0.city = number == 0 ? nil : "City \(number), \"old\""
        }
        for index in 0..<(number + 1) {
          context.insert(Status.self) {
            $0.text = "Status \(index)\nof \(name)"
            $0.createdAt = Date(timeIntervalSinceReferenceDate: 800_000_000.25 + Double(index))
            $0.user = index == 3 ? nil : user
          }
        }
      }
    }
  }

  private func makeThings(_ fill: @Sendable @escaping (ObjectContext) throws -> Void) async throws {
    try await Store.create(at: url, key: Self.key, migrations: try .creating(wide))
    let store = try await Store.open(at: url, key: Self.key)
    defer { store.close() }
    try await store.write(fill)
  }

  private func sql(_ text: String) throws -> [[SQLValue]] {
    let connection = try Connection.open(url.path, key: Self.key)
    defer { connection.close() }
    return try connection.rows(sql: text)
  }

  private func objects(_ text: String) throws -> [[String: Any]] {
    try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [[String: Any]])
  }

  // MARK: Rows

  @Test func `rows are those of plain SQL, with paths, conditions, orders and windows`() async throws {
    try await makeBlog()
    let found = try run(
      "fetch", "Status", "--columns", "id,text,user.name,user", "--sort", "user.name:desc,createdAt",
      "--where",
      "user != nil AND text CONTAINS 'Status'", "--limit", "5", "--offset", "1", "--format", "json")
    #expect(found.status == 0 && found.errors.isEmpty, "\(found)")
    let expected = try sql(
      """
      SELECT s.id, s.text, u.name, s.user_id FROM "Status" s JOIN "User" u ON u.id = s.user_id
      ORDER BY u.name DESC, s.createdAt, s.id LIMIT 5 OFFSET 1
      """)
    let rows = try objects(found.output)
    #expect(rows.count == 5)
    for (row, plain) in zip(rows, expected) {
      #expect(
        (row["id"] as? Int).map { Int64($0) } == plain[0].int64 && row["text"] as? String == plain[1].string)
      #expect(row["user.name"] as? String == plain[2].string)
      #expect((row["user"] as? Int).map { Int64($0) } == plain[3].int64)
    }
    #expect(try run("count", "Status").output == "10\n")
    #expect(try run("count", "Status", "--where", "user == nil").output == "1\n")
    let json = try run("count", "User", "--json").output
    #expect(json.contains("\"count\":4") && json.contains("\"entity\":\"User\""))
    #expect(try run("fetch", "User", "--limit", "0", "--format", "json").output == "[]\n")
  }

  @Test(.enabled(if: cipherShell != nil, "the sqlcipher shell is not installed"))
  func `CSV is what the sqlcipher shell writes`() async throws {
    try await makeBlog()
    let shell = try #require(cipherShell)
    let profile = try Connection.open(url.path, key: Self.key).unlocked.profile
    let pragmas = profile.shellPragmas(major: Engine.current.cipherMajor).joined(separator: "\n")
    let plain = try runTool(
      shell, [url.path],
      input:
        "PRAGMA key = 'horse';\n\(pragmas)\n.mode csv\nSELECT id, name, city FROM \"User\" ORDER BY name;\n")
    let found = try run("fetch", "User", "--columns", "id,name,city", "--sort", "name", "--format", "csv")
    let lines = plain.output.replacing("\r\n", with: "\n").split(separator: "\n").filter { $0 != "ok" }
    // The shell puts more texts in quotation marks than has to be.
    let rows = lines.map { $0.replacing("\"City 1, \"\"old\"\"\"", with: "C1").replacing("\"", with: "") }
    let ours = found.output.split(separator: "\r\n").dropFirst()
      .map { $0.replacing("\"City 1, \"\"old\"\"\"", with: "C1").replacing("\"", with: "") }
    #expect(rows == ours && ours.count == 4, "\(lines)\n\(ours)")
  }

  @Test func `every type has its form in JSON, lines, CSV and tables`() async throws {
    try await makeThings { context in
      let first = try context.insert(entity: "Thing") {
        $0["text"] = "a,\"b\"\n\u{1B}[31m\u{202E}\0"
        $0["flag"] = true
        $0["number"] = Int.max
        $0["real"] = 0.1
        $0["float"] = Float(0.1)
        $0["price"] = Decimal(string: "1234567890.10") ?? 0
        $0["at"] = Date(timeIntervalSince1970: 1_700_000_000.5)
        $0["data"] = Data([0, 255])
        $0["json"] = "{\"a\":[1,null]}"
      }
      try context.insert(entity: "Thing") {
        $0["text"] = ""
        $0[toOne: "parent"] = first
        $0["real"] = Double.infinity
      }
    }
    let rows = try objects(try run("fetch", "Thing", "--sort", "id", "--format", "json").output)
    let row = try #require(rows.first)
    #expect(row["text"] as? String == "a,\"b\"\n\u{1B}[31m\u{202E}\0" && row["flag"] as? Bool == true)
    #expect(row["number"] as? Int == Int.max && row["real"] as? Double == 0.1)
    #expect(row["price"] as? String == "1234567890.1" && row["at"] as? String == "2023-11-14T22:13:20.500Z")
    #expect(row["data"] as? String == "AP8=" && row["parent"] is NSNull)
    #expect((row["json"] as? [String: [Any]])?["a"]?.count == 2)
    #expect(
      rows[1]["text"] as? String == "" && rows[1]["parent"] as? Int == 1
        && rows[1]["real"] as? String == "inf")
    let lines = try run("fetch", "Thing", "--sort", "id", "--format", "lines").output.split(separator: "\n")
    #expect(lines.count == 2 && lines[0].contains("\"float\":0.1,"))
    #expect(try lines.flatMap { try objects("[\($0)]") }.count == 2)
    let csv = try run("fetch", "Thing", "--columns", "id,text,flag,data,parent,at", "--format", "csv").output
    #expect(
      csv
        == "id,text,flag,data,parent,at\r\n1,\"a,\"\"b\"\"\n\u{1B}[31m\u{202E}\0\",true,AP8=,,2023-11-14T22:13:20.500Z\r\n"
        + "2,\"\",,,1,\r\n")
    let table = try run("fetch", "Thing", "--columns", "text,data,number").output
    #expect(table.contains("a,\"b\"\\n\\u{1B}[31m\\u{202E}\\u{0}  00ff"), "\(table)")
    #expect(!table.contains("\u{1B}"))
    let envelope = try run("fetch", "Thing", "--json", "--columns", "id").output
    let whole = try #require(try JSONSerialization.jsonObject(with: Data(envelope.utf8)) as? [String: Any])
    #expect(
      (whole["rows"] as? [Any])?.count == 2 && whole["ok"] as? Bool == true
        && whole["command"] as? String == "fetch")
    #expect(whole["columns"] as? [String] == ["id"] && whole["exit"] as? Int == 0 && whole["error"] is NSNull)
  }

  @Test func `a table is aligned by the cells of a terminal`() async throws {
    try await makeThings { context in
      for text in ["abc", "北京", "한국어 ok", "e\u{301}", "👩‍👩‍👧", "ｱﾊﾟ"] {
        try context.insert(entity: "Thing") {
          $0["text"] = text
          $0["number"] = 7
        }
      }
    }
    let output = try run("fetch", "Thing", "--columns", "text,number").output
    #expect(
      output == """
        text       number
        ---------  ------
        abc             7
        北京            7
        한국어 ok       7
        e\u{301}               7
        👩‍👩‍👧              7
        ｱﾊﾟ             7

        """, "\(output)")
  }

  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/script"), "there is no script"))
  func `on a terminal lines are cut to its width`() async throws {
    try await makeThings { context in
      try context.insert(entity: "Thing") {
        $0["text"] = String(repeating: "北京", count: 30)
        $0["number"] = 7
      }
    }
    let words = "fetch \"$STORE\" Thing --no-input --columns text,number"
    let output = try shell("script -qec 'stty cols 40; \"$TOOL\" \(words)' /dev/null").output
    let lines = output.split { $0.isNewline }
    #expect(lines.last.map(String.init) == String(repeating: "北京", count: 7) + "北…        7", "\(output)")
  }

  // MARK: What cannot be

  @Test func `mistyped names, conditions and options are told, and end with 64`() async throws {
    try await makeBlog()
    let cases: [([String], String)] = [
      (["fetch", "Statuss"], "no entity \"Statuss\"; did you mean \"Status\"?"),
      (["count", "Statuss"], "did you mean \"Status\"?"),
      (["fetch", "Status", "--columns", "txt"], "Status has no property \"txt\"; did you mean \"text\"?"),
      (["fetch", "Status", "--columns", "user.nam"], "User has no property \"nam\"; did you mean \"name\"?"),
      (["fetch", "Status", "--columns", "tags"], "Status.tags has many members"),
      (["fetch", "Status", "--columns", "text.x"], "Status.text is an attribute"),
      (["fetch", "Status", "--columns", "text,text"], "--columns names text twice"),
      (["fetch", "Status", "--sort", "text:down"], "NAME:desc"),
      (["fetch", "Status", "--sort", "txt"], "did you mean \"text\"?"),
      (["fetch", "Status", "--limit", "many"], "--limit takes a number"),
      (["fetch", "Status", "--format", "cvs"], "Did you mean \"csv\"?"),
      (["fetch", "Status", "--format", "csv", "--json"], "two things"),
      (["fetch", "Status", "--where", "text == 'a' AN x"], "\n  text == 'a' AN x\n              ^"),
      (["fetch", "Status", "--where", "txt == 'a'"], "did you mean \"text\"?"),
    ]
    for (words, message) in cases {
      let result = try runTool(
        builtExecutable("store-migrate"), [words[0], url.path] + words.dropFirst() + ["--no-input"],
        environment: ["STORE_MIGRATE_KEY": "horse"])
      let said = result.errors + result.output
      #expect(result.status == 64 && said.contains(message), "\(words): \(result)")
    }
  }

  @Test func `a wrong key, no store and no file are told as by every command`() async throws {
    #expect(try run("fetch", "User").status == 10)
    _ = try Connection.create(url.path, key: Self.key) { try $0.executeScript("CREATE TABLE t(x)") }
    let foreign = try run("fetch", "User")
    #expect(foreign.status == 12 && foreign.errors.contains("no store of ObjectVault"), "\(foreign)")
    let wrong = try run("fetch", "User", key: "pony")
    #expect(wrong.status == 12 && wrong.output.isEmpty)
    #expect(try run("count", "User", key: "pony").status == 12)
    let json = try run("fetch", "User", "--json", key: "pony")
    #expect(json.status == 12 && json.output.contains("\"ok\":false"))
  }

  // MARK: The file and the pipe

  @Test func `no byte is changed, no file is left, also beside a writer`() async throws {
    try await makeBlog()
    let before = try folder.bytes("notes.store")
    _ = try run("fetch", "Status")
    _ = try run("count", "Status", "--immutable")
    #expect(try folder.bytes("notes.store") == before && folder.names == ["notes.store"])
    let store = try await openMicroblog(url, key: Self.key)
    let output = try await store.write { context in
      context.insert(User.self) { $0.name = "New" }
      try context.save()
      return try run("count", "User").output
    }
    #expect(output == "4\n")
    #expect(try run("count", "User").output == "5\n")
    store.close()
  }

  @Test func `a reader that has enough ends the command without a word`() async throws {
    try await makeThings { context in
      for number in 0..<20_000 { try context.insert(entity: "Thing") { $0["number"] = number } }
    }
    for format in ["table", "json", "csv", "lines"] {
      let result = try shell(
        "set -o pipefail; \"$TOOL\" fetch \"$STORE\" Thing --no-input --format \(format) | head -n 2")
      #expect(result.status == 0 && result.errors.isEmpty && !result.output.isEmpty, "\(format): \(result)")
    }
    let full = try shell("\"$TOOL\" fetch \"$STORE\" Thing --no-input > /dev/full")
    #expect(full.status == 1 && full.errors.contains("could not be written"), "\(full)")
    #expect(try shell("\"$TOOL\" fetch \"$STORE\" Thing --no-input >&-").status == 1)
    #expect(folder.names == ["notes.store"])
  }

  @Test func `a hundred thousand rows take no more memory than a thousand`() async throws {
    try await makeThings { context in
      for number in 0..<100_000 {
        try context.insert(entity: "Thing") {
          $0["text"] = String(repeating: "text \(number) ", count: 10)
          $0["number"] = number
        }
      }
    }
    func peak(_ words: String) throws -> (kilobytes: Int, lines: Int) {
      // The most memory that a child of the shell has had.
      let result = try shell(
        "python3 -c 'import resource,subprocess,sys; n=subprocess.run(sys.argv[1:],stdout=open(\"\(folder.path("out"))\",\"w\"));"
          + " print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' \"$TOOL\" fetch \"$STORE\" Thing --no-input \(words)"
      )
      let bytes = try folder.bytes("out")
      return (
        try #require(Int(result.output.trimmingCharacters(in: .whitespacesAndNewlines))),
        bytes.count { $0 == 10 }
      )
    }
    for format in ["table", "json", "csv", "lines"] {
      // The last ones: all pages are read for them, and stand in the engine's cache.
      let few = try peak("--format \(format) --limit 1000 --offset 99000")
      let many = try peak("--format \(format)")
      #expect(many.lines >= 100_000, "\(format)")
      // The rows are some 15 MiB.
      #expect(many.kilobytes < few.kilobytes + 6000, "\(format): \(few.kilobytes) and \(many.kilobytes) kB")
    }
  }
}
