// Carries the values and links of the source's rows over to the destination, for `merge entity`.

internal import CipherSQLite

/// The checks of a merge, and its statements that write rows. The model must have the properties of both
/// entities.
struct MergedRows {
  /// Where the rows are stored before the merge.
  enum Way {
    /// In a table of their own, which they leave: they get new ids above all ids issued for the destination.
    case moving
    /// In the destination's table, where they keep their ids. `fromBelow`: an earlier part of the merge has
    /// made the source a subentity of the destination, so attributes with equal names are one column.
    case staying(fromBelow: Bool)
  }

  private(set) var checks: [CompiledStatement] = []
  private(set) var statements: [SQL] = []

  private let places: MergeMapping
  private let model: Schema
  private let way: Way
  /// The rows of the source and of its subentities.
  private let place: EntityPlace
  /// The columns of the destination that the rows get, each with its value.
  private var settings: [(column: SQLName, value: SQL)] = []
  /// The values that the rows get, by property of the destination. For checks, which run before new ids
  /// exist.
  private var given: [String: SQL] = [:]

  /// - Parameters:
  ///   - detours: Redirected relationships of other entities, whose links are copied while the table of
  ///     moved ids exists.
  ///   - name: Returns the name that a property of the source has in the model.
  init(
    _ places: MergeMapping, in model: Schema, _ way: Way, detours: [RedirectedRelationship] = [],
    name: (String) -> String = { $0 }
  ) throws(ModelError) {
    (self.places, self.model, self.way) = (places, model, way)
    place = model.place(of: places.source.name)
    if !isSubentityAlready { for (former, new) in places.attributes { carry(former, to: new) } }
    for (former, new) in places.toOnes { carry(former, named: name(former.name), to: new) }
    requireDifferent()
    carryRows()
    for (former, new) in places.links { try carryLinks(former, named: name(former.name), to: new) }
    for (member, new) in places.members { carryMembers(member, new) }
    checks += places.memberChecks(in: model) { column, former in
      "CASE WHEN \(isOne(column)) THEN \(raised(column)) ELSE \(former) END"
    }
    for detour in detours { statements.append(try detour.copy(in: model) { newID($0) }) }
    if isMoving { statements.append(IDMap.moved.ending) }
  }

  private var isMoving: Bool { if case .moving = way { true } else { false } }
  private var isSubentityAlready: Bool { if case .staying(fromBelow: true) = way { true } else { false } }
  private func isShared(_ name: String) -> Bool { places.shared.contains(name) }

  // MARK: Ids

  /// The highest id issued for the destination. The new id of a moved row is its old id plus this.
  private var highest: SQL { IdentifierTable.highest(of: places.destination.name) }

  /// The id that an object of the source has after the merge, looked up in the table of moved ids.
  private func newID(_ id: SQL) -> SQL { isMoving ? IDMap.moved.other(of: id) : id }

  /// The id after the merge, computed: for checks, which run before the table of moved ids exists.
  private func raised(_ id: SQL) -> SQL { isMoving ? "\(id) + \(highest)" : id }

  /// The condition that a column references one of the rows. If the rows stay in the destination's table,
  /// the column may also reference other objects of the destination.
  private func isOne(_ column: SQL) -> SQL { isMoving ? "\(column) NOT NULL" : "\(column) IN \(place.ids)" }

  // MARK: Values

  /// A column of the rows.
  private func column(_ name: String) -> SQL { isMoving ? "a.\(identifier: name)" : "\(identifier: name)" }

  /// The rows, as SQL after FROM.
  private var rows: SQL { isMoving ? "\(place.tableName) AS a" : "\(place.tableName)\(place.filter)" }

  private mutating func carry(_ former: AttributeDescription, to new: AttributeDescription) {
    let column = column(former.name)
    let value: SQL =
      former.type == new.type ? column : "CAST(\(column) AS \(written: new.type.sqlType))"
    carry(
      former.name, from: SQLName(former.name), to: SQLName(new.name), as: new.name, value: value,
      isRequired: former.isOptional && !new.isOptional, default: new.defaultValue)
  }

  private mutating func carry(
    _ former: RelationshipDescription, named name: String, to new: RelationshipDescription
  ) {
    let columnName = RelationshipDescription.columnName(name)
    let column = column(columnName)
    // Relationships within the source reference rows that get new ids, too.
    let isWithin = former.destination == places.source.name
    carry(
      former.name, from: SQLName(columnName), to: SQLName(new.columnName), as: new.name,
      value: isWithin ? newID(column) : column,
      isRequired: new.isRequired && !former.isRequired)
    if isWithin, isMoving { given[new.name] = raised(column) }
  }

  /// Carries one column over.
  /// - Parameters:
  ///   - value: The value of the column, converted for the target column.
  ///   - isRequired: Whether the target takes no NULL while the column may hold one.
  ///   - default: The value for rows that have none.
  private mutating func carry(
    _ name: String, from column: SQLName, to target: SQLName, as newName: String, value: SQL,
    isRequired: Bool, default filling: DefaultValue? = nil
  ) {
    let (source, destination) = (places.source.name, places.destination.name)
    if isShared(newName) {
      // The rows have the target column already. A carried value replaces its value. A row with two
      // different values is refused, unless the target has its default.
      var taken: SQL = "\(column) NOT NULL AND \(target) NOT NULL AND \(target) IS NOT \(value)"
      if let filling { taken.append(" AND \(target) IS NOT \(written: filling.sql)") }
      check(
        taken,
        "%d objects of \(source) have both \(name) and \(newName), which become one; first clear one of them "
          + "with a transform"
      )
      give(newName, target: target, value: "ifnull(\(value), \(target))")
    } else if let filling, isRequired {
      give(newName, target: target, value: "ifnull(\(value), \(written: filling.sql))")
    } else {
      if isRequired {
        check(
          "\(column) IS NULL",
          "%d objects of \(source) have no \(name), but \(destination) requires it; first fill it with a "
            + "transform"
        )
      }
      give(newName, target: target, value: value)
    }
  }

  private mutating func give(_ name: String, target: SQLName, value: SQL) {
    settings.append((target, value))
    given[name] = value
  }

  /// Checks that the destination's unique keys stay unique among the objects of both entities. A key is
  /// checked only if the rows get a value in it; moved rows get values in all keys.
  private mutating func requireDifferent() {
    let all = places.destination
    let others: SQL? =
      isMoving
      ? "\(identifier: all.name)"
      : place.condition().map { "\(place.tableName) WHERE NOT (\($0))" }
    for key in all.uniqueKeys where isMoving || key.contains(where: { given[$0] != nil }) {
      let coming = UniqueKeyCheck(key, of: all, rows: rows, others: others) { property in
        if let value = given[property] { return value }
        guard !isSubentityAlready, !isShared(property) else {
          return "\(identifier: all.relationship(named: property)?.columnName ?? property)"
        }
        return all.attribute(named: property)?.defaultValue.map { "\(written: $0.sql)" }
      }
      if let coming { checks.append(coming.check(rowsOf: places.source.name)) }
    }
  }

  private mutating func check(_ condition: SQL, _ message: String) {
    checks.append(
      .check(.init(rows: "\(place.tableName) WHERE \(place.condition(and: condition))"), message: message))
  }

  private mutating func carryRows() {
    let (columns, values) = (settings.map { "\($0.column)" as SQL }, settings.map(\.value))
    if isMoving {
      let ids = IDMap.moved
      let all: (columns: SQL, values: SQL) = (
        .joined(["\"id\"", "\"_version\""] + columns), .joined(["m.vault_other", "a.\"_version\""] + values)
      )
      statements += ids.making("SELECT \"id\", \"id\" + \(highest) FROM \(place.tableName)")
      statements.append(
        "INSERT INTO \(identifier: places.destination.name) (\(all.columns)) SELECT \(all.values) FROM \(rows)\(ids.joined)"
      )
      // The source may have issued ids above those of its present rows, so the destination gets the
      // higher one of both high-water marks.
      let names = [(new: places.destination.name, former: places.source.name)]
      statements.append("\(written: IdentifierTable.renaming(names))")
    } else if !settings.isEmpty {
      let all = SQL.joined(zip(columns, values).map { "\($0) = \($1)" })
      statements.append("UPDATE \(place.tableName) SET \(all)\(place.filter)")
    }
  }

  // MARK: Links

  private mutating func carryLinks(
    _ former: RelationshipDescription, named name: String, to new: RelationshipDescription
  ) throws(ModelError) {
    let current = try model.known(places.source.name, inherited: name)
    let (old, links) = (
      try model.links(of: current, in: places.source), try model.links(of: new, in: places.destination)
    )
    let other: SQL = "l.\(old.other)"
    let target = former.destination == places.source.name ? newID(other) : other
    // If both entities inherit the relationship, the rows may have such a link already.
    let insert: SQL = isShared(new.name) ? "INSERT OR IGNORE" : "INSERT"
    let own: SQL = isMoving ? "" : " WHERE l.\(old.own) IN \(place.ids)"
    statements.append(
      "\(insert) INTO \(links.table) (\(links.own), \(links.other)) SELECT \(newID("l.\(old.own)")), \(target) FROM \(old.table) AS l\(own)"
    )
  }

  private mutating func carryMembers(_ member: MergeMapping.End, _ new: RelationshipDescription) {
    let owner = SQLName(model.root(of: member.entity.name))
    let (column, target): (SQL, SQLName) = (
      "\(identifier: member.relationship.columnName)", SQLName(new.columnName)
    )
    var both: SQL = "\(isOne(column)) AND \(target) NOT NULL"
    if !isMoving { both.append(" AND \(target) IS NOT \(column)") }
    checks.append(member.refusing(both: new, from: owner, where: both))
    statements.append("UPDATE \(owner) SET \(target) = \(newID(column)) WHERE \(isOne(column))")
  }
}
