// The page about the migration file: the SQL, the rollbacks and the losses that it shows are those of the
// compiler.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.pure)) struct MigrationPage {
  static let path = "Sources/ObjectVault/Documentation.docc/the-migration-file.md"
  static let engines = [("SQLCipher 3", "3.15.2"), ("SQLCipher 4", "3.46.1")]

  /// An example of the page: the operations, and the block with their SQL below them.
  struct Example {
    let heading: String
    let operations: String
    /// The lines of the page, from the fence of the operations to the end of the generated block.
    let lines: Range<Int>
  }

  static func lines() throws -> [String] {
    try PackageFiles.text(path).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  /// The examples below headings of their own, and the model that all of them start from.
  private static func examples(_ lines: [String]) throws -> (model: String, examples: [Example]) {
    var (heading, model): (String?, String) = (nil, "")
    var examples: [Example] = []
    for block in CodeBlock.blocks(ofPage: lines.joined(separator: "\n"), file: path)
    where block.language == "text" {
      let fence = block.line - 2
      heading = lines[..<fence].last { $0.hasPrefix("#") }
      guard let heading, heading.hasPrefix("### ") else {
        model = block.code
        continue
      }
      let end = fence + 1 + block.lines.count
      var made = end
      if lines.dropFirst(end + 1).prefix(2) == ["", "```sql"],
        let close = lines[(end + 3)...].firstIndex(of: "```")
      {
        made = close
      }
      examples.append(
        Example(
          heading: String(heading.dropFirst(4)), operations: block.code, lines: fence..<made + 1))
    }
    return (model, examples)
  }

  /// The generated text below an example.
  private static func made(_ example: Example, _ model: String) throws -> String {
    let head = "format: 1\n[up]\n"
    let set = try MigrationSet([
      MigrationStep(number: 1, name: "first", text: head + model, file: "0001_first.migration"),
      MigrationStep(
        number: 2, name: "second", text: head + example.operations, file: "0002_second.migration"),
    ])
    let statements = try engines.map { name, version in
      let engine = try #require(Engine(sqliteVersion: version))
      // The page describes these pragmas once.
      let sql = try set.sql(ofStep: 2, on: engine).filter { !$0.hasPrefix("PRAGMA legacy_alter_table") }
      return (name, (sql.isEmpty ? ["-- nothing to do"] : sql).map(wrapped).joined(separator: "\n"))
    }
    var text = ""
    if statements.allSatisfy({ $0.1 == statements[0].1 }) {
      text = "-- both engines\n\(statements[0].1)\n"
    } else {
      for (name, sql) in statements { text += "-- \(name)\n\(sql)\n" }
    }
    switch try set.steps[1].rollback(from: set.model(at: 1)) {
    case .operations(let operations):
      let back = operations.isEmpty ? "nothing to do" : operations.map(\.summary).joined(separator: "; ")
      text += wrapped("-- back: \(back)", indent: "--   ")
    case .none(let reason): text += wrapped("-- no rollback: \(reason)", indent: "--   ")
    }
    let losses = try set.losses(ofStep: 2)
    if !losses.isEmpty {
      text += "\n" + wrapped("-- loses \(losses.joined(separator: ", "))", indent: "--   ")
    }
    return text
  }

  /// Wraps a text into lines that a page shows without scrolling.
  private static func wrapped(_ text: String) -> String { wrapped(text, indent: "  ") }

  private static func wrapped(_ text: String, indent: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      var lines = [""]
      for word in line.split(separator: " ", omittingEmptySubsequences: false) {
        let last = lines.count - 1
        if lines[last].isEmpty || lines[last].count + 1 + word.count <= Snippets.widestLine {
          lines[last] += (lines[last].isEmpty && last == 0 ? "" : lines[last] == indent ? "" : " ") + word
        } else {
          lines.append(indent + word)
        }
      }
      return lines.joined(separator: "\n")
    }.joined(separator: "\n")
  }

  @Test func `the SQL, the rollbacks and the losses on the page equal the compiler's`() throws {
    var lines = try Self.lines()
    let (model, examples) = try Self.examples(lines)
    #expect(examples.count > 20)
    let isWriting = Golden.isWriting
    for example in examples.reversed() {
      let made =
        ["```text"] + example.operations.split(separator: "\n").map(String.init) + ["```", "", "```sql"]
        + (try Self.made(example, model)).split(separator: "\n").map(String.init) + ["```"]
      let kept = Array(lines[example.lines])
      if isWriting {
        lines.replaceSubrange(example.lines, with: made)
      } else {
        #expect(kept == made, "\(example.heading): run make golden and review the difference")
      }
    }
    guard isWriting else { return }
    try Data(lines.joined(separator: "\n").utf8).write(to: packageRoot.appendingPathComponent(Self.path))
  }

  @Test func `each operation has a heading on the page with an example`() throws {
    let (model, examples) = try Self.examples(Self.lines())
    var found: Set<String> = []
    for example in examples {
      let step = try MigrationStep(
        number: 1, name: "x", text: "format: 1\n[up]\n\(example.operations)", file: "0001_x.migration")
      let headings = step.operations.map(Self.heading)
      #expect(headings.contains(example.heading), "\(example.heading) shows \(headings)")
      found.formUnion(headings)
    }
    #expect(!model.isEmpty)
    let all = Set(examples.map(\.heading))
    #expect(found.subtracting(all).isEmpty && all == Set(Self.headings))
  }

  /// The headings, in the order of the page. A heading that an operation has and the page lacks fails the
  /// test above.
  static let headings = [
    "create entity", "drop entity", "rename entity", "set parent", "set history", "add attribute",
    "drop attribute",
    "rename attribute",
    "retype", "retype using swift", "move attribute", "merge entity", "make entity a relationship",
    "make relationship an entity", "transform swift", "make required", "make optional", "make lazy",
    "make eager", "set default",
    "add relationship", "drop relationship",
    "rename relationship", "set delete rule", "make many", "make one", "make ordered", "make unordered",
    "add index", "drop index",
    "create raw", "drop raw", "transform sql", "seed", "require",
  ]

  // Without a default: the compiler points here when an operation is added.
  static func heading(_ operation: MigrationOperation) -> String {
    switch operation {
    case .createEntity: "create entity"
    case .dropEntity: "drop entity"
    case .renameEntity: "rename entity"
    case .setParent: "set parent"
    case .setHistory: "set history"
    case .addAttribute: "add attribute"
    case .dropAttribute: "drop attribute"
    case .renameAttribute: "rename attribute"
    case .retype: "retype"
    case .retypeBySwift: "retype using swift"
    case .moveAttributes: "move attribute"
    case .mergeEntities: "merge entity"
    case .makeEntityRelationship: "make entity a relationship"
    case .makeRelationshipEntity: "make relationship an entity"
    case .transformSwift: "transform swift"
    case .makeRequired: "make required"
    case .makeOptional: "make optional"
    case .setLazy(_, _, let isLazy): isLazy ? "make lazy" : "make eager"
    case .setDefault: "set default"
    case .addRelationship: "add relationship"
    case .dropRelationship: "drop relationship"
    case .renameRelationship: "rename relationship"
    case .setDeleteRule: "set delete rule"
    case .makeMany: "make many"
    case .makeOne: "make one"
    case .makeOrdered: "make ordered"
    case .makeUnordered: "make unordered"
    case .addIndex: "add index"
    case .dropIndex: "drop index"
    case .createRawObject: "create raw"
    case .dropRawObject: "drop raw"
    case .transform: "transform sql"
    case .seed: "seed"
    case .require: "require"
    }
  }
}
