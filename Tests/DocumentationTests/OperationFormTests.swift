// The forms on the page about the migration file: the parser reads each form in each of its variants, and it
// reads no operation and no word without a form.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.pure)) struct OperationForms {
  private static let lines = Result { try MigrationPage.lines() }

  /// The forms of the page by their headings: one line each, except for those with a block.
  private static func forms() throws -> [(heading: String, text: String)] {
    let lines = try lines.get()
    return CodeBlock.blocks(ofPage: lines.joined(separator: "\n"), file: MigrationPage.path)
      .filter { $0.language == "form" }.flatMap { block -> [(heading: String, text: String)] in
        let heading = lines[..<(block.line - 1)].last { $0.hasPrefix("### ") }?.dropFirst(4) ?? ""
        return joined(block.lines).map { (String(heading), $0) }
      }
  }

  /// Joins continued lines with those before them, and keeps the lines of a block together.
  private static func joined(_ lines: [String]) -> [String] {
    lines.reduce(into: [String]()) { texts, line in
      let words = line.drop { $0 == " " }
      if words.hasPrefix("["), let last = texts.popLast() {
        texts.append("\(last) \(words)")
      } else if words.count < line.count || line == "}", let last = texts.popLast() {
        texts.append("\(last)\n\(line)")
      } else {
        texts.append(line)
      }
    }
  }

  /// Every variant of a form: without its optional parts, with all of them, with each part alone, and with
  /// each of the alternative words.
  static func ways(_ form: String) -> [String] {
    let optional = form.ranges(of: #/\s*\[[^\]]+\]/#)
    func kept(_ isKept: (Int) -> Bool) -> String {
      var (text, end) = ("", form.startIndex)
      for (index, range) in optional.enumerated() {
        text += form[end..<range.lowerBound]
        if isKept(index) { text += form[range].replacing(#/[\[\]]/#, with: "") }
        end = range.upperBound
      }
      return text + form[end...]
    }
    let ways =
      [kept { _ in false }, kept { _ in true }] + optional.indices.map { only in kept { $0 == only } }
    return ways.flatMap(alternatives).flatMap { [$0.replacing(", …", with: ""), repeated($0)] }.map(filled)
  }

  /// The samples that replace the placeholders.
  private static let samples = [
    "STATEMENTS": "DELETE FROM $Team", "QUERY": "SELECT 1", "EXPRESSION": "$User.age", "TEXT": "why",
    "TYPE": "int", "VALUE": "7", "ID": "7", "N": "7", "NAME": "tidy",
  ]

  private static func alternatives(_ text: String) -> [String] {
    guard let match = text.firstMatch(of: #/\w+(\|\w+)+/#) else { return [text] }
    return match.0.split(separator: "|").flatMap { word in
      alternatives(text.replacingCharacters(in: match.range, with: word))
    }
  }

  private static func repeated(_ text: String) -> String {
    text.replacing("E.a -> F.b, …", with: "E.a -> F.b, E.c -> F.d").replacing("E.a, …", with: "E.a, E.c")
      .replacing("F.b, …", with: "F.b, F.d").replacing("(a, …)", with: "(a, c)")
  }

  private static func filled(_ text: String) -> String {
    var text = text
    if text.hasPrefix("create raw trigger") {
      text.replace("STATEMENTS", with: "AFTER DELETE ON $Team BEGIN SELECT 1; END;")
    }
    if text.hasPrefix("create raw index") { text.replace("EXPRESSION", with: "ON $User ($User.age)") }
    return text.replacing(#/\b[A-Z]+\b/#) { samples[String($0.0)] ?? String($0.0) }
  }

  @Test func `each form of the page is parsed in each variant as the operation of its heading`() throws {
    let forms = try Self.forms()
    #expect(forms.count >= MigrationOperation.beginnings.count)
    for (heading, form) in forms {
      for way in Self.ways(form) {
        let text = "format: 1\n[up]\n\(way)\n"
        let step = try MigrationStep(number: 1, name: "x", text: text, file: "\(way) of \(form)")
        let headings = step.operations.map(MigrationPage.heading)
        #expect(headings.contains(heading), "\(way) is \(headings), and stands below \(heading)")
      }
    }
  }

  @Test func `each operation of the parser has a form on the page, and so has each heading`() throws {
    let forms = try Self.forms()
    #expect(Set(forms.map(\.heading)) == Set(MigrationPage.headings))
    for beginning in MigrationOperation.beginnings {
      let words = beginning.split(separator: " ")
      let isThere = forms.contains { form in
        let others = form.text.split(whereSeparator: \.isWhitespace)
        return others.count >= words.count
          && zip(words, others).allSatisfy { $0 == $1 || $0 == "Entity.property" && $1.contains(".") }
      }
      #expect(isThere, "\(beginning) … has no form on the page")
    }
  }

  @Test func `each word that the parser accepts is in a form or in the head`() throws {
    let page = try Self.lines.get()
    let head = page.filter { $0.hasPrefix("| `") }
    let words = Set(
      (try Self.forms().map(\.text) + head).flatMap {
        $0.split { !$0.isLetter && $0 != "-" }.map(String.init)
      })
    let folder = "Sources/ObjectVault/Migration"
    let files =
      PackageFiles.files(in: "\(folder)/Operations", suffix: ".swift") + [
        "\(folder)/Language/MigrationLine+Operations.swift"
      ]
    var taken: Set<String> = []
    for file in files {
      let text = try PackageFiles.text(file)
      taken.formUnion(
        text.matches(of: #/(?:take|expect|OperationForm)\((?:block: )?"([a-z]+)"/#).map { String($0.1) })
      taken.formUnion(
        text.matches(of: #/case "([a-z]+)"(?:, "([a-z]+)")?(?:: | where )/#).map { String($0.1) })
    }
    #expect(taken.count > 40)
    #expect(taken.subtracting(words).isEmpty, "\(taken.subtracting(words).sorted())")
    for key in MigrationStep.headKeys {
      #expect(head.contains { $0.hasPrefix("| `\(key): ") }, "\(key): has no line in the table of the head")
    }
  }

  @Test func `a form is expanded to each of its variants`() {
    #expect(
      Self.ways("set delete rule of E.r to nullify|deny").sorted()
        == [String](repeating: "set delete rule of E.r to deny", count: 4)
        + [String](repeating: "set delete rule of E.r to nullify", count: 4))
    #expect(
      Set(Self.ways("add index E(a, …) [unique]")) == [
        "add index E(a)", "add index E(a, c)", "add index E(a) unique", "add index E(a, c) unique",
      ])
  }

  @Test func `each step that a page shows is parsed, and those of other systems compile to SQL`() throws {
    let pages = ["ObjectVault", "VaultAuthoring", "StoreMigrateKit", "ObjectVaultTesting"].flatMap {
      PackageFiles.files(in: "Sources/\($0)/Documentation.docc", suffix: ".md")
    }
    var (count, converted) = (0, 0)
    let base = try MigrationStep(
      number: 1, name: "base",
      text: """
        format: 1
        [up]
        create entity Person {
            attribute first string
            attribute last string
            attribute town string optional
        }
        create entity Note {
            attribute body string
            attribute created date optional
        }
        create entity User {
            attribute name string
        }
        """)
    for page in pages {
      for block in CodeBlock.blocks(ofPage: try PackageFiles.text(page), file: page)
      where block.language == "text" && block.lines.prefix(3).contains("format: 1") {
        count += 1
        // A file that replaces steps requires their number.
        guard !block.code.contains("replaces:") else { continue }
        let step = try MigrationStep(
          number: 2, name: "step", text: block.code, file: "\(page):\(block.line)")
        guard page.contains("coming-from") else { continue }
        converted += 1
        for version in ["3.15.2", "3.46.1"] {
          let engine = try #require(Engine(sqliteVersion: version))
          #expect(try !MigrationSet([base, step]).sql(ofStep: 2, on: engine).isEmpty)
        }
      }
    }
    #expect(count > 8 && converted == 5)
  }

  @Test func `each rule of lint is in the table of the page about migrations`() throws {
    let page = try PackageFiles.text("Sources/ObjectVault/Documentation.docc/migrations.md")
    let codes = page.matches(of: #/(?m)^\| (L\d{3}(?:, L\d{3})*) \|/#).flatMap {
      $0.1.split(separator: ", ").map(String.init)
    }
    #expect(codes == MigrationFinding.Rule.allCases.map(\.rawValue))
  }
}
