// What a merge of two entities does to rows: objects get ids of the other entity, and whoever leads to them hears of it.

internal import CipherSQLite

extension EntityMerge: CompositeOperation {
  static let forms = [
    OperationForm("merge") { line in
      try line.expect("entity")
      let source = try line.name("the entity that goes")
      try line.expect("into")
      let destination = try line.name("the entity that stays")
      var pairs: [PropertyPair] = []
      if line.take("with") {
        repeat {
          let name = try line.property(of: source)
          try line.expect("->")
          pairs.append(PropertyPair(name, to: try line.property(of: destination)))
        } while line.take(",")
      }
      return [.mergeEntities(EntityMerge(source, into: destination, with: pairs))]
    }
  ]

  var subject: OperationSubject { .mergedEntity(source, into: destination) }

  func filled(in model: Schema) -> [TransformAccess.Place] {
    guard let places = try? places(in: model) else { return [] }
    return places.attributes.map { TransformAccess.Place(entity: destination, property: $0.to.name) }
  }

  func kept(in model: Schema) -> Set<String> {
    if isInFamily(model) { return (try? FamilyMerge(self, in: model).kept) ?? [] }
    guard let places = try? MergePlaces(self, in: model) else { return [] }
    return Set([source] + (places.redirected + places.dropped).map(\.name))
  }

  func losses(in model: Schema) -> [String] { (try? places(in: model).losses) ?? [] }

  func wayBack(from model: Schema, isNew: (String) -> Bool) -> MigrationWayBack {
    .none(reason: "which objects of \(destination) were of \(source) is not known any more")
  }

  /// Links of both stand together, and objects of entities below are in another line, or under other ids.
  func note(in trail: inout NameTrail, _ mapping: SegmentMapping, _ model: Schema) {
    guard let places = try? places(in: model) else { return }
    func owner(_ name: String) -> String {
      model.declarer(of: name, in: places.destination)?.name ?? destination
    }
    for name in (places.toOnes + places.links).map(\.to.name) {
      trail.moved(owner(name), name, mapping, model)
    }
    for (member, to) in places.members { trail.moved(member.entity.name, to.name, mapping, model) }
    guard model.isInFamily(places.source) else { return }
    for name in places.attributes.map(\.to.name) { trail.rewrote(owner(name), name, mapping) }
    trail.noteParts(of: self, droppingRows: false, mapping, model)
  }

  /// Where everything goes.
  func places(in model: Schema) throws(ModelError) -> MergePlaces {
    isInFamily(model) ? try FamilyMerge(self, in: model).places : try MergePlaces(self, in: model)
  }

  /// Whether either of the two shares its table.
  private func isInFamily(_ model: Schema) -> Bool {
    [source, destination].contains { model.entity(named: $0).map(model.isInFamily) == true }
  }

  func parts(in model: Schema) throws(ModelError) -> [CompositePart] {
    if isInFamily(model) { return try FamilyMerge(self, in: model).parts }
    let places = try MergePlaces(self, in: model)
    let detours = places.redirected.map { MergeDetour($0, to: destination, in: model) }
    var after = model
    for detour in detours { try detour.making.apply(to: &after) }
    let rows = try MergeRows(places, detours, in: after)
    return rows.checks.map { .check($0) } + detours.map { .operation($0.making) }
      + rows.statements.map { .sql($0) }
      + detours.flatMap { $0.closing(in: model) }.map { .operation($0) }
      + places.dropped.flatMap { end -> [CompositePart] in
        (model.indexes(with: end.relationship.name, of: end.entity).drops + [
          .dropRelationship(end.entity.name, end.relationship.name)
        ])
        .map { .operation($0) }
      } + [.operation(.dropEntity(source))]
  }
}

/// The statements of a merge, on the model that has the passing relationships, too.
private struct MergeRows {
  private(set) var checks: [CompiledStatement] = []
  private(set) var statements: [SQL] = []

  private let places: MergePlaces
  private let model: Schema
  /// What objects of the source, as `a`, have in properties of the destination from now on.
  private var given: [String: SQL] = [:]
  private var from: SQLName { SQLName(places.source.name) }
  private var to: SQLName { SQLName(places.destination.name) }

  init(_ places: MergePlaces, _ detours: [MergeDetour], in model: Schema) throws(ModelError) {
    (self.places, self.model) = (places, model)
    statements = PassingIDs.moved.making("SELECT \"id\", \"id\" + \(highest) FROM \(from)")
    insertObjects()
    requireDifferent()
    for (former, new) in places.links { try moveLinks(former, new) }
    for (member, new) in places.members { moveMembers(member, new) }
    checks += places.memberChecks(in: model) { column, former in
      "CASE WHEN \(column) NOT NULL THEN \(column) + \(highest) ELSE \(former) END"
    }
    for detour in detours { statements.append(try detour.copy(in: model) { newID($0) }) }
    statements.append(PassingIDs.moved.ending)
  }

  /// What an id of the source is raised by.
  private var highest: SQL { IdentifierTable.highest(of: places.destination.name) }

  /// The id that an object of the source has from now on.
  private func newID(_ id: SQL) -> SQL { PassingIDs.moved.other(of: id) }

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
      given[new.name] = values.last
    }
    for (former, new) in places.toOnes {
      columns.append("\(identifier: new.columnName)")
      let column: SQL = "a.\(identifier: former.columnName)"
      values.append(former.destination == places.source.name ? newID(column) : column)
      given[new.name] = former.destination == places.source.name ? "\(column) + \(highest)" : column
      if new.isRequired, !former.isRequired {
        requireValue(former.name, "\(identifier: former.columnName)")
      }
    }
    statements.append(
      "INSERT INTO \(to) (\(SQL.joined(columns))) SELECT \(SQL.joined(values)) FROM \(from) AS a\(PassingIDs.moved.joined)"
    )
  }

  /// What is unique in the destination is so among the objects of both.
  private mutating func requireDifferent() {
    checks += places.destination.uniqueKeys.compactMap { key in
      ComingKey(key, of: places.destination, rows: "\(from) AS a", others: "\(to)") { property in
        given[property]
          ?? places.destination.attribute(named: property)?.defaultValue.map { "\(written: $0.sql)" }
      }?.check(rowsOf: places.source.name)
    }
  }

  private mutating func requireValue(_ name: String, _ column: SQL) {
    let (source, destination) = (places.source.name, places.destination.name)
    checks.append(
      .check(
        .init(rows: "\(from) WHERE \(column) IS NULL"),
        message:
          "%d objects of \(source) have no \(name), and \(destination) requires it; fill it by a transform before"
      ))
  }

  private mutating func moveLinks(_ former: RelationshipDescription, _ new: RelationshipDescription)
    throws(ModelError)
  {
    let (old, links) = (
      try model.links(of: former, in: places.source), try model.links(of: new, in: places.destination)
    )
    let other: SQL = "l.\(old.other)"
    let target = former.destination == places.source.name ? newID(other) : other
    statements.append(
      "INSERT INTO \(links.table) (\(links.own), \(links.other)) SELECT \(newID("l.\(old.own)")), \(target) FROM \(old.table) AS l"
    )
  }

  private mutating func moveMembers(_ member: MergePlaces.End, _ new: RelationshipDescription) {
    let owner = SQLName(model.root(of: member.entity.name))
    let (column, target) = (SQLName(member.relationship.columnName), SQLName(new.columnName))
    checks.append(
      member.refusing(both: new, from: owner, where: "\(column) NOT NULL AND \(target) NOT NULL"))
    statements.append("UPDATE \(owner) SET \(target) = \(newID("\(column)")) WHERE \(column) NOT NULL")
  }
}

extension MigrationLine {
  fileprivate mutating func property(of entity: String) throws -> String {
    let column = column
    let (owner, name) = try property()
    guard owner == entity else {
      throw failure("\(owner).\(name) is no property of \(entity)", "write \(entity).\(name)", column)
    }
    return name
  }
}
