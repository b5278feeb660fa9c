// fetch and count with the real binary: rows compared with plain SQL, their order, and invalid arguments.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct FetchCommands {
  let bench: FetchBench

  init() throws { bench = try FetchBench() }

  @Test func `fetch gives the rows of plain SQL, with paths, conditions, orders and windows`() async throws {
    try await bench.makeBlog()
    let found = try bench.run(
      "fetch", "Status", "--columns", "id,text,user.name,user", "--sort", "user.name:desc,createdAt",
      "--where",
      "user != nil AND text CONTAINS 'Status'", "--limit", "5", "--offset", "1", "--format", "json")
    #expect(found.status == 0 && found.errors.isEmpty, "\(found)")
    let expected = try bench.sql(
      """
      SELECT s.id, s.text, u.name, s.user_id FROM "Status" s JOIN "User" u ON u.id = s.user_id
      ORDER BY u.name DESC, s.createdAt, s.id LIMIT 5 OFFSET 1
      """)
    let rows = try bench.objects(found.output)
    #expect(rows.count == 5)
    for (row, plain) in zip(rows, expected) {
      #expect(
        (row["id"] as? Int).map { Int64($0) } == plain[0].int64 && row["text"] as? String == plain[1].string)
      #expect(row["user.name"] as? String == plain[2].string)
      #expect((row["user"] as? Int).map { Int64($0) } == plain[3].int64)
    }
    #expect(try bench.run("count", "Status").output == "10\n")
    #expect(try bench.run("count", "Status", "--where", "user == nil").output == "1\n")
    let json = try bench.run("count", "User", "--json").output
    #expect(json.contains("\"count\":4") && json.contains("\"entity\":\"User\""))
    #expect(try bench.run("fetch", "User", "--limit", "0", "--format", "json").output == "[]\n")
  }

  @Test func `groups and aggregates are those of plain SQL`() async throws {
    try await bench.makeBlog()
    let found = try bench.run(
      "fetch", "Status", "--group-by", "user.name", "--count", "--maximum", "createdAt", "--minimum", "text",
      "--format", "json")
    #expect(found.status == 0 && found.errors.isEmpty, "\(found)")
    let expected = try bench.sql(
      """
      SELECT u.name, count(*), min(s.text), max(s.createdAt) FROM "Status" s LEFT JOIN "User" u
      ON u.id = s.user_id GROUP BY u.name ORDER BY u.name
      """)
    let rows = try bench.objects(found.output)
    #expect(rows.count == expected.count && rows.count > 1)
    for (row, plain) in zip(rows, expected) {
      #expect(row["user.name"] as? String == plain[0].string)
      #expect((row["count"] as? Int).map { Int64($0) } == plain[1].int64)
      #expect(row["minimum(text)"] as? String == plain[2].string && row["maximum(createdAt)"] is String)
    }
    #expect(
      try bench.run("fetch", "Status", "--count", "--where", "user == nil", "--format", "csv").output
        == "count\r\n1\r\n")
    let window = try bench.run(
      "fetch", "Status", "--group-by", "user", "--count", "--sort", "user:desc", "--limit", "2", "--format",
      "csv")
    #expect(window.output.split(separator: "\r\n").count == 3, "\(window)")
    for (line, message) in [
      (["--group-by", "user"], "--group-by needs --count"),
      (["--count", "--columns", "id"], "--columns is for"),
      (["--group-by", "user,user", "--count"], "The column user is requested twice"),
      (["--sum", "id,id"], "The column sum(id) is requested twice"),
      (["--count", "--after", "1"], "--after is for single objects"),
      (["--group-by", "tags", "--count"], "is a to-many"), (["--sum", "text"], "only numbers can be added"),
      (["--group-by", "usr", "--count"], "did you mean \"user\"?"),
      (["--group-by", "user", "--count", "--sort", "text"], "groups can only be sorted by"),
    ] {
      let refused = try bench.run(["fetch", "Status"] + line)
      #expect(refused.status != 0 && refused.errors.contains(message), "\(line): \(refused)")
    }
  }

  @Test func `fetch --after continues after an object, in any order, until all were printed`() async throws {
    try await bench.makeBlog()
    for sort in [
      "", "user", "user:desc,createdAt", "user.name:desc", "text", "createdAt:desc,user.city", "id:desc",
    ] {
      let order = sort.isEmpty ? [] : ["--sort", sort]
      func ids(_ more: [String]) throws -> [String] {
        let found = try bench.run(["fetch", "Status", "--columns", "id", "--format", "csv"] + order + more)
        #expect(found.status == 0, "\(found)")
        return found.output.split(separator: "\r\n").dropFirst().map(String.init)
      }
      let all = try ids([])
      var found = try ids(["--limit", "3"])
      while let last = found.last, found.count < all.count {
        let page = try ids(["--limit", "3", "--after", last])
        guard !page.isEmpty else { break }
        found += page
      }
      #expect(found == all, "\(sort)")
      #expect(try ids(["--after", all[1], "--where", "user != nil"]).allSatisfy { all[2...].contains($0) })
      #expect(try ids(["--after", all[all.count - 1]]).isEmpty)
    }
    let plain = try bench.run("fetch", "Status", "--after", "999")
    #expect(plain.status == 64 && plain.errors.contains("--after 999: no Status has this id"), "\(plain)")
    for format in ["json", "csv", "table", "lines"] {
      let none = try bench.run("fetch", "Status", "--after", "999", "--format", format)
      #expect(none.status == 64 && none.output.isEmpty, "\(none)")
    }
    for (words, message) in [
      (["--after", "x"], "--after takes the id"), (["--after", "-1"], "--after takes the id"),
      (["--after", "1", "--offset", "2"], "--after and --offset exclude each other"),
      (["--after", "1", "--explain"], "--after and --explain exclude each other"),
    ] {
      let refused = try bench.run(["fetch", "Status"] + words)
      #expect(refused.status == 64 && refused.errors.contains(message), "\(words): \(refused)")
    }
  }

  @Test(arguments: ["fetch", "count"])
  func `every example of the help of fetch and count runs as printed`(_ command: String) async throws {
    try await bench.makeBlog()
    let help = try runTool(builtExecutable("store-migrate"), ["help", command]).output
    let examples = help.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { $0.hasPrefix("store-migrate \(command) notes.store ") }
    #expect(examples.count >= 3)
    #expect(examples.contains { $0.contains("'2024-05-01'") }, "no example has a date")
    for example in examples {
      let result = try bench.shell(
        "store-migrate() { \"$TOOL\" \"$@\" --no-input; }; cd \"$(dirname \"$STORE\")\" && \(example)")
      #expect(result.status == 0 && result.errors.isEmpty, "\(example): \(result)")
    }
  }

  @Test func `a date in a condition is written like a date in the output`() async throws {
    try await bench.makeBlog()
    // 2026-05-09T06:13:20.250Z and the seconds after it.
    let first = try bench.run("fetch", "Status", "--columns", "createdAt", "--limit", "1", "--format", "csv")
    let text = try #require(first.output.split(separator: "\r\n").last)
    let all = try bench.sql("SELECT count(*) FROM Status WHERE createdAt = 800000000.25")[0][0].int64 ?? 0
    func count(_ condition: String) throws -> String {
      try bench.run("count", "Status", "--where", condition).output
    }
    #expect(all == 4)
    #expect(try count("createdAt == '\(text)'") == "4\n" && count("createdAt > '\(text)'") == "6\n")
    #expect(try count("createdAt >= '\(text.prefix(10))'") == "10\n")
    #expect(try count("createdAt < '\(text.prefix(10))'") == "0\n")
    let wrong = try bench.run("count", "Status", "--where", "createdAt > 'May'")
    #expect(wrong.status == 64, "\(wrong)")
    #expect(
      wrong.errors.contains(
        "\"May\" is not a date, but Status.createdAt is one; write 2024-05-01 or 2024-05-01T18:30:00Z."))
  }

  @Test func `rows are sorted by id without a sort order, whatever index covers the columns`() async throws {
    try await bench.makeBlog()
    // A covering index by name, which has another order.
    let names = ["Zed", "Ann", "Mia", "Bo"]
    for (index, name) in names.enumerated() {
      _ = try bench.sql("UPDATE User SET name = '\(name)' WHERE id = \(index + 1)")
    }
    #expect(try bench.sql("SELECT name FROM User").compactMap { $0[0].string } == names.sorted())
    for more in [
      ["--columns", "name"], ["--columns", "name", "--where", "name > 'A'"],
      ["--columns", "name", "--limit", "4"],
    ] {
      let found = try bench.run(["fetch", "User", "--format", "csv"] + more)
      #expect(found.output == "name\r\n\(names.joined(separator: "\r\n"))\r\n", "\(more): \(found)")
    }
    let last = try bench.run(
      "fetch", "User", "--columns", "id", "--limit", "2", "--offset", "2", "--format", "csv")
    #expect(last.output == "id\r\n3\r\n4\r\n")
  }

  // MARK: What cannot be

  @Test func `mistyped names, conditions and options are reported, and exit with 64`() async throws {
    try await bench.makeBlog()
    let cases: [([String], String)] = [
      (["fetch", "Statuss"], "no entity \"Statuss\"; did you mean \"Status\"?"),
      (["count", "Statuss"], "did you mean \"Status\"?"),
      (["fetch", "Status", "--columns", "txt"], "Status has no property \"txt\"; did you mean \"text\"?"),
      (["fetch", "Status", "--columns", "user.nam"], "User has no property \"nam\"; did you mean \"name\"?"),
      (["fetch", "Status", "--columns", "tags"], "Status.tags is a to-many"),
      (["fetch", "Status", "--columns", "text.x"], "Status.text is an attribute"),
      (["fetch", "Status", "--columns", "text,text"], "--columns names text twice"),
      (["fetch", "Status", "--sort", "text:down"], "NAME:desc"),
      (["fetch", "Status", "--sort", "txt"], "did you mean \"text\"?"),
      (
        ["fetch", "Status", "--columns", ""],
        "--columns takes a comma-separated list of names, but one name in \"\" is empty."
      ),
      (["fetch", "Status", "--columns=text,,id"], "but one name in \"text,,id\" is empty."),
      (
        ["fetch", "Status", "--sort="],
        "--sort takes a comma-separated list of names, but one name in \"\" is empty."
      ),
      (["fetch", "Status", "--sort", "text, "], "but one name in \"text, \" is empty."),
      (["fetch", "Status", "--sort", ":desc"], "NAME:desc with commas, not \":desc\"."),
      (["fetch", "Status", "--limit", "many"], "--limit takes a number"),
      (["fetch", "Status", "--format", "cvs"], "Did you mean \"csv\"?"),
      (["fetch", "Status", "--format", "csv", "--json"], "exclude each other"),
      (["fetch", "Status", "--where", "text == 'a' AN x"], "\n  text == 'a' AN x\n              ^"),
      (["fetch", "Status", "--where", "txt == 'a'"], "did you mean \"text\"?"),
    ]
    for (words, message) in cases {
      let result = try bench.run(words)
      let said = result.errors + result.output
      #expect(result.status == 64 && said.contains(message), "\(words): \(result)")
    }
  }

  @Test func `a wrong key, a foreign database and a missing file have the usual exit codes`() async throws {
    #expect(try bench.run("fetch", "User").status == 10)
    _ = try Connection.create(bench.url.path, key: FetchBench.key) {
      try $0.executeScript("CREATE TABLE t(x)")
    }
    let foreign = try bench.run("fetch", "User")
    #expect(foreign.status == 12 && foreign.errors.contains("not a store of ObjectVault"), "\(foreign)")
    let wrong = try bench.run("fetch", "User", key: Template.newKey)
    #expect(wrong.status == 12 && wrong.output.isEmpty)
    #expect(try bench.run("count", "User", key: Template.newKey).status == 12)
    let json = try bench.run("fetch", "User", "--json", key: Template.newKey)
    #expect(json.status == 12 && json.output.contains("\"ok\":false"))
  }
}
