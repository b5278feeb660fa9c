// What a change of an entity's parent does to rows: they move into another table under new ids, get a
// table of their own, or stay and get other values.

internal import CipherSQLite

/// The rows of an entity whose parent changes, and of its subentities.
struct ParentRows {
  private let change: ParentChange
  private let before: Schema
  private let after: Schema
  private(set) var checks: [CompiledStatement] = []

  /// Where the rows are stored before and after.
  private let old: EntityPlace
  private let new: EntityPlace

  init(_ change: ParentChange, from before: Schema, to after: Schema) {
    (self.change, self.before, self.after) = (change, before, after)
    old =
      before.root(of: change.entity.name) == change.entity.name
      ? EntityPlace(table: change.entity.name, entities: []) : before.place(of: change.entity.name)
    new = after.place(of: change.entity.name)
    checks = gained.compactMap(check) + uniqueChecks + release.checks + ownChecks
  }

  /// The id that an object has after its move into another table.
  static func newID(_ id: SQL) -> SQL { IDMap.moved.other(of: id) }

  // MARK: Checks

  private enum Gained {
    case attribute(AttributeDescription, own: AttributeDescription?)
    case toOne(RelationshipDescription)

    var name: String {
      switch self {
      case .attribute(let attribute, _): attribute.name
      case .toOne(let relationship): relationship.name
      }
    }
  }

  /// The attributes and to-ones that the rows newly inherit.
  private var gained: [Gained] {
    change.joined.flatMap { above in
      above.attributes.map {
        .attribute($0, own: change.way == .into ? change.entity.attribute(named: $0.name) : nil)
      }
        + above.relationships.filter { $0.hasColumn }.map { .toOne($0) }
    }
  }

  private func check(_ gained: Gained) -> CompiledStatement? {
    let (name, condition): (String, SQL?)
    switch gained {
    case .attribute(let attribute, let own):
      guard !attribute.isOptional, attribute.defaultValue == nil, own?.isOptional != false else { return nil }
      (name, condition) = (attribute.name, own.map { "\(identifier: $0.name) IS NULL" })
    case .toOne(let relationship):
      guard relationship.isRequired else { return nil }
      (name, condition) = (relationship.name, nil)
    }
    return .mustBeEmpty(
      RowCheck(
        .required, of: change.entity.name, [name], at: old, where: condition,
        message:
          "%d objects of \(change.entity.name) would have no \(name), which \(change.parent ?? "") requires; "
          + "first fill it, or make it optional"))
  }

  /// Checks that the values of the rows stay unique: in the keys that they newly inherit, and in their own
  /// keys that contain newly inherited properties.
  private var uniqueChecks: [CompiledStatement] {
    let gained = Set(gained.map(\.name))
    func isAsked(_ key: [String]) -> Bool { !gained.isDisjoint(with: key) }
    return change.joined.flatMap { above in
      above.uniqueKeys.filter(isAsked).compactMap { check(key: $0, of: above, besideOthers: true) }
    }
      + change.moved.compactMap { after.entity(named: $0.name) }.flatMap { own in
        own.uniqueKeys.filter(isAsked).compactMap { check(key: $0, of: own, besideOthers: false) }
      }
  }

  /// Checks one key.
  /// - Parameter besideOthers: Whether other rows of the new table have values of the key.
  /// - Returns: nil if the rows have no value, since NULL equals no other NULL.
  private func check(key: [String], of owner: EntityDescription, besideOthers: Bool) -> CompiledStatement? {
    UniqueKeyCheck(
      key, of: after.flattened(owner), rows: "\(old.tableName) AS a\(filterOfA)",
      others: besideOthers ? "\(new.tableName)" : nil
    ) { value(of: $0, in: owner) }?.check()
  }

  /// The SQL for the value that the rows have in a property after the change; nil for none. The table of
  /// the rows has the alias `a`.
  private func value(of name: String, in owner: EntityDescription) -> SQL? {
    guard !gained.contains(where: { $0.name == name }) else { return value(of: name) }
    let toOne = after.flattened(owner).relationship(named: name)
    return "a.\(identifier: toOne?.columnName ?? name)"
  }

  /// The SQL for the value that the rows, under the alias `a`, have in a newly inherited attribute; nil
  /// for none.
  private func value(of name: String) -> SQL? {
    for case .attribute(let attribute, let own) in gained where attribute.name == name {
      let filling: SQL? = attribute.defaultValue.map { "\(written: $0.sql)" }
      guard own != nil else { return filling }
      let column: SQL = "a.\(identifier: name)"
      guard let filling, !attribute.isOptional else { return column }
      return "ifnull(\(column), \(filling))"
    }
    return nil
  }

  private var filterOfA: SQL { old.condition(SQLName("a")).map { " WHERE \($0)" } ?? "" }

  private var release: ReferenceCleanup {
    ReferenceCleanup(of: change.names, from: change.left, staying: change.way == .within, in: before)
  }

  /// Those to-ones of the rows that refer to an entity to which the rows no longer belong.
  private var strayToOnes: [(entity: EntityDescription, relationship: RelationshipDescription)] {
    guard change.way == .out else { return [] }
    let left = Set(change.left.map(\.name))
    return (change.left + change.moved).flatMap { entity in
      entity.relationships.filter { $0.hasColumn && left.contains($0.destination) }.map { (entity, $0) }
    }
  }

  private func isAstray(_ column: SQL) -> SQL {
    "\(column) IN (SELECT \"id\" FROM \(old.tableName)\(old.filter))"
  }

  private var ownChecks: [CompiledStatement] {
    strayToOnes.filter(\.relationship.isRequired).map { entity, relationship in
      .mustBeEmpty(
        RowCheck(
          .leading, of: entity.name, [relationship.name], at: old,
          where: isAstray("\(identifier: relationship.columnName)"),
          message: "%d objects refer through \(relationship.name), which is required, to an object that will "
            + "no longer be of \(relationship.destination); first make them refer to other objects with a "
            + "transform"))
    }
  }

  // MARK: Statements

  /// The statements that issue new ids for the rows that move into another table.
  var passing: [CompiledStatement] {
    // New ids are above those of both tables: an id of the former table must not become that of another
    // object.
    let highest: SQL =
      "max(\(IdentifierTable.highest(of: new.table)), \(IdentifierTable.highest(of: old.table)))"
    return IDMap.moved.making("SELECT \"id\", \"id\" + \(highest) FROM \(old.tableName)")
      .map { .sql($0.text) }
  }

  var statements: [CompiledStatement] {
    switch change.way {
    case .within: (release.statements + rewriting).map { .sql($0.text) }
    case .into: ([insertion] + [IDMap.moved.ending]).map { .sql($0.text) }
    case .out:
      ([insertion] + release.statements + ["DELETE FROM \(old.tableName)\(old.filter)"]).map { .sql($0.text) }
    }
  }

  /// Raises the high-water mark of the new table to that of the former one, which may have issued ids
  /// above those of its present rows.
  var mark: CompiledStatement {
    .sql(IdentifierTable.renaming([(new.table, old.table)]))
  }

  /// Clears what the rows no longer inherit, and sets what they now inherit to its default.
  private var rewriting: [SQL] {
    var settings: [SQL] = []
    for above in change.left {
      settings += above.attributes.map { "\(identifier: $0.name) = NULL" }
      for relationship in above.relationships where relationship.hasColumn {
        settings.append("\(identifier: relationship.columnName) = NULL")
        if let order = before.orderColumn(of: relationship) { settings.append("\(identifier: order) = NULL") }
      }
    }
    for case .attribute(let attribute, _) in gained {
      if let value = attribute.defaultValue {
        settings.append("\(identifier: attribute.name) = \(written: value.sql)")
      }
    }
    return settings.isEmpty ? [] : ["UPDATE \(old.tableName) SET \(SQL.joined(settings))\(old.filter)"]
  }

  /// Inserts the rows into the table that stores them after the change.
  private var insertion: SQL {
    var (columns, values): ([SQL], [SQL]) = (
      ["\"id\"", "\"_version\""],
      [change.way == .into ? "m.vault_other" : "a.\"id\"", "a.\"_version\""]
    )
    if after.entity(named: new.table).map(after.isInHierarchy) == true {
      columns.append("\(identifier: EntityColumn.name)")
      values.append(
        change.moved.count > 1 || change.way == .out
          ? "a.\(identifier: EntityColumn.name)" : "\(literal: change.entity.name)")
    }
    for case .attribute(let attribute, _) in gained {
      guard let value = value(of: attribute.name) else { continue }
      columns.append("\(identifier: attribute.name)")
      values.append(value)
    }
    for entity in change.moved { addOwn(of: entity, columns: &columns, values: &values) }
    let passing: SQL = change.way == .into ? IDMap.moved.joined : ""
    return
      "INSERT INTO \(new.tableName) (\(SQL.joined(columns))) SELECT \(SQL.joined(values)) FROM \(old.tableName) AS a\(passing)\(filterOfA)"
  }

  /// Adds the columns and values of the properties that an entity declares after the change.
  private func addOwn(of former: EntityDescription, columns: inout [SQL], values: inout [SQL]) {
    guard let entity = after.entity(named: former.name) else { return }
    for attribute in entity.attributes {
      columns.append("\(identifier: attribute.name)")
      values.append("a.\(identifier: attribute.name)")
    }
    for relationship in entity.relationships where relationship.hasColumn {
      let value: SQL = "a.\(identifier: relationship.columnName)"
      columns.append("\(identifier: relationship.columnName)")
      if change.way == .into, change.moves(relationship.destination) {
        values.append(Self.newID(value))
      } else if strayToOnes.contains(where: { $0.relationship.name == relationship.name }) {
        values.append("CASE WHEN \(isAstray(value)) THEN NULL ELSE \(value) END")
      } else {
        values.append(value)
      }
      if let order = after.orderColumn(of: relationship) {
        columns.append("\(identifier: order)")
        values.append("a.\(identifier: order)")
      }
    }
  }
}
