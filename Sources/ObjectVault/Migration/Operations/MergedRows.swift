// The values and links of rows that a merge has in one table with those that they come to: their ids are what they were.

internal import CipherSQLite

/// The statements of a merge within one table, on a model that has the properties of both entities.
struct MergedRows {
  private(set) var checks: [CompiledStatement] = []
  private(set) var statements: [SQL] = []

  private let places: MergePlaces
  private let model: Schema
  /// The rows of the source, and of the entities below it.
  private let place: EntityPlace
  private var settings: [SQL] = []
  /// What the rows have in properties of the destination from now on, where that is something else.
  private var given: [String: SQL] = [:]

  /// - Parameters:
  ///   - isOneTable: Whether they were in one table before, so that no attribute is in its place yet.
  ///   - name: What a property of the source is called in the model.
  init(
    _ places: MergePlaces, in model: Schema, isOneTable: Bool, name: (String) -> String
  ) throws(ModelError) {
    (self.places, self.model) = (places, model)
    place = model.place(of: places.source.name)
    if isOneTable { for (former, new) in places.attributes { carry(former, new) } }
    for (former, new) in places.toOnes {
      carry(
        former.name, SQLName(RelationshipDescription.columnName(name(former.name))), SQLName(new.columnName),
        new.name, isRequired: new.isRequired && !former.isRequired)
    }
    requireDifferent(isOneTable)
    if !settings.isEmpty {
      statements.append("UPDATE \(place.tableName) SET \(SQL.joined(settings))\(place.filter)")
    }
    for (former, new) in places.links { try carryLinks(name(former.name), new) }
    for (member, new) in places.members { carryMembers(member, new) }
    let ids = place.ids
    checks += places.memberChecks(in: model) { column, former in
      "CASE WHEN \(column) IN \(ids) THEN \(column) ELSE \(former) END"
    }
  }

  private func isShared(_ name: String) -> Bool { places.shared.contains(name) }

  private mutating func carry(_ former: AttributeDescription, _ new: AttributeDescription) {
    let column = SQLName(former.name)
    let value: SQL =
      former.type == new.type ? "\(column)" : "CAST(\(column) AS \(written: new.type.sqlType))"
    carry(
      former.name, column, SQLName(new.name), new.name, value,
      isRequired: former.isOptional && !new.isOptional, default: new.defaultValue)
  }

  /// - Parameters:
  ///   - value: The value of the column as that of the other one; the column where it is one already.
  ///   - isRequired: Whether the other one takes no NULL, and this may have one.
  ///   - default: What stands there where nobody has said anything else.
  private mutating func carry(
    _ name: String, _ column: SQLName, _ target: SQLName, _ newName: String, _ value: SQL? = nil,
    isRequired: Bool, default filling: DefaultValue? = nil
  ) {
    let value = value ?? "\(column)"
    let (source, destination) = (places.source.name, places.destination.name)
    if isShared(newName) {
      // They had it before: what it holds stays where nothing else comes, and is not written over.
      var taken: SQL = "\(column) NOT NULL AND \(target) NOT NULL AND \(target) IS NOT \(value)"
      if let filling { taken.append(" AND \(target) IS NOT \(written: filling.sql)") }
      check(
        taken,
        "%d objects of \(source) have both \(name) and \(newName), and one is left; clear one of them by a transform before"
      )
      give(newName, target, "ifnull(\(value), \(target))")
    } else if let filling, isRequired {
      give(newName, target, "ifnull(\(value), \(written: filling.sql))")
    } else {
      if isRequired {
        check(
          "\(column) IS NULL",
          "%d objects of \(source) have no \(name), and \(destination) requires it; fill it by a transform before"
        )
      }
      give(newName, target, value)
    }
  }

  private mutating func give(_ name: String, _ target: SQLName, _ value: SQL) {
    settings.append("\(target) = \(value)")
    given[name] = value
  }

  /// What is unique in the destination is so among the objects of both: where they get anything of it, and have the rest.
  private mutating func requireDifferent(_ isOneTable: Bool) {
    let all = places.destination
    let others = place.condition().map { "\(place.tableName) WHERE NOT (\($0))" as SQL }
    for key in all.uniqueKeys where key.contains(where: { given[$0] != nil }) {
      let coming = ComingKey(key, of: all, rows: "\(place.tableName)\(place.filter)", others: others) {
        property in
        if let value = given[property] { return value }
        guard isOneTable, !isShared(property) else {
          return "\(identifier: all.relationship(named: property)?.columnName ?? property)"
        }
        return all.attribute(named: property)?.defaultValue.map { "\(written: $0.sql)" }
      }
      if let coming { checks.append(coming.check(rowsOf: places.source.name)) }
    }
  }

  private mutating func check(_ condition: SQL, _ message: String) {
    checks.append(
      .check(.init(rows: "\(place.tableName) WHERE \(place.own(condition))"), message: message))
  }

  private mutating func carryLinks(_ name: String, _ new: RelationshipDescription) throws(ModelError) {
    let current = try model.known(places.source.name, inherited: name)
    let (old, links) = (
      try model.links(of: current, in: places.source), try model.links(of: new, in: places.destination)
    )
    // Where they had the other ones before, too, a link may be there.
    let insert: SQL = isShared(new.name) ? "INSERT OR IGNORE" : "INSERT"
    statements.append(
      "\(insert) INTO \(links.table) (\(links.own), \(links.other)) SELECT l.\(old.own), l.\(old.other) FROM \(old.table) AS l WHERE l.\(old.own) IN \(place.ids)"
    )
  }

  private mutating func carryMembers(_ member: MergePlaces.End, _ new: RelationshipDescription) {
    let owner = SQLName(model.root(of: member.entity.name))
    let (column, target) = (SQLName(member.relationship.columnName), SQLName(new.columnName))
    checks.append(
      member.refusing(
        both: new, from: owner,
        where: "\(column) IN \(place.ids) AND \(target) NOT NULL AND \(target) IS NOT \(column)"))
    statements.append("UPDATE \(owner) SET \(target) = \(column) WHERE \(column) IN \(place.ids)")
  }
}
