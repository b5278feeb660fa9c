// `make E.r many` and `make E.r one`: links that are kept elsewhere afterwards. Where, follows from both models. Of a
// relationship E.r to D, whose inverse is D.b where it has one:
//
//                          E.r is a to-one         many ->          E.r is a to-many
//                                                  <- one
//
//   D.b is a to-many,      E.r_id                  <------>         E_r (E_id, r_id)
//   or there is none                                                a table of links
//
//   D.b is a to-one        D.b_id, unique          <------>         D.b_id
//                          a one-to-one
//                          E.r_id, unique          ------->         D.b_id
//
// On the way to `one` an object may have several: one is picked, or the step is refused. Where D.b gets a column, the column is
// filled by a look-up: see MigrationCompiler+Origins.

internal import CipherSQLite

/// The links of one relationship, on their way from where a model keeps them to where it keeps them when an object has
/// several of them, or one.
struct LinkMove {
  /// Where links lie, by the names that the file has before.
  enum Place: Equatable {
    /// A column of the relationship's own entity.
    case own(table: String, column: String)
    /// A column of the entity at the other end, with the ids of the own one.
    case other(table: String, column: String)
    /// A table of links, with the columns of both ends.
    case links(table: String, own: String, other: String)
  }

  let entity: String
  let relationship: String
  let destination: String
  /// The tables that the rows of both ends lie in.
  private let tables: (own: String, other: String)
  let isToMany: Bool
  let from: Place
  /// The column beside the links with the places that own ends have among the members of the other one's relationship, where
  /// that has an order.
  private let places: String?
  /// The relationship at the other end.
  private let inverse: String?
  /// The order by which one of several is picked, over the columns of the other end.
  private let order: String?
  /// The to-one at the other end where it is required: none of its objects can be left out.
  private let requiredPartner: String?

  /// - Parameter model: The model before.
  init?(_ entity: String, _ name: String, in model: Schema, picking order: String?) {
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

  /// - Throws: ``ModelError`` for an order that asks for a column of the own end, where no query in it does.
  static func checkOrder(_ order: String, of entity: String, _ name: String, in model: Schema)
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
      reason: "$\(own) is a column of \(entity), and who is picked is asked of \(destination) alone")
  }

  /// The names by which SQL could ask for the links, here or there.
  var words: [String] {
    let ends = [(entity, relationship)] + (inverse.map { [(destination, $0)] } ?? [])
    let names = ends.flatMap { [$1, RelationshipDescription.columnName($1), "\($0)_\($1)"] }
    guard case .links(let table, _, _) = from else { return names }
    return names + [table]
  }

  /// What is lost for good: the links that are not picked.
  var loss: String? { order == nil ? nil : "\(entity).\(relationship)" }

  /// Links, as pairs of ids: the own end's, and the other end's.
  private var source: (table: SQLName, own: SQLName, other: SQLName) {
    switch from {
    case .own(let table, let column): (SQLName(table), SQLName("id"), SQLName(column))
    case .other(let table, let column): (SQLName(table), SQLName(column), SQLName("id"))
    case .links(let table, let own, let other): (SQLName(table), SQLName(own), SQLName(other))
    }
  }

  // MARK: Picking

  /// Who is picked, asked once. In sight of the order are the columns of the other end and nothing else: those of the own end
  /// would be those of another row at the other end.
  var picking: [SQL] {
    guard let order, !isToMany else { return [] }
    let links = source
    let pairs: SQL =
      "SELECT \(links.own) AS vault_own, \(links.other) AS vault_other FROM \(links.table) WHERE \(links.own) NOT NULL"
    return PassingIDs.picked.making(
      "SELECT l.vault_own, p.\"id\" FROM (\(pairs)) AS l JOIN \(identifier: tables.other) AS p ON p.\"id\" = l.vault_other ORDER BY \(written: order), p.\"id\"",
      ifFirst: true)
  }

  /// What takes the table away again.
  var unpicking: [SQL] { picking.isEmpty ? [] : [PassingIDs.picked.ending] }

  // MARK: Columns

  /// The expressions that fill columns of an entity's table, by the column.
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
    // Of a one-to-one the other end has the column: those that were not picked lead nowhere any more.
    if order != nil, case .other(let table, let column) = from, name == destination {
      let owner: SQL = "\(identifier: table).\(identifier: column)"
      let sql: SQL = "CASE WHEN \(identifier: table).\"id\" = \(link(of: owner)) THEN \(owner) END"
      columns.append((column, sql.text))
    }
    return columns
  }

  /// The id of the other end that an object is linked with.
  private func link(of owner: SQL) -> SQL {
    let links = source
    if order != nil { return PassingIDs.picked.other(of: owner) }
    return "(SELECT l.\(links.other) FROM \(links.table) AS l WHERE l.\(links.own) = \(owner))"
  }

  // MARK: Tables of links

  /// The statement that fills a table of links with what a column holds; nil where they go elsewhere.
  /// - Parameters:
  ///   - table: The table to fill.
  ///   - join: The table of links that it is to be.
  ///   - isSource: Whether the relationship's own end is the join's source.
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

  /// What no row may be, so that no link is lost.
  var check: CompiledStatement? {
    let links = source
    guard !isToMany, order == nil || requiredPartner != nil else { return nil }
    let remedy =
      requiredPartner.flatMap { name in
        order.map { _ in
          "those that are not picked have to lead somewhere; write before: make \(destination).\(name) optional"
        }
      } ?? "write: make \(entity).\(relationship) one picking (ORDER)"
    let several: SQL =
      "\(links.table) WHERE \(links.own) NOT NULL GROUP BY \(links.own) HAVING count(*) > 1"
    return .check(
      .init(groups: several, id: "\(links.own)"),
      message:
        "%d objects have several \(relationship), and it is to be one; \(remedy)", .single, of: entity,
      [relationship])
  }
}

extension MigrationCompiler {
  /// What is asked of links that move.
  func moveChecks() -> [PlannedStatement] {
    mapping.moves.compactMap { move in
      move.check.map { PlannedStatement(statement: $0, operations: operations(of: move)) }
    }
  }

  /// Who is picked of several, and the end of the table that says so.
  func pickings() -> (before: [PlannedStatement], after: [PlannedStatement]) {
    func planned(_ statements: (LinkMove) -> [SQL]) -> [PlannedStatement] {
      mapping.moves.flatMap { move in
        statements(move).map {
          PlannedStatement(statement: .sql($0.text), operations: operations(of: move))
        }
      }
    }
    return (planned(\.picking), planned(\.unpicking))
  }

  /// The statements that make a table of links under its temporary name, and fill it with what a column held; nil for
  /// another table.
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
