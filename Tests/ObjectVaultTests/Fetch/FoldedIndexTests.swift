// Indexes that ignore case or diacritics: the fetches that use them find the same as without an index.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

/// A text in four attributes, three of which have an index that ignores something.
final class Heading: ManagedObject {
  @Attribute var plain: String?
  @Attribute(.indexed(.caseInsensitive)) var byCase: String?
  @Attribute(.indexed(.diacriticInsensitive)) var byMarks: String?
  @Attribute(.indexed([.caseInsensitive, .diacriticInsensitive])) var byBoth: String?
  @Attribute var kind: Int = 0
  @Attribute var size: Int = 0
}

private final class Volume: ManagedObject {
  @ToMany(inverse: \Chapter.volume) var chapters: Set<Chapter>
}

private final class Chapter: ManagedObject {
  @Attribute(.indexed(.caseInsensitive)) var title: String
  @ToOne var volume: Volume?
}

@Suite struct FoldedIndexSearches {
  static let schema = Schema { Entity(Heading.self).index(\.kind, \.plain, comparing: .caseInsensitive) }
  /// The attribute whose index serves some options.
  static let indexed: [(letters: String, options: StringOptions, name: String)] = [
    ("c", .caseInsensitive, "byCase"), ("d", .diacriticInsensitive, "byMarks"),
    ("cd", [.caseInsensitive, .diacriticInsensitive], "byBoth"),
  ]
  /// Letters that are folded to others, to several or to none; few, so that many texts are equal.
  private static let letters: [Unicode.Scalar] = [
    "a", "A", "b", "k", "K", "\u{212A}", "\u{301}", "e", "E", "\u{E9}", "\u{C9}", "\u{DF}", "\u{1E9E}", "s",
    "\u{17F}",
    "\u{130}", "i", "I", "z", "[", "\u{1112}", "\u{1161}", "\u{D55C}", "\u{D7FF}", "\u{10FFFF}", "\u{3C2}",
    "\u{3A3}", "%", "_",
  ]

  private static func text(_ random: inout SeededGenerator, atMost count: Int) -> String {
    var scalars = String.UnicodeScalarView()
    for _ in 0..<Int.random(in: 0...count, using: &random) {
      scalars.append(letters[Int.random(in: letters.indices, using: &random)])
    }
    return String(scalars)
  }

  private static func fill(_ store: Store, _ random: inout SeededGenerator, rows: Int) async throws {
    var texts: [String?] = []
    for _ in 0..<rows {
      texts.append(Int.random(in: 0..<10, using: &random) == 0 ? nil : text(&random, atMost: 5))
    }
    try await store.write { [texts] context in
      for (number, text) in texts.enumerated() {
        _ = context.insert(Heading.self) { heading in
          (heading.plain, heading.byCase, heading.byMarks, heading.byBoth) = (text, text, text, text)
          heading.kind = number % 3
        }
      }
    }
  }

  @Test func `conditions and sorts find the same with an index as without one`() async throws {
    let seed = UInt64(ProcessInfo.processInfo.environment["VAULT_SEED"].flatMap { Int($0) } ?? 4711)
    var random = SeededGenerator(seed: seed)
    let temporary = try await TemporaryStore(Self.schema)
    try await Self.fill(temporary.store, &random, rows: isTorture ? 2000 : 400)
    let context = temporary.store.makeContext()
    let operators = [
      "==", "!=", "<", "<=", ">", ">=", "BEGINSWITH", "CONTAINS", "ENDSWITH", "LIKE", "IN", "NOT IN",
    ]
    for _ in 0..<(isTorture ? 20_000 : 400) {
      let (letters, options, name) = Self.indexed[Int.random(in: 0..<3, using: &random)]
      let word = operators[Int.random(in: operators.indices, using: &random)]
      let isList = word.hasSuffix("IN")
      let texts = (0..<Int.random(in: 1...4, using: &random)).map { _ in Self.text(&random, atMost: 3) }
      func ids(_ name: String) throws -> [Heading] {
        let fetch = context.fetch(Heading.self)
        let found =
          try isList
          ? fetch.where(word == "IN" ? "\(name) IN[\(letters)] %@" : "NOT \(name) IN[\(letters)] %@", texts)
          : fetch.where("\(name) \(word)[\(letters)] %@", texts[0])
        return try found.sorted(byPath: name, comparing: options).all()
      }
      let found = try ids(name)
      let expected = try ids("plain")
      let shown = "\(name) \(word)[\(letters)] \(texts.map { Array($0.unicodeScalars) })"
      #expect(found == expected, "seed \(seed): \(shown)")
    }
  }

  @Test func `a page of a folded order, and the pages after it, are those of the whole list`() async throws {
    var random = SeededGenerator(seed: 11)
    let temporary = try await TemporaryStore(Self.schema)
    try await Self.fill(temporary.store, &random, rows: 120)
    let context = temporary.store.makeContext()
    for order in [SortOrder.forward, .reverse] {
      let fetch = context.fetch(Heading.self).sorted(by: \.byCase, order, comparing: .caseInsensitive)
      var (found, cursor): ([Heading], PageCursor<Heading>?) = ([], nil)
      repeat {
        let page = try fetch.page(size: 7, after: cursor)
        found += page.objects
        cursor = page.next
      } while cursor != nil
      let whole = try fetch.all()
      #expect(found == whole && found.count == 120)
    }
  }

  @Test func `the index serves equality, beginnings, lists, ranges, sorts and pages`() async throws {
    var random = SeededGenerator(seed: 12)
    let temporary = try await TemporaryStore(Self.schema)
    try await Self.fill(temporary.store, &random, rows: 3000)
    let context = temporary.store.makeContext()
    func uses(_ index: String, _ fetch: Fetch<Heading>) throws {
      let plan = try fetch.explain()
      #expect(plan.steps.contains { $0.index == index && $0.kind == .search }, "\(plan)")
      #expect(!plan.warnings.contains { $0.kind == .sort }, "\(plan)")
    }
    let all = context.fetch(Heading.self)
    for (letters, options, name) in Self.indexed {
      let index = "ix\(letters)_Heading_\(name)"
      try uses(index, all.where("\(name) ==[\(letters)] 'Ab'"))
      try uses(index, all.where("\(name) BEGINSWITH[\(letters)] 'Ab'"))
      try uses(index, all.where("\(name) IN[\(letters)] {'Ab', 'ak'}"))
      try uses(index, all.where("\(name) IN[\(letters)] %@", (0..<200).map { "k\($0)" }))
      try uses(
        index, all.where("\(name) >[\(letters)] 'z'").sorted(byPath: name, comparing: options).limit(5))
      let sorted = try all.sorted(byPath: name, comparing: options).limit(5).explain()
      #expect(sorted.steps.contains { $0.index == index } && sorted.warnings.isEmpty, "\(sorted)")
      // The other indexes, and comparisons without options, do not serve.
      let exact = try all.where("\(name) == 'Ab'").explain()
      #expect(exact.warnings.map(\.kind) == [.fullScan], "\(exact)")
    }
    try uses("ixc_Heading_kind_plain", all.where("kind == 1 AND plain BEGINSWITH[c] 'A'"))
    try uses(
      "ixc_Heading_kind_plain",
      all.where("kind == 1").sorted(by: \.plain, comparing: .caseInsensitive).limit(5))
  }

  @Test func `the index that a warning proposes is the one that the schema then has`() async throws {
    var random = SeededGenerator(seed: 13)
    let temporary = try await TemporaryStore(Self.schema)
    try await Self.fill(temporary.store, &random, rows: 1500)
    let plan = try temporary.store.makeContext().fetch(Heading.self).where("byBoth ==[c] 'a'").explain()
    let index = try #require(plan.warnings.first?.index)
    #expect(index.schemaLine == "@Attribute(.indexed(.caseInsensitive)) var byBoth")
    #expect(index.migrationLine == "add index Heading(byBoth) ignoring case")
    // Only an index with a String can ignore something.
    let other = try temporary.store.makeContext().fetch(Heading.self)
      .where("size > 5 AND byBoth BEGINSWITH[c] 'a'").explain()
    #expect(
      other.warnings.compactMap(\.index).allSatisfy { $0.properties != ["size"] || $0.comparing.isEmpty })
  }

  @Test func `members are found by the index, and it is one of the schema's proposals`() async throws {
    let former = Schema { Entity(Heading.self) }
    #expect(
      SchemaDifference.operations(from: former, to: Self.schema).map(\.description)
        == ["add index Heading(kind, plain) ignoring case"])
    #expect(
      SchemaDifference.operations(from: Self.schema, to: former).map(\.description)
        == ["drop index Heading(kind, plain) ignoring case"])
    let copy = try JSONDecoder().decode(Schema.self, from: Data(Self.schema.json.utf8))
    #expect(copy == Self.schema && copy != former)
    let swift = Self.schema.rendered(as: .swift).text
    #expect(swift.contains(".index(\\.kind, \\.plain, comparing: .caseInsensitive)"))
    #expect(swift.contains(".index(\\.byBoth, comparing: [.caseInsensitive, .diacriticInsensitive])"))
    let temporary = try await TemporaryStore(
      Schema {
        Entity(Chapter.self); Entity(Heading.self); Entity(Volume.self)
      })
    let plan = try temporary.store.makeContext().fetch(Volume.self).where("ANY chapters.title ==[c] 'x'")
      .explain()
    #expect(plan.steps.contains { $0.index == "ixc_Chapter_title" }, "\(plan)")
  }

  @Test func `a step that drops the attribute names the index that is in the way`() throws {
    let text = """
      format: 1
      [up]
      create entity Note {
        attribute text string indexed
        index (text) ignoring case
      }
      drop attribute Note.text
      """
    let error = #expect(throws: (any Error).self) {
      let step = try MigrationStep(number: 1, name: "x", text: text, file: "0001_x.migration")
      _ = try MigrationSet([step]).model(at: 1)
    }
    #expect("\(error.map { "\($0)" } ?? "")".contains("the index Note(text) ignoring case uses it"))
  }

  @Test func `an index that another release of Unicode sorted is sorted again when the store opens`()
    async throws
  {
    var random = SeededGenerator(seed: 14)
    let temporary = try await TemporaryStore(Self.schema)
    try await Self.fill(temporary.store, &random, rows: 300)
    try await temporary.store.write { context in _ = context.insert(Heading.self) { $0.byCase = "Wanted" } }
    temporary.store.close()
    func change(_ sql: SQL, reversing: Bool) throws {
      let connection = try Connection.open(temporary.store.url.path, key: testKey)
      defer { connection.close() }
      for name in ["vault_fold_c", "vault_fold_d", "vault_fold_cd"] {
        // Another order, as a release with other foldings would have it.
        try unsafe connection.register(collation: name) { left, right in
          let order = unsafe left.elementsEqual(right) ? 0 : left.lexicographicallyPrecedes(right) ? 1 : -1
          return order
        }
        if reversing { try connection.execute("REINDEX \(written: name)") }
      }
      try connection.execute(sql)
    }
    try change("UPDATE vault_meta SET value = 'older' WHERE key = 'foldVersion'", reversing: true)
    // A store without classes does the same.
    let dynamic = try await Store.open(at: temporary.store.url, key: testKey)
    #expect(try dynamic.makeContext().fetch(entity: "Heading").where("byCase ==[c] 'wanted'").count() == 1)
    dynamic.close()
    try change("UPDATE vault_meta SET value = 'older' WHERE key = 'foldVersion'", reversing: true)
    let again = try await temporary.again()
    defer { again.close() }
    let found = try again.makeContext().fetch(Heading.self).where("byCase ==[c] 'wanted'").count()
    #expect(found == 1)
    #expect(try await again.verify().isEmpty)
  }

  @Test func `a declared index that cannot ignore case is a fault of the schema`() throws {
    func faults(_ index: IndexDescription) -> String {
      let entity = EntityDescription(
        name: "Note",
        attributes: [
          AttributeDescription(name: "text", type: .string), AttributeDescription(name: "size", type: .int),
        ], indexes: [index])
      do {
        try Schema(entities: [entity]).validate()
        return ""
      } catch { return "\(error)" }
    }
    #expect(faults(IndexDescription(properties: ["text"], comparing: .caseInsensitive)).isEmpty)
    #expect(
      faults(IndexDescription(properties: ["size"], comparing: .caseInsensitive))
        .contains("none of its properties is a String"))
    #expect(
      faults(IndexDescription(properties: ["text"], isUnique: true, comparing: .caseInsensitive))
        .contains("a unique index compares texts exactly"))
    #expect(
      faults(IndexDescription(properties: ["text"], comparing: StringOptions(rawValue: 8)))
        .contains("and nothing else"))
  }

  @Test(.enabled(if: cipherShell != nil, "the sqlcipher shell is not installed"))
  func `the shell reads a table with such an index, and is refused when it writes`() async throws {
    let temporary = try await TemporaryStore(Self.schema, key: .passphrase("second horse"))
    try await temporary.store.write { context in
      _ = context.insert(Heading.self) { ($0.plain, $0.byCase, $0.byBoth) = ("x", "x", "x") }
    }
    temporary.store.close()
    let profile = temporary.store.opening.cipher
    func shell(_ sql: String) throws -> ToolResult {
      let pragmas = profile.shellPragmas(major: Engine.current.cipherMajor).joined(separator: "\n")
      return try runTool(
        try #require(cipherShell), [temporary.store.url.path],
        input: "PRAGMA key = 'second horse';\n\(pragmas)\n\(sql);\n")
    }
    for sql in [
      "SELECT byCase FROM Heading NOT INDEXED",
      "SELECT id, plain FROM Heading WHERE byCase = 'x' ORDER BY byMarks",
    ] {
      let read = try shell(sql)
      #expect(
        read.output.split(separator: "\n").last?.hasSuffix("x") == true && read.errors.isEmpty, "\(read)")
    }
    for sql in [
      "UPDATE Heading SET byCase = 'y'", "DELETE FROM Heading WHERE id = 1",
      "INSERT INTO Heading(kind) VALUES (1)",
    ] {
      #expect(try shell(sql).errors.contains("no such collation sequence: vault_fold"))
    }
    let still = try shell("SELECT byCase FROM Heading NOT INDEXED")
    #expect(still.output.split(separator: "\n").last == "x")
  }
}
