// A view, a trigger or an index that somebody wrote in SQL: a part of the model as entities are, so that every file of the
// model has it. What its names stand for is in Schema+RawObjects, when it is made anew in MigrationCompiler+RawObjects.

/// A view, a trigger or an index of one's own, in SQL.
///
/// Names of the model stand behind a dollar sign, as in the data blocks of steps: `$User` is the table of an entity,
/// `$User.name` a column of it. They follow renamings. A step declares it by `create raw view`, and a program that
/// declares its model in Swift says the same in its ``Schema``:
///
/// ```swift
/// let schema = Schema {
///   Entity(User.self)
///   RawObject.view("Adults", "SELECT $User.id FROM $User WHERE $User.age >= 18")
///   RawObject.index("userByLowerName", "ON $User (lower($User.name))")
/// }
/// ```
public struct RawObject: Sendable {
  /// What it is.
  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    /// A query with a name.
    case view
    /// Statements that run whenever rows of a table are written.
    case trigger
    /// An index over expressions, or over some of the rows.
    case index
  }

  /// What it is.
  public let kind: Kind
  /// Its name in the file.
  public let name: String
  /// Whether it is an index that forbids equal rows.
  public let isUnique: Bool
  /// The SQL behind its name, as it was written but for comments and the spaces around lines: a query; `AFTER UPDATE ON
  /// $User BEGIN … END`; `ON $User (lower($User.name))`.
  public let sql: String
  /// The same on one line, which is what counts.
  let line: String

  /// An object of SQL that is known at run time only.
  /// - Parameters:
  ///   - kind: What it is.
  ///   - name: Its name in the file.
  ///   - isUnique: Whether it is an index that forbids equal rows.
  ///   - sql: The SQL behind its name: see ``sql``.
  public init(_ kind: Kind, _ name: String, isUnique: Bool = false, sql: String) {
    (self.kind, self.name, self.isUnique) = (kind, name, isUnique && kind == .index)
    self.sql = SQLBody.text(of: sql)
    line = Self.line(self.sql)
  }

  /// A view.
  /// - Parameters:
  ///   - name: Its name in the file.
  ///   - query: The query, which begins with `SELECT`, `WITH` or `VALUES`.
  public static func view(_ name: String, _ query: String) -> RawObject {
    RawObject(.view, name, sql: query)
  }

  /// A trigger.
  /// - Parameters:
  ///   - name: Its name in the file.
  ///   - sql: When it runs and what it does: `AFTER UPDATE ON $User BEGIN … END`. It may not insert rows of entities, which
  ///     get ids that no object had.
  public static func trigger(_ name: String, _ sql: String) -> RawObject {
    RawObject(.trigger, name, sql: sql)
  }

  /// An index that ``Entity/index(_:)`` has no words for.
  /// - Parameters:
  ///   - name: Its name in the file.
  ///   - unique: Whether it forbids equal rows.
  ///   - sql: What it is over: `ON $User (lower($User.name)) WHERE $User.name <> ''`.
  public static func index(_ name: String, unique: Bool = false, _ sql: String) -> RawObject {
    RawObject(.index, name, isUnique: unique, sql: sql)
  }

  /// The kind and the name, such as `view Adults`.
  package var title: String { "\(kind.rawValue) \(name)" }

  // MARK: Its SQL

  /// Spaces outside of texts, one for as many as there are.
  static func line(_ sql: String) -> String {
    var scanner = SQLScanner(sql)
    var line = ""
    var isGap = false
    while let piece = scanner.next() {
      let text = scanner.text(piece.range)
      if scanner.isSpace(piece) {
        isGap = true
        continue
      }
      if isGap, !line.isEmpty { line += " " }
      line += text
      isGap = false
    }
    // As people end a statement.
    while line.hasSuffix(";") || line.hasSuffix(" ") { line.removeLast() }
    return line
  }

  /// What the text cannot be, whatever the model is; nil where only an engine could tell.
  var problem: String? {
    var scanner = SQLScanner(line)
    var words: [String] = []
    var isSeveral = false
    while let piece = scanner.next() {
      let text = scanner.text(piece.range)
      guard piece.isClosed else { return "a text in its SQL has no end" }
      if piece.kind == .word { words.append(text.lowercased()) }
      if piece.kind == .other, text == ";" { isSeveral = true }
    }
    let (first, known): (String, Set<String>) = (words.first ?? "", Self.openings[kind] ?? [])
    guard known.contains(first), line.lowercased().hasPrefix(first) else {
      return
        "its SQL begins with \(known.sorted().map { $0.uppercased() }.joined(separator: ", ")), behind the name"
    }
    guard kind == .trigger else { return isSeveral ? "it is one statement, and has a semicolon" : nil }
    guard words.contains("begin"), words.last == "end" else { return "what it does stands in BEGIN … END" }
    return nil
  }

  private static let openings: [Kind: Set<String>] = [
    .view: ["select", "with", "values"], .index: ["on"],
    .trigger: ["before", "after", "instead", "delete", "insert", "update"],
  ]

  /// What a trigger waits for: `insert`, `update` or `delete`.
  var event: String? {
    guard kind == .trigger else { return nil }
    var scanner = SQLScanner(line)
    while let piece = scanner.next() {
      let word = scanner.text(piece.range).lowercased()
      if piece.kind == .word, ["insert", "update", "delete"].contains(word) { return word }
    }
    return nil
  }
}

// Two are one when they mean the same, however their lines are broken.
extension RawObject: Hashable {
  /// Equal in meaning.
  public static func == (left: RawObject, right: RawObject) -> Bool {
    left.kind == right.kind && left.name == right.name && left.isUnique == right.isUnique
      && left.line == right.line
  }

  /// Hashes the meaning.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(name)
    hasher.combine(line)
  }
}

extension RawObject: Codable {
  private enum CodingKeys: String, CodingKey { case kind, name, isUnique, sql }

  /// From what ``encode(to:)`` writes.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      try values.decode(Kind.self, forKey: .kind), try values.decode(String.self, forKey: .name),
      isUnique: try values.decode(Bool.self, forKey: .isUnique),
      sql: try values.decode(String.self, forKey: .sql))
  }

  /// Its meaning: the SQL on one line.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    try values.encode(kind, forKey: .kind)
    try values.encode(name, forKey: .name)
    try values.encode(isUnique, forKey: .isUnique)
    try values.encode(line, forKey: .sql)
  }
}

extension RawObject: CustomStringConvertible {
  /// As a migration file declares it.
  public var description: String { "\(heading) {\n\(sql)\n}" }

  /// The same without its SQL.
  var heading: String { "raw \(title)\(isUnique ? " unique" : "")" }
}
