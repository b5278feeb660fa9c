// `$User.id` where other tables are read, as in a query within a query: as a bare column it would be theirs, where they have one of
// the name, and no engine says so. Such a name is refused, since nobody can have meant it.

/// Finds names of an outer query's rows that an inner query would take from its own tables.
struct OuterNames {
  /// A name that means another column than it says.
  struct Capture {
    /// Without its dollar sign, such as `User.id`.
    let name: String
    /// The table whose column it would be.
    let table: String
    /// That column.
    let column: String
    /// Whether the table that it says may be read around there.
    let isOutside: Bool
  }

  private struct Reference {
    let name: String
    let query: Int
  }

  /// A query, or what stands around all queries, such as an UPDATE.
  private struct Query {
    let parent: Int?
    /// The tables of entities that it reads.
    var tables: Set<String> = []
    /// The columns of the tables of links that it reads, in lower case.
    var linkColumns: Set<String> = []
    /// Whether it reads others as well: what a dollar sign does not name, and queries in brackets.
    var readsOthers = false
    var hasSelect = false
    /// Whether it inserts what a query behind it finds.
    var inserts = false
    /// Whether it stands behind a UNION or its like, so that an ORDER BY is about what all of them find.
    var isCompound = false
  }

  private let model: Schema
  private var queries = [Query(parent: nil)]
  private var references: [Reference] = []
  private var current = 0
  /// Whether the next name is that of a table, and whether a comma leads to one.
  private var (expectsTable, isInList) = (false, false)
  /// Whether what follows is about rows that are found already, or about those of the table that is inserted into.
  private var isBehindQuery = false
  /// Whether it is asked of rows, which a query in it may speak of, too.
  private var isExpression = false
  private var brackets: [(query: Int, isInList: Bool, expectedTable: Bool, isBehindQuery: Bool)] = []

  /// - Parameter entity: That of the rows which an expression is asked of; nil for statements.
  /// - Returns: The first such name in an SQL that a person wrote; nil where there is none, and where nobody can tell.
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
    // The piece before, in lower case.
    var former = ""
    while let piece = scanner.next() {
      if piece.kind == .comment || scanner.isSpace(piece) { continue }
      var text = scanner.text(piece.range)
      switch piece.kind {
      case .word: word(text.lowercased(), former)
      case .text: other()
      case .other where text == "$":
        if scanner.scalar(at: scanner.position) == "$" {
          scanner.position += 1
          other()
        } else {
          text = scanner.name()
          name(text, former)
        }
      case .other, .comment: sign(text)
      }
      former = text.lowercased()
    }
  }

  private mutating func word(_ word: String, _ former: String) {
    switch word {
    case "select", "with":
      if former == "(" || former.isEmpty && isExpression {
        // A query where a table is expected, whose columns nobody tells.
        if brackets.last?.expectedTable == true { queries[current].readsOthers = true }
        begin(in: current)
      } else if word == "select", queries[current].hasSelect {
        begin(in: queries[current].parent)
        queries[current].isCompound = true
      } else if word == "select", queries[current].inserts {
        begin(in: queries[current].parent)
      }
      queries[current].hasSelect = queries[current].hasSelect || word == "select"
      (expectsTable, isInList) = (false, false)
    // The table of an index.
    case "on" where former.isEmpty: expectsTable = true
    case "conflict" where former == "on": (expectsTable, isInList, isBehindQuery) = (false, false, true)
    case "order" where queries[current].isCompound:
      (expectsTable, isInList, isBehindQuery) = (false, false, true)
    // A statement of a trigger.
    case "begin": endStatement()
    case "from", "join": (expectsTable, isInList) = (true, true)
    case "into":
      queries[current].inserts = true
      (expectsTable, isInList) = (true, false)
    case "update": (expectsTable, isInList) = (former != "do", false)
    // UPDATE OR IGNORE $User
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
      // Where a table is expected, tables in brackets, or a query in its place.
      brackets.append((current, isInList, expectsTable, isBehindQuery))
      (isInList, isBehindQuery) = (expectsTable, false)
    case ")":
      if let bracket = brackets.popLast() { (current, isInList, _, isBehindQuery) = bracket }
      expectsTable = false
    case ",": expectsTable = isInList
    case ";": endStatement()
    default: other()
    }
  }

  private mutating func name(_ name: String, _ former: String) {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    if expectsTable {
      if parts.count == 1, let entity = model.entity(named: String(parts[0])) {
        queries[current].tables.insert(model.root(of: entity.name))
      } else if let columns = linkColumns(parts.map(String.init)) {
        queries[current].linkColumns.formUnion(columns)
      } else {
        queries[current].readsOthers = true
      }
      expectsTable = false
      return
    }
    // Behind a dot its table stands in front of it.
    guard parts.count == 2, !parts[1].isEmpty, !former.hasSuffix("."), !isBehindQuery else { return }
    references.append(Reference(name: name, query: current))
  }

  /// Something that is no table of the model, where one was expected.
  private mutating func other() {
    if expectsTable { queries[current].readsOthers = true }
    expectsTable = false
  }

  private mutating func begin(in parent: Int?) {
    queries.append(Query(parent: parent))
    current = queries.count - 1
  }

  private mutating func endStatement() {
    begin(in: nil)
    (brackets, expectsTable, isInList, isBehindQuery) = ([], false, false, false)
  }

  /// The columns of a table of links, in lower case; nil for what is none.
  private func linkColumns(_ names: [String]) -> [String]? {
    guard names.count == 2, let entity = model.flattenedEntity(named: names[0]),
      let relationship = entity.relationship(named: names[1]),
      let (join, _) = model.joinTable(of: relationship, in: entity)
    else { return nil }
    return [join.sourceColumn, join.targetColumn].map { $0.lowercased() }
      + [join.sourceOrder, join.targetOrder].compactMap { $0?.lowercased() }
  }

  // MARK: Asking

  private func capture(_ reference: Reference) -> Capture? {
    let parts = reference.name.split(separator: ".").map(String.init)
    guard let entity = model.flattenedEntity(named: parts[0]),
      let column = Self.column(parts[1], of: entity)
    else { return nil }
    let table = model.root(of: entity.name)
    var next: Int? = reference.query
    while let index = next {
      let query = queries[index]
      if query.readsOthers || query.tables.contains(table)
        || query.linkColumns.contains(column.lowercased())
      {
        return nil
      }
      if let other = query.tables.sorted().first(where: { has($0, column) }) {
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
      // What an order is of, or an expression, has no table here.
      if outer.readsOthers || outer.tables.isEmpty || outer.tables.contains(table) { return true }
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

  /// Whether the table of a root has a column, whatever the capitals.
  private func has(_ table: String, _ column: String) -> Bool {
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
