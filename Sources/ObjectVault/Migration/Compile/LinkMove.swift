// `make E.r many` and `make E.r one`: moves links to the columns or the table that the model after the
// operation stores them in. Below, E.r is a relationship to D, and D.b its inverse, if it has one:
//
//                              E.r is a to-one         many ->          E.r is a to-many
//                                                      <- one
//
//       D.b is a to-many,      E.r_id                  <------>         E_r (E_id, r_id)
//       or does not exist                                               a table of links
//
//       D.b is a to-one        D.b_id, unique          <------>         D.b_id
//                              a one-to-one
//                              E.r_id, unique          ------->         D.b_id
//
// With `one`, an object may have had several links: one link is picked, or the step is refused. If D.b
// gets a column, a look-up fills it: see MigrationCompiler+Origins.

internal import CipherSQLite

/// Moves the links of one relationship when it becomes a to-many or a to-one.
struct LinkMove {
  /// Where links are stored, with the names of tables and columns before the operation.
  enum Place: Equatable {
    /// A column of the relationship's own entity.
    case own(table: String, column: String)
    /// A column of the destination, with the ids of the owners.
    case other(table: String, column: String)
    /// A table of links, with the columns for the owner and for the member.
    case links(table: String, own: String, other: String)
  }

  let entity: String
  let relationship: String
  let destination: String
  /// The tables with the rows of the entity (`own`) and of the destination (`other`).
  private let tables: (own: String, other: String)
  let isToMany: Bool
  let from: Place
  /// The column, stored with the links, that has the positions of owners in the ordered inverse; nil if
  /// the inverse is not ordered.
  private let places: String?
  /// The inverse of the relationship.
  private let inverse: String?
  /// The SQL by which the members are ordered before the first one is picked, over columns of the
  /// destination.
  private let order: String?
  /// The inverse, if it is a required to-one: then every object of the destination must keep its link.
  private let requiredPartner: String?

  /// Creates the move; returns nil if the model lacks the relationship.
  /// - Parameter model: The model before the operation.
  init?(_ entity: String, relationship name: String, in model: Schema, picking order: String?) {
    guard let owner = model.entity(named: entity), let relationship = owner.relationship(named: name) else {
      return nil
    }
    let inverse = relationship.inverse.flatMap {
      model.entity(named: relationship.destination)?.relationship(named: $0)
    }
    (self.entity, self.relationship, destination) = (entity, name, relationship.destination)
    self.inverse = inverse?.name
    tables = (model.root(of: entity), model.root(of: relationship.destination))
    (isToMany, self.order) = (!relationship.isToMany, order)
    let isOrdered = inverse.map { $0.isToMany && $0.isOrdered } ?? false
    requiredPartner = inverse.flatMap { $0.hasColumn && $0.isRequired ? $0.name : nil }
    if let (join, isSource) = model.joinTable(of: relationship, in: owner) {
      from = .links(
        table: join.name, own: isSource ? join.sourceColumn : join.targetColumn,
        other: isSource ? join.targetColumn : join.sourceColumn)
      places = isSource ? join.targetOrder : join.sourceOrder
    } else if let inverse, inverse.hasColumn {
      from = .other(table: tables.other, column: inverse.columnName)
      places = nil
    } else {
      places = isOrdered ? RelationshipDescription.orderColumnName(name) : nil
      from = .own(table: tables.own, column: relationship.columnName)
    }
  }

  /// Checks the order for picking.
  /// - Throws: ``ModelError`` for an order that uses a column of the owner's entity without naming the
  ///   entity's table, as a subquery would.
  static func checkOrder(_ order: String, of entity: String, relationship name: String, in model: Schema)
    throws(ModelError)
  {
    guard let destination = model.entity(named: entity)?.relationship(named: name)?.destination,
      destination != entity
    else { return }
    var names: [String] = []
    _ = try SQLTemplate.resolved(order) { (words) throws(ModelError) -> String in
      names.append(words)
      return ""
    }
    guard !names.contains(entity), let own = names.first(where: { $0.hasPrefix("\(entity).") }) else {
      return
    }
    throw ModelError(
      reason: "$\(own) is a column of \(entity), but the order after picking can only use columns of "
        + "\(destination)")
  }

  /// The names by which SQL may refer to the links before or after the move.
  var words: [String] {
    let ends = [(entity, relationship)] + (inverse.map { [(destination, $0)] } ?? [])
    let names = ends.flatMap { [$1, RelationshipDescription.columnName($1), "\($0)_\($1)"] }
    guard case .links(let table, _, _) = from else { return names }
    return names + [table]
  }

  /// The relationship that loses the links that are not picked; nil without picking.
  var loss: String? { order == nil ? nil : "\(entity).\(relationship)" }

  /// The table with the links before the move, and its columns with the ids of owner and member.
  private var source: (table: SQLName, own: SQLName, other: SQLName) {
    switch from {
    case .own(let table, let column): (SQLName(table), SQLName("id"), SQLName(column))
    case .other(let table, let column): (SQLName(table), SQLName(column), SQLName("id"))
    case .links(let table, let own, let other): (SQLName(table), SQLName(own), SQLName(other))
    }
  }

  // MARK: Picking

  /// Fills a table with the picked links. The order can use only columns of the destination: this query
  /// does not read the owners' rows, and the name of an owner's column would mean a column of the
  /// destination.
  var picking: [SQL] {
    guard let order, !isToMany else { return [] }
    let links = source
    let pairs: SQL =
      "SELECT \(links.own) AS vault_own, \(links.other) AS vault_other FROM \(links.table) WHERE \(links.own) NOT NULL"
    return IDMap.picked.making(
      "SELECT l.vault_own, p.\"id\" FROM (\(pairs)) AS l JOIN \(identifier: tables.other) AS p ON p.\"id\" = l.vault_other ORDER BY \(written: order), p.\"id\"",
      ifFirst: true)
  }

  /// Removes the table of picked links.
  var pickingCleanup: [SQL] { picking.isEmpty ? [] : [IDMap.picked.ending] }

  // MARK: Columns

  /// Returns the expressions that fill columns of an entity's table, each with its column.
  func columns(of name: String) -> [(String, String)] {
    guard !isToMany else { return [] }
    var columns: [(String, String)] = []
    if name == entity, case .links = from {
      let owner: SQL = "\(identifier: tables.own).\"id\""
      columns.append((RelationshipDescription.columnName(relationship), link(of: owner).text))
      if let places {
        let (links, picked) = (source, link(of: owner))
        let isPicked: SQL = order == nil ? "" : " AND l.\(links.other) = \(picked)"
        let place: SQL =
          "(SELECT l.\(identifier: places) FROM \(links.table) AS l WHERE l.\(links.own) = \(owner)\(isPicked))"
        columns.append((RelationshipDescription.orderColumnName(relationship), place.text))
      }
    }
    // If the relationship becomes a one-to-one, the destination keeps the column. The column becomes NULL
    // in rows that were not picked.
    if order != nil, case .other(let table, let column) = from, name == destination {
      let owner: SQL = "\(identifier: table).\(identifier: column)"
      let sql: SQL = "CASE WHEN \(identifier: table).\"id\" = \(link(of: owner)) THEN \(owner) END"
      columns.append((column, sql.text))
    }
    return columns
  }

  /// Returns SQL for the id of the object that an owner is linked with.
  private func link(of owner: SQL) -> SQL {
    let links = source
    if order != nil { return IDMap.picked.other(of: owner) }
    return "(SELECT l.\(links.other) FROM \(links.table) AS l WHERE l.\(links.own) = \(owner))"
  }

  // MARK: Tables of links

  /// Returns the statement that fills a new table of links from a column.
  /// - Parameters:
  ///   - table: The present name of the new table.
  ///   - join: The description of the new table in the model.
  ///   - isSource: Whether the relationship's entity is the source of `join`.
  func filling(_ table: String, as join: JoinTable, isSource: Bool) -> SQL {
    let columns = join.columns(from: isSource)
    let links = source
    var (names, values): ([SQL], [SQL]) = (
      ["\(columns.own)", "\(columns.other)"], ["\(links.own)", "\(links.other)"]
    )
    if let places, let order = join.order(from: !isSource) {
      names.append("\(order)")
      values.append("\(identifier: places)")
    }
    return
      "INSERT INTO \(identifier: table) (\(SQL.joined(names))) SELECT \(SQL.joined(values)) FROM \(links.table) WHERE \(links.other) NOT NULL"
  }

  // MARK: Checks

  /// The check that no link is lost; nil if no link can be lost, or the picking intends it.
  var check: CompiledStatement? {
    let links = source
    guard !isToMany, order == nil || requiredPartner != nil else { return nil }
    let remedy =
      requiredPartner.flatMap { name in
        order.map { _ in
          "objects that are not picked would lose their \(name), which is required; first write: make "
            + "\(destination).\(name) optional"
        }
      } ?? "write: make \(entity).\(relationship) one picking (ORDER)"
    let several: SQL =
      "\(links.table) WHERE \(links.own) NOT NULL GROUP BY \(links.own) HAVING count(*) > 1"
    return .check(
      .init(groups: several, id: "\(links.own)"),
      message:
        "%d objects have several \(relationship), but it becomes a to-one; \(remedy)", rule: .single,
      of: entity,
      [relationship])
  }
}

extension MigrationCompiler {
  /// Returns the checks of all moves.
  func moveChecks() -> [PlannedStatement] {
    mapping.moves.compactMap { move in
      move.check.map { PlannedStatement(statement: $0, operations: operations(of: move)) }
    }
  }

  /// Returns the statements that fill the tables of picked links, and those that drop these tables.
  func pickingStatements() -> (before: [PlannedStatement], after: [PlannedStatement]) {
    func planned(_ statements: (LinkMove) -> [SQL]) -> [PlannedStatement] {
      mapping.moves.flatMap { move in
        statements(move).map {
          PlannedStatement(statement: .sql($0.text), operations: operations(of: move))
        }
      }
    }
    return (planned(\.picking), planned(\.pickingCleanup))
  }

  /// Returns the statements that create a table of links under its temporary name and fill it from a
  /// column; nil for a table that no move fills.
  func movedLinks(to table: TableInfo) -> [PlannedStatement]? {
    for move in mapping.moves where move.isToMany {
      guard let owner = after.entity(named: move.entity),
        let relationship = owner.relationship(named: move.relationship),
        let (join, isSource) = after.joinTable(of: relationship, in: owner), join.name == table.name
      else { continue }
      let temporary = "_mig_\(table.name)"
      let statements: [SQL] = ["DROP TABLE IF EXISTS \(identifier: temporary)"]
      return
        (statements.map(\.text) + [table.createSQL(as: temporary, after.layout(ofTable: table.name))]
        + [move.filling(temporary, as: join, isSource: isSource).text])
        .map { PlannedStatement(statement: .sql($0), operations: operations(of: move)) }
    }
    return nil
  }

  private func operations(of move: LinkMove) -> [MigrationOperation] {
    mapping.trail.operations(
      of: [move.entity], column: RelationshipDescription.columnName(move.relationship))
  }
}
