// The parts of `move attribute`. They copy each value from a row of the source to its partner, the row of
// the destination that a to-one connects with it. A move away from the to-one's owner also creates
// partners for rows that have a value and no partner. AttributeMove+Checks finds the rows that the
// operation refuses.

internal import CipherSQLite

extension AttributeMove: CompositeOperation {
  static let forms = [
    OperationForm("move") { line in
      try line.expect("attribute")
      let former = try line.attributes()
      try line.expect("->")
      let column = line.column
      let new = try line.attributes()
      try line.expect("by")
      let (owner, relationship) = try line.property()
      guard former.names.count == new.names.count, Set(new.names).count == new.names.count else {
        throw line.failure(
          "each attribute needs its own new name (attributes: \(former.names.count), names: "
            + "\(new.names.count))",
          hint: "write a different new name for each",
          at: column)
      }
      return [
        .moveAttributes(
          AttributeMove(
            zip(former.names, new.names).map { PropertyPair($0, to: $1) }, from: former.entity,
            to: new.entity, owner: owner, relationship: relationship))
      ]
    }
  ]

  func kept(in model: Schema) -> Set<String> { Set(attributes.map { "\(source).\($0.name)" }) }
  var subject: OperationSubject { .parts }
  // The values of the dropped attributes are kept at the destination.
  func losses(in model: Schema) -> [String] { [] }
  func filled(in model: Schema) -> [TransformAccess.Place] {
    attributes.map { TransformAccess.Place(entity: destination, property: $0.new) }
  }
  var isAwayFromOwner: Bool { owner == source }
  // All checks run before the first row is written: see AttributeMove+Checks.
  var refusesLate: Bool { false }

  func parts(in model: Schema) throws(ModelError) -> [CompositePart] {
    let way = try way(model)
    let former = try attributes.map { pair throws(ModelError) in try attribute(pair, model) }
    let moved = zip(temporaryNames(in: model), zip(attributes, former)).map { name, pair in
      Moved(from: pair.0.name, temporaryName: name, to: pair.0.new, former: pair.1)
    }
    var parts: [CompositePart] = moved.map { attribute in
      .operation(
        .addAttribute(
          destination,
          AttributeDescription(
            name: attribute.temporaryName, type: attribute.former.type, isOptional: true,
            isLazy: attribute.former.isLazy)))
    }
    parts += checks(way, moved: moved, in: model).map { .check($0) }
    parts += isAwayFromOwner ? outward(way, moved: moved, in: model) : [inward(way, moved: moved, in: model)]
    for attribute in moved {
      parts += Self.restored(attribute.former, of: destination, as: attribute.temporaryName)
    }
    parts += moved.map { .operation(.dropAttribute(source, $0.from)) }
    return parts
      + moved.filter { $0.temporaryName != $0.to }.map {
        .operation(.renameAttribute(destination, $0.temporaryName, to: $0.to))
      }
  }

  /// Returns the names under which the new attributes are added. Names are unique within an inheritance
  /// hierarchy: a new attribute whose name is still used has a temporary one until the source's attribute
  /// is dropped.
  private func temporaryNames(in model: Schema) -> [String] {
    guard let entity = model.entity(named: destination), model.root(of: source) == model.root(of: destination)
    else { return attributes.map(\.new) }
    let leaving = Set(attributes.map { $0.name.lowercased() })
    var taken = Set(model.hierarchy(of: entity).flatMap(\.propertyNames))
    return attributes.map { pair in
      guard leaving.contains(pair.new.lowercased()) else { return pair.new }
      let name = freeName("\(pair.new)Moved", among: taken)
      taken.insert(name)
      return name
    }
  }

  private func way(_ model: Schema) throws(ModelError) -> Way {
    _ = (try model.known(source), try model.known(destination))
    let found = try model.known(owner, inherited: relationship)
    let other = isAwayFromOwner ? destination : source
    guard source != destination, owner == source || owner == destination, !found.isToMany,
      model.line(of: other).contains(found.destination)
    else {
      throw ModelError(
        reason:
          "\(owner).\(relationship) is not a to-one between \(source) and \(destination), which the move "
          + "needs"
      )
    }
    let isAtOwner = found.hasColumn
    let name = isAtOwner ? relationship : found.inverse ?? relationship
    return Way(
      property: name, column: SQLName(RelationshipDescription.columnName(name)),
      isAtSource: isAtOwner == isAwayFromOwner, referencesAncestor: found.destination != destination)
  }

  private func attribute(_ pair: PropertyPair, _ model: Schema) throws(ModelError) -> AttributeDescription {
    let entity = try model.known(source)
    if let attribute = entity.attribute(named: pair.name) { return attribute }
    try model.requireDeclared(source, property: pair.name)
    let hint = didYouMean(nearest(pair.name, among: entity.attributes.map(\.name)))
    throw ModelError(reason: "there is no attribute \(source).\(pair.name)\(hint.map { "; \($0)" } ?? "")")
  }

  /// The operations that give the new attribute the former one's requirement, default and index.
  private static func restored(_ former: AttributeDescription, of entity: String, as name: String)
    -> [CompositePart]
  {
    var operations: [MigrationOperation] = []
    if !former.isOptional { operations.append(.makeRequired(entity, name, filling: former.defaultValue)) }
    if let value = former.defaultValue { operations.append(.setDefault(entity, name, value)) }
    if former.isUnique || former.isIndexed {
      operations.append(
        .addIndex(entity, IndexDescription(properties: [name], isUnique: former.isUnique)))
    }
    return operations.map { .operation($0) }
  }

  // MARK: Rows

  private func outward(_ way: Way, moved: [Moved], in model: Schema) -> [CompositePart] {
    let (own, others) = (model.place(of: source), model.place(of: destination))
    let (from, to) = (own.tableName, others.tableName)
    let ids = IDMap.moved
    let made: SQL = "\"id\" + \(IdentifierTable.highest(of: others.table))"
    var rows: [SQL] = ids.making("SELECT \"id\", \(made) FROM \(lone(way, model))") + [insertion(way, model)]
    if way.isAtSource {
      rows.append(
        "UPDATE \(from) SET \(way.column) = \(ids.other(of: "\(from).\"id\"")) WHERE \"id\" IN (SELECT vault_own FROM \(ids.table))"
      )
    }
    rows += [ids.ending, update(to, by: way, moved: moved, in: model)]
    return rows.map { .sql($0) }
  }

  /// The statement that creates the destination objects, for source rows that have a value and no
  /// partner.
  private func insertion(_ way: Way, _ model: Schema) -> SQL {
    var (columns, values): (SQL, SQL) = ("\"id\", \"_version\"", "vault_other, \(number: RowVersions.first)")
    for (column, value) in model.beginnings(of: destination) {
      columns.append(", \(column)")
      values.append(", \(value)")
    }
    if !way.isAtSource {
      columns.append(", \(way.column)")
      values.append(", vault_own")
    }
    return
      "INSERT INTO \(identifier: model.root(of: destination)) (\(columns)) SELECT \(values) FROM \(IDMap.moved.table)"
  }

  private func inward(_ way: Way, moved: [Moved], in model: Schema) -> CompositePart {
    .sql(update(model.place(of: destination).tableName, by: way, moved: moved, in: model))
  }

  /// The statement that copies the values into the rows of the destination.
  private func update(_ table: SQLName, by way: Way, moved: [Moved], in model: Schema) -> SQL {
    let values = moved.map { attribute -> SQL in
      "\(identifier: attribute.temporaryName) = \(movedValue(attribute.from, by: way, model))"
    }
    let others = model.place(of: destination)
    let isTied: SQL =
      way.isAtSource ? "\"id\" IN (\(partnerIDs(way, model)))" : "\(way.column) NOT NULL"
    return "UPDATE \(table) SET \(SQL.joined(values)) WHERE \(others.condition(and: isTied))"
  }

  // MARK: Rollback

  /// Records that the relationship changed: rows with a value and no partner now have a new object as
  /// partner.
  func note(in trail: inout NameHistory, _ mapping: SegmentMapping, _ model: Schema) {
    guard isAwayFromOwner, let entity = model.entity(named: owner) else { return }
    trail.moved(
      model.declarer(of: relationship, in: entity)?.name ?? owner, property: relationship, mapping: mapping,
      in: model)
  }

  func rollback(from model: Schema, isNew: (String) -> Bool) -> MigrationRollback {
    if isAwayFromOwner, !isNew(destination) {
      return .none(reason: "the objects of \(destination) that it created would remain")
    }
    let former = attributes.compactMap { model.entity(named: source)?.attribute(named: $0.name) }
    if !isAwayFromOwner, former.contains(where: { !$0.isOptional && $0.defaultValue != nil }) {
      return .none(reason: "it is no longer known which objects had no value")
    }
    let back = AttributeMove(
      attributes.map { PropertyPair($0.new, to: $0.name) }, from: destination, to: source, owner: owner,
      relationship: relationship)
    return .operations([.moveAttributes(back)])
  }
}

extension MigrationLine {
  /// Parses attributes of one entity, separated by commas.
  fileprivate mutating func attributes() throws -> (entity: String, names: [String]) {
    let (entity, first) = try property()
    var names = [first]
    while take(",") {
      let column = column
      let (other, name) = try property()
      guard other == entity else {
        throw failure(
          "the attributes are of different entities: \(entity) and \(other)",
          hint: "write a line for each entity", at: column)
      }
      names.append(name)
    }
    return (entity, names)
  }
}
