// Unknown names, types that do not convert and violated constraints: each failure names its operation.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct StepFailures {
  let lab: MigrationLab
  init() async throws {
    lab = try await MigrationLab(MigrationOperations.base, fill: MigrationOperations.fill)
  }

  private func failure(_ step: String) async -> (operation: String, reason: String)? {
    do { try await lab.migrate(step) } catch {
      if let stopped = StoppedStep(error), stopped.number == 2 { return (stopped.operation, stopped.reason) }
      Issue.record(error)
    }
    return nil
  }

  // MARK: Names

  @Test(arguments: [
    ("$Post.user.city", "continues after $Post.user"), ("$Post.user.city.x", "continues after $Post.user"),
    ("$User.name.nonsense", "continues after $User.name"), ("$User.id.x", "continues after $User.id"),
    ("$Post.tags.nonsense", "is not a column of the links"),
    ("$Post.tags.Tag.name", "is not a column of the links"),
    ("$User.posts", "has no column here"), ("$User..name", "the model has no property"),
    ("$User.nam", "; did you mean \"$User.name\"?"),
    ("$Usr.name", "; did you mean \"$User\"? A dollar sign by itself is written $$"),
    ("$.name", "the model has no entity"),
  ])
  func `a name that cannot be resolved is an error in data blocks and in expressions alike`(
    _ name: String, _ word: String
  ) async throws {
    for step in [
      "transform sql { UPDATE Post SET text = (SELECT \(name)) }",
      "retype Post.text to string using (SELECT \(name))",
      "require \"x\" { SELECT \(name) }",
    ] {
      let found = try #require(await failure(step))
      #expect(found.reason.contains(word) && step.hasPrefix(found.operation.prefix(9)), "\(found)")
    }
  }

  @Test func `link tables and all-column names are resolved in expressions, too`() async throws {
    try await lab.migrate(
      """
      retype Post.text to int using ((SELECT count(*) FROM $Post.tags WHERE $Post.tags.Post = $Post.id))
      require "all columns" { SELECT count(*) = 4 FROM (SELECT $Post.* FROM $Post) }
      """)
    #expect(try lab.rows("SELECT text FROM Post ORDER BY id") == [[2], [0], [1], [0]])
  }

  // MARK: Missing messages

  @Test func `a require or RAISE without a message is reported with its line and its statement`() async throws
  {
    let required = try #require(
      await failure("make User.city optional\nrequire \" \" {\n  SELECT count(*) = 10\n  FROM $User\n}"))
    let asked = "the requirement \"the query at line 4 is true"
    #expect(
      required.reason.hasPrefix(asked) && required.reason.contains("(SELECT count(*) = 10 FROM $User)"),
      "\(required)")
    let set = try lab.set([MigrationOperations.base, "require \"\" { SELECT 0 }"])
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: set)
    #expect("\(plan.refusals)".contains("the query at line 3 is true"), "\(plan.refusals)")
    let raised = try #require(
      await failure(
        "create raw trigger T { BEFORE UPDATE ON $User BEGIN SELECT RAISE(ABORT, ''); END }\n"
          + "transform sql { UPDATE $User SET $User.city = 'x' }"))
    #expect(
      raised.operation == "transform sql"
        && raised.reason.contains("a trigger called RAISE without a message")
        && raised.reason.contains("SET \"city\" = 'x'") && raised.reason.hasSuffix("at line 4"), "\(raised)")
  }

  // MARK: Types

  static let refused: [(String, String)] = [
    ("int8", "uint16"), ("int8", "uint32"), ("int16", "uint32"), ("int", "int32"), ("uint32", "int32"),
    ("int", "double"), ("double", "string"), ("float", "string"), ("double", "float"), ("date", "string"),
    ("data", "string"), ("string", "json"), ("decimal", "double"),
  ]

  @Test func `retype without an expression is allowed only where the new type has every value`() async throws
  {
    let edges: [(String, [String])] = [
      ("bool", ["0", "1"]), ("int", ["\(Int64.min)", "\(Int64.max)"]), ("int8", ["-128", "127"]),
      ("int16", ["-32768", "32767"]), ("int32", ["\(Int32.min)", "\(Int32.max)"]), ("uint8", ["0", "255"]),
      ("uint16", ["0", "65535"]), ("uint32", ["0", "\(UInt32.max)"]), ("float", ["0.1", "9e999"]),
      ("double", ["0.30000000000000004", "-9e999"]), ("decimal", ["'0.30000000000000004'", "'-5'"]),
      ("string", ["''", "'a'"]), ("data", ["x''", "x'00'"]), ("date", ["0.5", "-3"]),
      ("uuid", ["'0F8FAD5B-D9CB-469F-A165-70867728950E'", "'0F8FAD5B-D9CB-469F-A165-70867728950F'"]),
      ("url", ["'a/b'", "'https://x.org'"]), ("json", ["'3'", "'[]'"]),
    ]
    for to in AttributeType.allCases {
      var (attributes, values, steps): ([String], [[String]], [String]) = ([], [[], []], [])
      for (from, edge) in edges where from != to.rawValue {
        let pair = ["create entity E {\n attribute a \(from)\n}", "retype E.a to \(to.rawValue)"]
        let converts = (try? lab.set(pair).model(at: 2)) != nil
        #expect(
          !converts || !Self.refused.contains { $0 == (from, to.rawValue) }, "\(from) to \(to.rawValue)")
        guard converts else { continue }
        attributes.append("a_\(from)")
        for row in 0...1 { values[row].append(edge[row]) }
        steps.append("retype E.a_\(from) to \(to.rawValue)")
      }
      guard !steps.isEmpty else { continue }
      let members = attributes.map { "attribute \($0) \($0.dropFirst(2))" }.joined(separator: "\n")
      let insert = values.map { "(\($0.joined(separator: ", ")))" }.joined(separator: ", ")
      let other = try await MigrationLab(
        "create entity E {\n\(members)\n}",
        fill: ["INSERT INTO E(\(attributes.joined(separator: ", "))) VALUES \(insert)"])
      let texts =
        "SELECT \(attributes.map { "CAST(\($0) AS TEXT)" }.joined(separator: ", ")) FROM E ORDER BY id"
      let before = try other.rows(texts)
      try await other.migrate(steps.joined(separator: "\n"))
      #expect(try StoreInfo(other.open()).valueFindings(other.open()) == [], "\(to.rawValue)")
      if to != .double { #expect(try other.rows(texts) == before, "\(to.rawValue)") }
    }
  }

  // MARK: The failing operation

  @Test(arguments: [
    (
      "make User.city optional\nset default of User.city to \"x\"\nmake User.age required filling 1\nadd index Post(user) unique",
      "add index Post(user) unique", "more than once"
    ),
    (
      "add index User(age)\nretype User.name to string using ('same')\nmake User.city required filling \"x\"",
      "retype User.name to string using ('same')", "1 value of User(name) occurs more than once"
    ),
    (
      "make User.city required filling \"x\"\nadd attribute User.code string default \"c\" unique\nadd index User(age)",
      "add attribute User.code string unique default \"c\"", "must be unique"
    ),
    (
      "make User.city required filling \"x\"\nadd attribute User.mail string\nrename attribute User.age -> years",
      "add attribute User.mail string", "2 objects would have NULL in User.mail"
    ),
    (
      "make User.city required filling \"x\"\nretype User.age to int using (nullif($User.age, 30))\ndrop index User(name, age)",
      "retype User.age to int using (nullif($User.age, 30))",
      "1 object would have NULL in User.age"
    ),
    (
      "make User.city required filling \"x\"\nretype User.age to int8 using ($User.age * 100)\nadd index Post(text)",
      "retype User.age to int8 using ($User.age * 100)", "are invalid (expected: int8)"
    ),
  ])
  func `a failure names the operation that caused it, even when several run together`(
    _ step: String, _ operation: String, _ word: String
  ) async throws {
    let found = try #require(await failure(step))
    #expect(found.operation == operation && found.reason.contains(word), "\(found)")
  }

  @Test func `too many properties are reported with the first one beyond the limit, and the limit`()
    async throws
  {
    let user = try lab.set([MigrationOperations.base]).model(at: 1).entity(named: "User")
    let count = try #require(user.map { $0.attributes.count + $0.relationships.count })
    let step = (1...600).map { "add attribute User.p\($0) int optional" }.joined(separator: "\n")
    let found = try #require(await failure(step))
    #expect(found.operation == "add attribute User.p\(513 - count) int optional")
    #expect(
      found.reason.contains("User has \(600 + count) properties; at most 512 are allowed"), "\(found.reason)")
  }
}
