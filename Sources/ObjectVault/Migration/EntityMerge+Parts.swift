// What a merge of two entities does to rows: objects get ids of the other entity, and whoever leads to them hears of it.

internal import CipherSQLite

extension EntityMerge: CompositeOperation {
  var entities: [String] { [source, destination] }

  func filled(in model: Schema) -> [SwiftTransform.Place] {
    guard let places = try? MergePlaces(self, in: model) else { return [] }
    return places.attributes.map { SwiftTransform.Place(entity: destination, property: $0.to.name) }
  }

  func kept(in model: Schema) -> Set<String> {
    guard let places = try? MergePlaces(self, in: model) else { return [] }
    return Set([source] + (places.redirected + places.dropped).map(\.name))
  }

  func losses(in model: Schema) -> [String] { (try? MergePlaces(self, in: model).losses) ?? [] }

  func wayBack(from model: Schema, isNew: (String) -> Bool) -> MigrationWayBack {
    .none(reason: "which objects of \(destination) were of \(source) is not known any more")
  }

  func parts(in model: Schema) throws(ModelError) -> [CompositePart] {
    let places = try MergePlaces(self, in: model)
    let detours = places.redirected.map { Detour($0, to: destination) }
    var after = model
    for detour in detours { try detour.making.apply(to: &after) }
    let rows = try MergeRows(places, detours, in: after)
    return rows.checks.map { .check($0) } + detours.map { .operation($0.making) }
      + rows.statements.map { .sql($0) }
      + detours.flatMap(\.closing).map { .operation($0) }
      + places.dropped.flatMap { end -> [CompositePart] in
        (end.entity.indexes(with: end.relationship.name) + [
          .dropRelationship(end.entity.name, end.relationship.name)
        ])
        .map { .operation($0) }
      } + [.operation(.dropEntity(source))]
  }
}

extension EntityDescription {
  /// What drops the indexes that a property is in.
  fileprivate func indexes(with property: String) -> [MigrationOperation] {
    indexes.filter { $0.properties.contains(property) }.map { .dropIndex(name, $0.properties) }
  }
}

/// A relationship that leads elsewhere: one beside it gets its links, and then its name.
private struct Detour {
  let end: MergePlaces.End
  let passing: RelationshipDescription

  init(_ end: MergePlaces.End, to destination: String) {
    self.end = end
    let former = end.relationship
    let taken = Set(end.entity.propertyNames.map { $0.lowercased() })
    let candidates = (0...taken.count).lazy.map { "\(former.name)Merged\($0 == 0 ? "" : "\($0)")" }
    let name = candidates.first { !taken.contains($0.lowercased()) } ?? former.name
    passing = RelationshipDescription(
      name: name, destination: destination, isToMany: former.isToMany, deleteRule: former.deleteRule)
  }

  var making: MigrationOperation { .addRelationship(end.entity.name, passing) }

  /// What puts it in the place of the former one.
  var closing: [MigrationOperation] {
    let (entity, name) = (end.entity.name, end.relationship.name)
    return end.entity.indexes(with: name)
      + [.dropRelationship(entity, name), .renameRelationship(entity, passing.name, to: name)]
      + (end.relationship.isRequired ? [.makeRequired(entity, name, filling: nil)] : [])
      + end.entity.indexes.filter { $0.properties.contains(name) }.map { .addIndex(entity, $0) }
  }
}

/// The statements of a merge, on the model that has the passing relationships, too.
private struct MergeRows {
  private(set) var checks: [CompiledStatement] = []
  private(set) var statements: [SQL] = []

  private let places: MergePlaces
  private let model: Schema
  private var from: SQLName { SQLName(places.source.name) }
  private var to: SQLName { SQLName(places.destination.name) }

  init(_ places: MergePlaces, _ detours: [Detour], in model: Schema) throws(ModelError) {
    (self.places, self.model) = (places, model)
    let table = PassingTable.name
    statements = [
      PassingTable.drop, "CREATE TABLE \(table) (vault_own INTEGER PRIMARY KEY, vault_other INTEGER)",
      "INSERT INTO \(table) SELECT \"id\", \"id\" + \(IdentifierTable.highest(of: places.destination.name)) FROM \(from)",
    ]
    insertObjects()
    for (former, new) in places.links { try moveLinks(former, new) }
    for (member, new) in places.members { moveMembers(member, new) }
    for detour in detours { try redirect(detour) }
    statements.append(PassingTable.end)
  }

  /// The id that an object of the source has from now on.
  private func newID(_ id: SQL) -> SQL {
    "(SELECT vault_other FROM \(PassingTable.name) WHERE vault_own = \(id))"
  }

  private mutating func insertObjects() {
    var (columns, values): ([SQL], [SQL]) = (
      ["\"id\"", "\"_version\""], ["m.vault_other", "a.\"_version\""]
    )
    for (former, new) in places.attributes {
      columns.append("\(identifier: new.name)")
      let column: SQL = "a.\(identifier: former.name)"
      let value: SQL =
        former.type == new.type ? column : "CAST(\(column) AS \(written: new.type.sqlType))"
      if former.isOptional, !new.isOptional, let filling = new.defaultValue {
        values.append("ifnull(\(value), \(written: filling.sql))")
      } else {
        values.append(value)
        if former.isOptional, !new.isOptional { requireValue(former.name, "\(identifier: former.name)") }
      }
    }
    for (former, new) in places.toOnes {
      columns.append("\(identifier: new.columnName)")
      let column: SQL = "a.\(identifier: former.columnName)"
      values.append(former.destination == places.source.name ? newID(column) : column)
      if new.isRequired, !former.isRequired {
        requireValue(former.name, "\(identifier: former.columnName)")
      }
    }
    statements.append(
      "INSERT INTO \(to) (\(SQL.joined(columns))) SELECT \(SQL.joined(values)) FROM \(from) AS a JOIN \(PassingTable.name) AS m ON m.vault_own = a.\"id\""
    )
  }

  private mutating func requireValue(_ name: String, _ column: SQL) {
    let (source, destination) = (places.source.name, places.destination.name)
    checks.append(
      .check(
        query: "SELECT count(*) FROM \(from) WHERE \(column) IS NULL",
        rows: "SELECT \"id\" FROM \(from) WHERE \(column) IS NULL ORDER BY \"id\" LIMIT 5",
        message:
          "%d objects of \(source) have no \(name), and \(destination) requires it; fill it by a transform before"
      ))
  }

  private func join(_ relationship: RelationshipDescription, of entity: EntityDescription) throws(ModelError)
    -> (
      table: SQLName, own: SQLName, other: SQLName
    )
  {
    let owner = model.entity(named: entity.name) ?? entity
    guard let (join, isSource) = model.joinTable(of: relationship, in: owner) else {
      throw ModelError(reason: "\(entity.name).\(relationship.name) keeps no links of its own")
    }
    let columns = join.columns(from: isSource)
    return (join.tableName, columns.own, columns.other)
  }

  private mutating func moveLinks(_ former: RelationshipDescription, _ new: RelationshipDescription)
    throws(ModelError)
  {
    let (old, links) = (try join(former, of: places.source), try join(new, of: places.destination))
    let other: SQL = "l.\(old.other)"
    let target = former.destination == places.source.name ? newID(other) : other
    statements.append(
      "INSERT INTO \(links.table) (\(links.own), \(links.other)) SELECT \(newID("l.\(old.own)")), \(target) FROM \(old.table) AS l"
    )
  }

  private mutating func moveMembers(_ member: MergePlaces.End, _ new: RelationshipDescription) {
    let owner = SQLName(model.root(of: member.entity.name))
    let (column, target) = (SQLName(member.relationship.columnName), SQLName(new.columnName))
    let both: SQL = "FROM \(owner) WHERE \(column) NOT NULL AND \(target) NOT NULL"
    checks.append(
      .check(
        query: "SELECT count(*) \(both)", rows: "SELECT \"id\" \(both) ORDER BY \"id\" LIMIT 5",
        message:
          "%d objects of \(member.entity.name) have both \(member.relationship.name) and \(new.name), and one "
          + "is left; clear one of them by a transform before"))
    statements.append("UPDATE \(owner) SET \(target) = \(newID("\(column)")) WHERE \(column) NOT NULL")
  }

  private mutating func redirect(_ detour: Detour) throws(ModelError) {
    let former = detour.end.relationship
    if former.isToMany {
      let (old, links) = (
        try join(former, of: detour.end.entity), try join(detour.passing, of: detour.end.entity)
      )
      statements.append(
        "INSERT INTO \(links.table) (\(links.own), \(links.other)) SELECT l.\(old.own), \(newID("l.\(old.other)")) FROM \(old.table) AS l"
      )
    } else {
      let column = SQLName(former.columnName)
      statements.append(
        "UPDATE \(identifier: model.root(of: detour.end.entity.name)) SET \(identifier: detour.passing.columnName) = \(newID("\(column)")) WHERE \(column) NOT NULL"
      )
    }
  }
}
