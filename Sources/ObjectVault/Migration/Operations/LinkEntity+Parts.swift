// The parts of `make entity … a relationship` and of `make relationship … an entity`: objects become
// links, and links become objects.

internal import CipherSQLite

extension EntityToRelationship: CompositeOperation {
  static let forms = [
    OperationForm("make", "entity") { line in
      let entity = try line.name("the entity's name")
      try line.expect("a")
      try line.expect("relationship")
      let (owner, name) = try line.property()
      try line.expect("->")
      let destination = try line.name("the entity at the other end")
      var inverse: String?
      if line.take("inverse") {
        inverse = try line.inverse(of: RelationshipDescription(name: name, destination: destination))
      }
      return [
        .makeEntityRelationship(
          EntityToRelationship(
            entity, owner: owner, relationship: name, destination: destination, inverse: inverse,
            from: line.take("from") ? try line.name("the to-one that refers to \(owner)") : nil))
      ]
    }
  ]

  func kept(in model: Schema) -> Set<String> { [entity] }
  var subject: OperationSubject { .mergedEntity(entity, into: nil) }

  // A join table has only two columns, both with ids of existing objects.
  func filled(in model: Schema) -> [TransformAccess.Place] { [] }
  func losses(in model: Schema) -> [String] {
    guard let link = model.entity(named: entity) else { return [] }
    return model.flattened(link).attributes.map { "\(entity).\($0.name)" }
      + model.descendants(of: link).flatMap { below in below.attributes.map { "\(below.name).\($0.name)" } }
  }

  func parts(in model: Schema) throws(ModelError) -> [CompositePart] {
    let link = try model.known(entity)
    let (own, other) = try ends(model)
    try requireNoMore(link, in: model)
    // An inherited end keeps its inverse, for the other entities that inherit the end.
    let declared = [own, other].filter { link.relationship(named: $0.name) != nil }
    for end in declared { try model.requireNoOrder(end.destination, end.inverse) }
    var operations: [MigrationOperation] = [
      .addRelationship(
        owner,
        RelationshipDescription(
          name: relationship, destination: destination, isToMany: true, inverse: inverse))
    ]
    if let inverse {
      operations.append(
        .addRelationship(
          destination,
          RelationshipDescription(name: inverse, destination: owner, isToMany: true, inverse: relationship)))
    }
    var after = model
    for operation in operations { try operation.apply(to: &after) }
    let made = try after.known(owner, relationship: relationship)
    guard let (join, isSource) = after.joinTable(of: made, in: try after.known(owner)) else {
      throw ModelError(reason: "\(owner).\(relationship) would have no links of its own")
    }
    let place = model.place(of: entity)
    let (ownColumn, otherColumn) = (SQLName(own.columnName), SQLName(other.columnName))
    let columns = join.columns(from: isSource)
    let inverses = declared.compactMap { end in end.inverse.map { (end.destination, $0) } }
    let gone =
      [entity] + after.parentsFirst.map(\.name).filter(Set(after.descendants(of: link).map(\.name)).contains)
    var parts: [CompositePart] = linkable(place, own: ownColumn, other: otherColumn).map { .check($0) }
    parts += operations.map { .operation($0) }
    parts.append(
      .sql(
        "INSERT INTO \(join.tableName) (\(columns.own), \(columns.other)) SELECT \(ownColumn), \(otherColumn) FROM \(place.tableName)\(place.filter)"
      ))
    parts += inverses.map { .operation(.dropRelationship($0.0, $0.1)) }
    return parts + gone.reversed().map { .operation(.dropEntity($0)) }
  }

  /// Checks that each object has both ends, and that no two objects have the same ends.
  private func linkable(_ place: EntityPlace, own: SQLName, other: SQLName) -> [CompiledStatement] {
    let table = place.tableName
    let isLone: SQL = "\(own) IS NULL OR \(other) IS NULL"
    let lone: SQL = "\(table) WHERE \(place.condition().map { "(\(isLone)) AND \($0)" } ?? isLone)"
    let twice: SQL = "\(table)\(place.filter) GROUP BY \(own), \(other) HAVING count(*) > 1"
    return [
      .check(
        .init(rows: lone),
        message:
          "%d objects of \(entity) lack one end of the link; first delete such objects with a transform"),
      .check(
        .init(groups: twice),
        message:
          "%d pairs are linked by several \(entity), but a link can exist only once; first delete the others "
          + "with a transform"),
    ]
  }

  /// Refuses an entity that has a relationship without a column, or whose subentities declare any
  /// relationship. `ends` refuses a third to-one.
  private func requireNoMore(_ link: EntityDescription, in model: Schema) throws(ModelError) {
    for owner in model.ancestors(of: link) + [link] {
      guard let more = owner.relationships.first(where: { !$0.hasColumn }) else { continue }
      let number = more.isToMany ? "many objects" : "a third object"
      throw ModelError(
        reason: owner.name == entity
          ? "\(entity).\(more.name) refers to \(number), but a link has only two ends; drop it first"
          : "\(entity) inherits \(owner.name).\(more.name), which refers to \(number), but a link has only "
            + "two ends; first write: set parent of \(entity) to none")
    }
    for below in model.descendants(of: link) {
      guard let more = below.relationships.first else { continue }
      throw ModelError(
        reason: "\(below.name).\(more.name) refers to another object, but a link has only two ends; drop it "
          + "first")
    }
  }

  func rollback(from model: Schema, isNew: (String) -> Bool) -> MigrationRollback {
    .none(reason: "the ids of the objects of \(entity) are lost")
  }

  func note(in trail: inout NameHistory, _ mapping: SegmentMapping, _ model: Schema) {
    trail.noteParts(of: self, droppingRows: true, mapping: mapping, in: model)
  }

  /// The two to-ones that become the ends of a link.
  private func ends(_ model: Schema) throws(ModelError) -> (
    own: RelationshipDescription, other: RelationshipDescription
  ) {
    let toOnes = model.flattened(try model.known(entity)).relationships.filter { $0.hasColumn }
    if let from { _ = try model.known(entity, inherited: from) }
    // An end may reference a subentity of the named entity, because objects of a subentity are objects of
    // the named entity too.
    func leads(_ end: RelationshipDescription, to name: String) -> Bool {
      model.line(of: end.destination).contains(name)
    }
    let exact = toOnes.filter { $0.destination == owner }
    let owns =
      from.map { from in toOnes.filter { $0.name == from } }
      ?? (exact.isEmpty ? toOnes.filter { leads($0, to: owner) } : exact)
    let others = toOnes.filter { other in !owns.contains(other) }
    if let own = owns.first, owns.count == 1, leads(own, to: owner), let other = others.first,
      others.count == 1, leads(other, to: destination)
    {
      return (own, other)
    }
    let names = toOnes.map { "\(entity).\($0.name)" }.joined(separator: ", ")
    throw ModelError(
      reason: owns.count > 1 && toOnes.count == 2
        ? "\(names) both refer to \(owner); state which is the end of \(owner).\(relationship): from "
          + "\(toOnes[0].name)"
        : "\(entity) is not a link between \(owner) and \(destination): it needs exactly one to-one to each, "
          + "and no other (it has \(names))"
    )
  }
}

extension RelationshipToEntity: CompositeOperation {
  static let forms = [
    OperationForm("make", "relationship") { line in
      let (owner, relationship) = try line.property()
      try line.expect("an")
      try line.expect("entity")
      let entity = try line.name("the entity's name")
      let column = line.column
      let names = try line.names()
      guard names.count == 2, names[0] != names[1] else {
        throw line.failure(
          "a link has two ends", hint: "write the two to-ones of \(entity): (user, group)", at: column)
      }
      var inverses: RelationshipToEntity.Inverses?
      if line.take("inverse") {
        let own = try line.inverse(of: RelationshipDescription(name: relationship, destination: owner))
        try line.expect(",")
        let (destination, other) = try line.property()
        inverses = RelationshipToEntity.Inverses(own: own, destination: destination, other: other)
      }
      return [
        .makeRelationshipEntity(
          RelationshipToEntity(
            owner: owner, relationship: relationship, to: entity, own: names[0], other: names[1],
            inverses: inverses
          ))
      ]
    }
  ]

  func losses(in model: Schema) -> [String] { [] }
  // The two to-ones get their ids from the links, which reference existing objects.
  func filled(in model: Schema) -> [TransformAccess.Place] { [] }
  func kept(in model: Schema) -> Set<String> {
    let former = model.entity(named: owner)?.relationship(named: relationship)
    return Set(
      ["\(owner).\(relationship)"]
        + (former.flatMap { end in end.inverse.map { "\(end.destination).\($0)" } }.map { [$0] } ?? []))
  }
  var subject: OperationSubject { .parts }

  func parts(in model: Schema) throws(ModelError) -> [CompositePart] {
    try model.requireDeclared(owner, property: relationship)
    let former = try model.known(owner, relationship: relationship)
    guard let (join, isSource) = model.joinTable(of: former, in: try model.known(owner)) else {
      throw ModelError(reason: "\(owner).\(relationship) is not many-to-many, so it has no links of its own")
    }
    try model.requireNoOrder(owner, relationship)
    try model.requireNoOrder(former.destination, former.inverse)
    guard former.destination != owner || former.inverse != relationship else {
      throw ModelError(reason: "\(owner).\(relationship) is its own inverse, so its links have no first end")
    }
    if let inverses, inverses.destination != former.destination {
      throw ModelError(
        reason: "\(owner).\(relationship) refers to \(former.destination), not to \(inverses.destination)")
    }
    let operations = operations(leadingTo: former.destination)
    let columns = join.columns(from: isSource)
    // Links have no ids. The number of a link in this table determines the id of its object.
    let (ids, table) = (IDMap.moved, IDMap.moved.table)
    let rows: [SQL] = [
      ids.clearing,
      "CREATE TABLE \(table) (vault_link INTEGER PRIMARY KEY, vault_own INTEGER, vault_other INTEGER)",
      "INSERT INTO \(table) (vault_own, vault_other) SELECT \(columns.own), \(columns.other) FROM \(join.tableName) ORDER BY 1, 2",
      "INSERT INTO \(identifier: entity) (\"id\", \"_version\", \(identifier: RelationshipDescription.columnName(own)), \(identifier: RelationshipDescription.columnName(other))) SELECT vault_link + \(IdentifierTable.highest(of: entity)), \(number: RowVersions.first), vault_own, vault_other FROM \(table)",
      ids.ending,
    ]
    let drops = [(owner, relationship)] + (former.inverse.map { [(former.destination, $0)] } ?? [])
    return operations.map { .operation($0) } + rows.map { .sql($0) }
      + drops.map { .operation(.dropRelationship($0.0, $0.1)) }
  }

  /// The operations that create the entity and, if inverses are named, the to-manys that reference it.
  private func operations(leadingTo destination: String) -> [MigrationOperation] {
    func toOne(_ name: String, to destination: String, inverse: String?) -> RelationshipDescription {
      RelationshipDescription(
        name: name, destination: destination, isRequired: inverse != nil, inverse: inverse)
    }
    func toMany(_ name: String, inverse: String) -> RelationshipDescription {
      RelationshipDescription(
        name: name, destination: entity, isToMany: true, inverse: inverse, deleteRule: .cascade)
    }
    var operations: [MigrationOperation] = [
      .createEntity(
        EntityDescription(
          name: entity,
          relationships: [
            toOne(own, to: owner, inverse: inverses?.own),
            toOne(other, to: destination, inverse: inverses?.other),
          ]))
    ]
    if let inverses {
      operations += [
        .addRelationship(owner, toMany(inverses.own, inverse: own)),
        .addRelationship(destination, toMany(inverses.other, inverse: other)),
      ]
    }
    return operations
  }

  // The links become objects of a new entity, which has no former name.
  func note(in trail: inout NameHistory, _ mapping: SegmentMapping, _ model: Schema) {}

  func rollback(from model: Schema, isNew: (String) -> Bool) -> MigrationRollback {
    guard let former = model.entity(named: owner)?.relationship(named: relationship) else {
      return .none(reason: "its links are lost")
    }
    let back = EntityToRelationship(
      entity, owner: owner, relationship: relationship, destination: former.destination,
      inverse: former.inverse, from: former.destination == owner ? own : nil)
    var operations: [MigrationOperation] = [.makeEntityRelationship(back)]
    let inverse = former.inverse.flatMap { model.entity(named: former.destination)?.relationship(named: $0) }
    for (entity, end) in [(owner, former)] + (inverse.map { [(former.destination, $0)] } ?? [])
    where end.deleteRule != .nullify {
      operations.append(.setDeleteRule(entity, end.name, end.deleteRule))
    }
    return .operations(operations)
  }
}
