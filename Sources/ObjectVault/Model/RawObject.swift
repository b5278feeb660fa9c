// Views, triggers and indexes that a person wrote in SQL. They are part of the model, as entities are, so
// every file of the model has them. RawStatement resolves the names in them;
// MigrationCompiler+RawObjects decides when they are created again.

/// A view, a trigger or an index that you write in SQL.
///
/// Names of the model have a dollar sign, as in the data blocks of steps: `$User` is the table of an
/// entity, `$User.name` a column of it. Renaming an entity or a property changes its name in the SQL,
/// too. A migration step declares a raw object by `create raw view`, `create raw trigger` or
/// `create raw index`; a program that declares its model in Swift also declares it in its ``Schema``:
///
/// ```swift
/// let schema = Schema {
///   Entity(User.self)
///   RawObject.view(
///     "Adults", sql: "SELECT $User.id FROM $User WHERE $User.age >= 18")
///   RawObject.index("userByLowerName", sql: "ON $User (lower($User.name))")
/// }
/// ```
public struct RawObject: Sendable {
  /// The kind of a raw object.
  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    /// A named query.
    case view
    /// Statements that run whenever rows of a table are written.
    case trigger
    /// An index over expressions, or over some of the rows.
    case index
  }

  /// The kind of the object.
  public let kind: Kind
  /// The object's name in the file.
  public let name: String
  /// Whether the object is a unique index.
  public let isUnique: Bool
  /// The SQL after the name, as it was written but without comments and spaces around lines: a query;
  /// `AFTER UPDATE ON $User BEGIN … END`; `ON $User (lower($User.name))`.
  public let sql: String
  /// ``sql`` on one line. `==` compares this line, and not ``sql``.
  let line: String

  /// Creates a raw object whose kind or SQL is only known at run time.
  /// - Parameters:
  ///   - kind: The kind of the object.
  ///   - name: The object's name in the file.
  ///   - isUnique: Whether it is a unique index.
  ///   - sql: The SQL after the name: see ``sql``.
  public init(_ kind: Kind, _ name: String, isUnique: Bool = false, sql: String) {
    (self.kind, self.name, self.isUnique) = (kind, name, isUnique && kind == .index)
    self.sql = SQLBody.text(of: sql)
    line = Self.line(self.sql)
  }

  /// Returns a view.
  /// - Parameters:
  ///   - name: The view's name in the file.
  ///   - query: The query, which begins with `SELECT`, `WITH` or `VALUES`.
  public static func view(_ name: String, sql query: String) -> RawObject {
    RawObject(.view, name, sql: query)
  }

  /// Returns a trigger.
  /// - Parameters:
  ///   - name: The trigger's name in the file.
  ///   - sql: When it runs and what it does: `AFTER UPDATE ON $User BEGIN … END`. It must not insert rows
  ///     of entities: the library assigns their ids, which must never have been used before.
  public static func trigger(_ name: String, sql: String) -> RawObject {
    RawObject(.trigger, name, sql: sql)
  }

  /// Returns an index that ``Entity/index(_:comparing:)`` cannot express.
  /// - Parameters:
  ///   - name: The index's name in the file.
  ///   - unique: Whether the index is unique.
  ///   - sql: The table and the expressions: `ON $User (lower($User.name)) WHERE $User.name <> ''`.
  public static func index(_ name: String, unique: Bool = false, sql: String) -> RawObject {
    RawObject(.index, name, isUnique: unique, sql: sql)
  }

  /// The kind and the name, such as `view Adults`.
  package var title: String { "\(kind.rawValue) \(name)" }

  // MARK: The object's SQL

  /// Returns the SQL with each run of spaces outside of quoted text replaced by one space, and without
  /// semicolons at the end.
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
    // People end a statement with a semicolon.
    while line.hasSuffix(";") || line.hasSuffix(" ") { line.removeLast() }
    return line
  }

  /// The fault of the SQL, independent of the model; nil when a check without an engine finds none.
  var problem: String? {
    var scanner = SQLScanner(line)
    var words: [String] = []
    var isSeveral = false
    while let piece = scanner.next() {
      let text = scanner.text(piece.range)
      guard piece.isClosed else { return "a string, a quoted name or a comment in its SQL is not closed" }
      if piece.kind == .word { words.append(text.lowercased()) }
      if piece.kind == .other, text == ";" { isSeveral = true }
    }
    let (first, known): (String, Set<String>) = (words.first ?? "", Self.openings[kind] ?? [])
    guard known.contains(first), line.lowercased().hasPrefix(first) else {
      return
        "after the name, its SQL must begin with "
        + "\(known.sorted().map { $0.uppercased() }.joined(separator: " or "))"
    }
    guard kind == .trigger else { return isSeveral ? "it must be one statement, but has a semicolon" : nil }
    guard words.contains("begin"), words.last == "end" else {
      return "its statements must be inside BEGIN … END"
    }
    return nil
  }

  private static let openings: [Kind: Set<String>] = [
    .view: ["select", "with", "values"], .index: ["on"],
    .trigger: ["before", "after", "instead", "delete", "insert", "update"],
  ]

  /// The event that the trigger runs on: `insert`, `update` or `delete`; nil for other kinds.
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

// Two raw objects are equal when they mean the same, wherever their lines break.
extension RawObject: Hashable {
  /// Returns whether two raw objects are equal in meaning.
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

  /// Decodes what ``encode(to:)`` writes.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      try values.decode(Kind.self, forKey: .kind), try values.decode(String.self, forKey: .name),
      isUnique: try values.decode(Bool.self, forKey: .isUnique),
      sql: try values.decode(String.self, forKey: .sql))
  }

  /// Encodes the meaning: the SQL on one line.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    try values.encode(kind, forKey: .kind)
    try values.encode(name, forKey: .name)
    try values.encode(isUnique, forKey: .isUnique)
    try values.encode(line, forKey: .sql)
  }
}

extension RawObject: CustomStringConvertible {
  /// The declaration of the object in a migration file.
  public var description: String { "\(heading) {\n\(sql)\n}" }

  /// The declaration without its SQL.
  var heading: String { "raw \(title)\(isUnique ? " unique" : "")" }
}
