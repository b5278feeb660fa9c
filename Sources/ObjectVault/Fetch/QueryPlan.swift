// The plan of a fetch: what the engine does for it, and what would make it faster. QueryPlan+Reading makes
// it, and MissingIndexSearch finds the indexes.

/// What the engine does for a fetch, with warnings about what makes it slow: see ``Fetch/explain()``.
///
/// ```swift
/// let plan = try context.fetch(Item.self).where("kind == 'photo'")
///   .explain()
/// let lines = plan.warnings.compactMap(\.index?.schemaLine)
/// ```
///
/// Its `description` is for people: the statement, the steps and the warnings. It contains the values of
/// the statement, which may be secret.
public struct QueryPlan: Sendable, Hashable {
  /// The number of rows from which a table counts as large. There are no warnings about smaller tables,
  /// because any plan is fast there.
  public static let largeTableRows = 1000

  /// The statement, with its values.
  public let statement: CompiledFetch
  /// What the engine does, in its order.
  public let steps: [Step]
  /// What makes the fetch slow in a large table; empty if nothing does.
  public let warnings: [Warning]

  /// One step of the engine.
  public struct Step: Sendable, Hashable {
    /// The kinds of steps.
    public enum Kind: String, Sendable, Hashable, Codable {
      /// All rows of a table, or all entries of an index, are read.
      case scan
      /// Rows are found by an index, or by their ids.
      case search
      /// Rows are sorted.
      case sort
      /// A query inside of the statement: the steps that follow with a greater depth.
      case subquery
      /// Another step.
      case other
    }
    /// The kind of the step.
    public let kind: Kind
    /// The number of queries that the step is nested in.
    public let depth: Int
    /// The table that is read; nil for a step that reads none.
    public let table: String?
    /// The index that is used; nil if there is none. The ids are no index.
    public let index: String?
    /// The step in the words of SQLite, with the name of the table.
    public let text: String
  }

  /// An index that the schema does not have, and that would serve the fetch.
  public struct MissingIndex: Sendable, Hashable {
    /// The entity.
    public let entity: String
    /// The properties, in the order of the index.
    public let properties: [String]
    /// What the index ignores in its String attributes.
    public let comparing: StringOptions

    /// The line that declares the index in Swift: the declaration of an attribute, to which its type is to
    /// be added, or an entity of the schema.
    public var schemaLine: String {
      let options = comparing.isEmpty ? nil : comparing.swiftText
      guard properties.count == 1 else {
        let paths = properties.map { "\\.\($0)" }.joined(separator: ", ")
        return "Entity(\(entity).self).index(\(paths)\(options.map { ", comparing: \($0)" } ?? ""))"
      }
      return "@Attribute(.indexed\(options.map { "(\($0))" } ?? "")) var \(properties[0])"
    }

    /// The operation of a migration step that adds the index.
    public var migrationLine: String {
      "add index \(entity)\(IndexDescription(properties: properties, comparing: comparing).text)"
    }
  }

  /// Something that makes a fetch slow.
  public struct Warning: Sendable, Hashable {
    /// The kinds of warnings.
    public enum Kind: String, Sendable, Hashable, Codable {
      /// All rows of a large table are read to find some of them.
      case fullScan
      /// Rows of a large table are sorted, because no index has them in order.
      case sort
      /// The engine makes an index for this fetch alone, each time that it runs.
      case automaticIndex
      /// All rows of a large table are read again for each row of another one.
      case correlatedScan
    }
    /// The kind of the warning.
    public let kind: Kind
    /// The entity whose rows are read or sorted.
    public let entity: String
    /// The number of rows in the entity's table. It is an estimate if it exceeds 20,000.
    public let rows: Int
    /// The properties that no index serves, as paths from the fetched entity or, for an automatic index, as
    /// the names of columns.
    public let properties: [String]
    /// The index that would serve the fetch; nil if none can.
    public let index: MissingIndex?
  }
}

extension QueryPlan.Warning: CustomStringConvertible {
  /// What is slow, and what to do. Contains no values.
  public var description: String { "\(entity): \(problem). \(remedy)" }

  private var names: String { properties.joined(separator: ", ") }

  private var problem: String {
    switch kind {
    case .fullScan:
      "all rows of the table (about \(rows)) are read, because no index "
        + (names.isEmpty ? "can serve the condition" : "serves the condition on \(names)")
    case .sort:
      "the found rows are sorted, because no index has them in the order of \(names), in a table of about "
        + "\(rows) rows"
    case .automaticIndex:
      "an index of the table's rows (about \(rows)) by \(names) is made each time that the fetch runs"
    case .correlatedScan:
      "all rows of the table (about \(rows)) are read for each row of another table"
        + (names.isEmpty ? "" : ", because no index serves \(names)")
    }
  }

  private var remedy: String {
    if let index { return "Add an index to \(index.entity): \(index.schemaLine)" }
    switch kind {
    case .fullScan:
      return "Add a condition that an index can serve, such as an equality, a range or a BEGINSWITH."
    case .sort:
      return "No index can serve this order: it serves attributes of \(entity) itself, all in one direction. "
        + "Add a condition that leaves few rows."
    case .automaticIndex, .correlatedScan:
      return "The table lacks an index that its model has. Check the store with verify()."
    }
  }
}

extension QueryPlan: CustomStringConvertible {
  /// The statement, the steps and the warnings.
  public var description: String {
    let steps = steps.map { String(repeating: "  ", count: $0.depth) + $0.text }
    return
      ([statement.description, "", "Steps:"] + steps.map { "  \($0)" }
      + (warnings.isEmpty ? ["No warnings."] : ["Warnings:"] + warnings.map { "  \($0)" }))
      .joined(separator: "\n")
  }
}
