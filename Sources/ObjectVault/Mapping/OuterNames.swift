// Detects a name such as `$User.id` in a subquery that reads other tables, but not User's. The name
// becomes the bare column `id`, which the engine would resolve in the subquery's own tables, without an
// error. This cannot be intended, so it is an error.

/// Finds names of an outer query's columns that an inner query would resolve in its own tables.
struct OuterNames {
  /// A name that would mean a column of another table.
  struct Capture {
    /// The name without its dollar sign, such as `User.id`.
    let name: String
    /// The table whose column it would mean.
    let table: String
    /// The column of that table.
    let column: String
    /// Whether an outer query may read the table that the name states.
    let isOutside: Bool
  }

  /// A name of a column, and the query that it is in.
  private struct Reference {
    let name: String
    let query: Int
  }

  /// A query, or the statement around all queries, such as an UPDATE.
  private struct Query {
    let parent: Int?
    /// The tables of entities that it reads.
    var tables: Set<String> = []
    /// The columns of the tables of links that it reads, in lower case.
    var linkColumns: Set<String> = []
    /// Whether it reads other sources as well: tables without a dollar sign, or subqueries.
    var readsOtherSources = false
    var hasSelect = false
    /// Whether it is an INSERT, which a query for the inserted rows may follow.
    var inserts = false
    /// Whether it follows a UNION or the like. An ORDER BY then applies to the whole compound query.
    var isCompound = false
  }

  private let model: Schema
  private var queries = [Query(parent: nil)]
  private var references: [Reference] = []
  private var current = 0
  /// Whether the next name is a table's, and whether a comma is followed by another table.
  private var (expectsTable, isInList) = (false, false)
  /// Whether names now refer to the results of a query, as in the ORDER BY of a UNION, or to the table
  /// that is inserted into, as after ON CONFLICT. Such names are not checked.
  private var isAfterQuery = false
  /// Whether the text is an expression that is evaluated for each row. A query inside may refer to that
  /// row.
  private var isExpression = false
  private var brackets: [(query: Int, isInList: Bool, expectedTable: Bool, isAfterQuery: Bool)] = []

  /// Returns the first name in user-written SQL that would mean a column of another table; nil when there
  /// is none, or none that is certain.
  /// - Parameters:
  ///   - sql: The SQL, with names of the model.
  ///   - model: The model that the names belong to.
  ///   - entity: The entity of the rows that an expression is evaluated for; nil for statements.
  static func capture(in sql: String, _ model: Schema, of entity: String? = nil) -> Capture? {
    guard sql.containsByte("$") else { return nil }
    var names = OuterNames(model: model)
    if let entity {
      names.isExpression = true
      names.queries[0].tables.insert(model.root(of: entity))
    }
    names.read(sql)
    return names.references.lazy.compactMap(names.capture).first
  }

  private init(model: Schema) { self.model = model }

  // MARK: Reading

  private mutating func read(_ sql: String) {
    var scanner = SQLScanner(sql)
    // The token before, in lower case.
    var former = ""
    while let piece = scanner.next() {
      if piece.kind == .comment || scanner.isSpace(piece) { continue }
      var text = scanner.text(piece.range)
      switch piece.kind {
      case .word: word(text.lowercased(), after: former)
      case .text: other()
      case .other where text == "$":
        if scanner.scalar(at: scanner.position) == "$" {
          scanner.position += 1
          other()
        } else {
          text = scanner.name()
          name(text, after: former)
        }
      case .other, .comment: sign(text)
      }
      former = text.lowercased()
    }
  }

  private mutating func word(_ word: String, after former: String) {
    switch word {
    case "select", "with":
      if former == "(" || former.isEmpty && isExpression {
        // A subquery as a source: its columns are not known.
        if brackets.last?.expectedTable == true { queries[current].readsOtherSources = true }
        begin(in: current)
      } else if word == "select", queries[current].hasSelect {
        begin(in: queries[current].parent)
        queries[current].isCompound = true
      } else if word == "select", queries[current].inserts {
        begin(in: queries[current].parent)
      }
      queries[current].hasSelect = queries[current].hasSelect || word == "select"
      (expectsTable, isInList) = (false, false)
    // ON begins the SQL of an index, and the index's table follows.
    case "on" where former.isEmpty: expectsTable = true
    case "conflict" where former == "on": (expectsTable, isInList, isAfterQuery) = (false, false, true)
    case "order" where queries[current].isCompound:
      (expectsTable, isInList, isAfterQuery) = (false, false, true)
    // BEGIN: a statement of a trigger follows.
    case "begin": endStatement()
    case "from", "join": (expectsTable, isInList) = (true, true)
    case "into":
      queries[current].inserts = true
      (expectsTable, isInList) = (true, false)
    case "update": (expectsTable, isInList) = (former != "do", false)
    // As in UPDATE OR IGNORE $User.
    case _ where former == "or" && expectsTable: break
    case "or" where former == "update": break
    case "where", "group", "order", "having", "limit", "union", "intersect", "except", "set", "values", "on",
      "using",
      "of":
      (expectsTable, isInList) = (false, isInList && (word == "on" || word == "using"))
    default: other()
    }
  }

  private mutating func sign(_ sign: String) {
    switch sign {
    case "(":
      // Where a table is expected, the parentheses contain tables or a subquery.
      brackets.append((current, isInList, expectsTable, isAfterQuery))
      (isInList, isAfterQuery) = (expectsTable, false)
    case ")":
      if let bracket = brackets.popLast() { (current, isInList, _, isAfterQuery) = bracket }
      expectsTable = false
    case ",": expectsTable = isInList
    case ";": endStatement()
    default: other()
    }
  }

  private mutating func name(_ name: String, after former: String) {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    if expectsTable {
      if parts.count == 1, let entity = model.entity(named: String(parts[0])) {
        queries[current].tables.insert(model.root(of: entity.name))
      } else if let columns = linkColumns(parts.map(String.init)) {
        queries[current].linkColumns.formUnion(columns)
      } else {
        queries[current].readsOtherSources = true
      }
      expectsTable = false
      return
    }
    // After a dot, as in `t.$User.id`, the SQL itself states the table.
    guard parts.count == 2, !parts[1].isEmpty, !former.hasSuffix("."), !isAfterQuery else { return }
    references.append(Reference(name: name, query: current))
  }

  /// Handles a token that is not a table of the model; where a table was expected, the query reads
  /// another source.
  private mutating func other() {
    if expectsTable { queries[current].readsOtherSources = true }
    expectsTable = false
  }

  private mutating func begin(in parent: Int?) {
    queries.append(Query(parent: parent))
    current = queries.count - 1
  }

  private mutating func endStatement() {
    begin(in: nil)
    (brackets, expectsTable, isInList, isAfterQuery) = ([], false, false, false)
  }

  /// Returns the columns of a table of links, in lower case; nil when the names are not those of such a
  /// table.
  private func linkColumns(_ names: [String]) -> [String]? {
    guard names.count == 2, let entity = model.flattenedEntity(named: names[0]),
      let relationship = entity.relationship(named: names[1]),
      let (join, _) = model.joinTable(of: relationship, in: entity)
    else { return nil }
    return [join.sourceColumn, join.targetColumn].map { $0.lowercased() }
      + [join.sourceOrder, join.targetOrder].compactMap { $0?.lowercased() }
  }

  // MARK: Resolving references

  private func capture(_ reference: Reference) -> Capture? {
    let parts = reference.name.split(separator: ".").map(String.init)
    guard let entity = model.flattenedEntity(named: parts[0]),
      let column = Self.column(parts[1], of: entity)
    else { return nil }
    let table = model.root(of: entity.name)
    var next: Int? = reference.query
    while let index = next {
      let query = queries[index]
      if query.readsOtherSources || query.tables.contains(table)
        || query.linkColumns.contains(column.lowercased())
      {
        return nil
      }
      if let other = query.tables.sorted().first(where: { has(table: $0, column: column) }) {
        return Capture(
          name: reference.name, table: other, column: column, isOutside: mayRead(table, around: query))
      }
      next = query.parent
    }
    return nil
  }

  private func mayRead(_ table: String, around query: Query) -> Bool {
    var next = query.parent
    while let index = next {
      let outer = queries[index]
      // The tables of an outer statement may be unknown here, as around an ORDER BY or an expression.
      if outer.readsOtherSources || outer.tables.isEmpty || outer.tables.contains(table) { return true }
      next = outer.parent
    }
    return false
  }

  private static func column(_ property: String, of entity: EntityDescription) -> String? {
    if let relationship = entity.relationship(named: property) {
      return relationship.hasColumn ? RelationshipDescription.columnName(relationship.name) : nil
    }
    return property == "id" ? property : entity.attribute(named: property)?.name
  }

  /// Returns whether the table of a root entity has a column, ignoring case.
  private func has(table: String, column: String) -> Bool {
    let wanted = column.lowercased()
    return wanted == "id"
      || model.entities.contains { entity in
        model.root(of: entity.name) == table
          && (entity.attributes.contains { $0.name.lowercased() == wanted }
            || entity.relationships.contains {
              $0.hasColumn && RelationshipDescription.columnName($0.name).lowercased() == wanted
            })
      }
  }
}
