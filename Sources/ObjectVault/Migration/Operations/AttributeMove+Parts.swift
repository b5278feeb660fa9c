// What a move of attributes does to rows: who gets an object of its own, and which values would be lost.

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
          "\(former.names.count) attributes move, and \(new.names.count) names are given",
          "give each one name",
          column)
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
  // All that its pieces lose is kept at the other end.
  func losses(in model: Schema) -> [String] { [] }
  func filled(in model: Schema) -> [TransformAccess.Place] {
    attributes.map { TransformAccess.Place(entity: destination, property: $0.new) }
  }
  private var isOutward: Bool { owner == source }

  func parts(in model: Schema) throws(ModelError) -> [CompositePart] {
    let relationship = try checked(model)
    let former = try attributes.map { pair throws(ModelError) in try attribute(pair, model) }
    let moved = zip(passingNames(in: model), zip(attributes, former)).map { name, pair in
      Moved(from: pair.0.name, passing: name, to: pair.0.new, former: pair.1)
    }
    var parts: [CompositePart] = moved.map { attribute in
      .operation(
        .addAttribute(
          destination,
          AttributeDescription(name: attribute.passing, type: attribute.former.type, isOptional: true)))
    }
    parts += isOutward ? outward(relationship, moved, model) : inward(relationship, moved, model)
    for attribute in moved {
      parts += filled(attribute, model).map { .check($0) }
      parts += Self.restored(attribute.former, destination, attribute.passing)
    }
    parts += moved.map { .operation(.dropAttribute(source, $0.from)) }
    return parts
      + moved.filter { $0.passing != $0.to }.map {
        .operation(.renameAttribute(destination, $0.passing, to: $0.to))
      }
  }

  /// An attribute on its way.
  private struct Moved {
    let from: String
    /// What it is called until the former one is gone.
    let passing: String
    let to: String
    let former: AttributeDescription
  }

  /// Entities that share a table have no name twice: one that both ends have waits for the former one to be gone.
  private func passingNames(in model: Schema) -> [String] {
    guard let entity = model.entity(named: destination), model.root(of: source) == model.root(of: destination)
    else { return attributes.map(\.new) }
    let leaving = Set(attributes.map { $0.name.lowercased() })
    var taken = Set(model.family(of: entity).flatMap(\.propertyNames))
    return attributes.map { pair in
      guard leaving.contains(pair.new.lowercased()) else { return pair.new }
      let name = freeName("\(pair.new)Moved", among: taken)
      taken.insert(name)
      return name
    }
  }

  private func checked(_ model: Schema) throws(ModelError) -> RelationshipDescription {
    _ = (try model.known(source), try model.known(destination))
    let found = try model.known(owner, inherited: relationship)
    let other = isOutward ? destination : source
    guard source != destination, owner == source || owner == destination, !found.isToMany,
      model.line(of: other).contains(found.destination)
    else {
      throw ModelError(
        reason:
          "\(owner).\(relationship) is no to-one between \(source) and \(destination), by which values could move"
      )
    }
    return found
  }

  private func attribute(_ pair: PropertyPair, _ model: Schema) throws(ModelError) -> AttributeDescription {
    let entity = try model.known(source)
    if let attribute = entity.attribute(named: pair.name) { return attribute }
    try model.requireDeclared(source, pair.name)
    let hint = didYouMean(nearest(pair.name, among: entity.attributes.map(\.name)))
    throw ModelError(reason: "there is no attribute \(source).\(pair.name)\(hint.map { "; \($0)" } ?? "")")
  }

  /// That everything at the destination gets a value of what was required, and has no default to be filled with.
  private func filled(_ attribute: Moved, _ model: Schema) -> [CompiledStatement] {
    guard !attribute.former.isOptional, attribute.former.defaultValue == nil else { return [] }
    let place = model.place(of: destination)
    let lacking: SQL =
      "FROM \(place.tableName) WHERE \(place.own("\(identifier: attribute.passing) IS NULL"))"
    return [
      .check(
        query: "SELECT count(*) \(lacking)", rows: "SELECT \"id\" \(lacking) ORDER BY 1 LIMIT 5",
        message:
          "%d objects of \(destination) would have no \(attribute.to), as no \(source) has one for them; write "
          + "make \(source).\(attribute.from) optional before the move, and make \(destination).\(attribute.to) "
          + "required filling VALUE behind it")
    ]
  }

  /// What an attribute was beside its type.
  private static func restored(_ former: AttributeDescription, _ entity: String, _ name: String)
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

  /// Whether a row of the source has anything to move.
  private var hasValue: SQL { .joined(attributes.map { "\(identifier: $0.name) NOT NULL" }, by: " OR ") }

  private func outward(
    _ relationship: RelationshipDescription, _ moved: [Moved], _ model: Schema
  ) -> [CompositePart] {
    let (own, others) = (model.place(of: source), model.place(of: destination))
    let (from, to) = (own.tableName, others.tableName)
    let column = SQLName(relationship.columnName)
    let back = relationship.inverse.flatMap {
      model.entity(named: relationship.destination)?.relationship(named: $0)
    }
    let table = PassingTable.name
    let values = moved.map { attribute -> SQL in
      let led = own.own("s.\(column) = \(to).\"id\"", SQLName("s"))
      return
        "\(identifier: attribute.passing) = (SELECT s.\(identifier: attribute.from) FROM \(from) AS s WHERE \(led) LIMIT 1)"
    }
    let isLedTo: SQL = "\"id\" IN (SELECT \(column) FROM \(from) WHERE \(own.own("\(column) NOT NULL")))"
    let rows: [SQL] = [
      PassingTable.drop, "CREATE TABLE \(table) (vault_own INTEGER PRIMARY KEY, vault_other INTEGER)",
      "INSERT INTO \(table) SELECT \"id\", \"id\" + \(IdentifierTable.highest(of: others.table)) \(lone(column, from))",
      insertion(back, model),
      "UPDATE \(from) SET \(column) = (SELECT vault_other FROM \(table) WHERE vault_own = \(from).\"id\") WHERE \"id\" IN (SELECT vault_own FROM \(table))",
      PassingTable.end,
      "UPDATE \(to) SET \(SQL.joined(values)) WHERE \(others.own(isLedTo))",
    ]
    return outwardChecks(relationship, back, moved, model).map { .check($0) } + rows.map { .sql($0) }
  }

  /// The objects that lead nowhere and have a value.
  private func lone(_ column: SQLName, _ from: SQLName) -> SQL {
    "FROM \(from) WHERE \(column) IS NULL AND (\(hasValue))"
  }

  /// What of the rows would have several values, no place for one, or no object to be made for it.
  private func outwardChecks(
    _ relationship: RelationshipDescription, _ back: RelationshipDescription?, _ moved: [Moved],
    _ model: Schema
  ) -> [CompiledStatement] {
    let (own, others) = (model.place(of: source), model.place(of: destination))
    let (from, column) = (own.tableName, SQLName(relationship.columnName))
    let differs = SQL.joined(moved.map { Self.severalValues($0.former) }, by: " OR ")
    let leading = own.own("\(column) NOT NULL")
    let shared: SQL = "FROM \(from) WHERE \(leading) GROUP BY \(column) HAVING \(differs)"
    let lone = lone(column, from)
    var checks: [CompiledStatement] = [
      .check(
        query: "SELECT count(*) FROM (SELECT 1 \(shared))",
        rows: "SELECT \(column) \(shared) ORDER BY 1 LIMIT 5",
        message: "%d objects of \(destination) are led to by several \(source) with different values; "
          + "make them equal, or give each its own, by a transform before")
    ]
    if relationship.destination != destination {
      let astray: SQL =
        "FROM \(from) WHERE (\(hasValue)) AND \(column) NOT NULL AND \(column) NOT IN \(others.ids)"
      checks.append(
        .check(
          query: "SELECT count(*) \(astray)", rows: "SELECT \"id\" \(astray) ORDER BY 1 LIMIT 5",
          message:
            "%d objects of \(source) have values, and their \(self.relationship) is no \(destination); "
            + "clear them, or let them lead to one, by a transform before"))
    }
    if let missing = model.flattenedEntity(named: destination)?.unfilled(but: back?.name) {
      checks.append(
        .check(
          query: "SELECT count(*) \(lone)", rows: "SELECT \"id\" \(lone) ORDER BY 1 LIMIT 5",
          message: "%d objects of \(source) have no \(self.relationship), and none can be made for them: "
            + "\(destination).\(missing) is required and has no default"))
    }
    return checks + sameDefaults(back, of: "\(from) WHERE \(column) IS NULL AND (\(hasValue))", model)
  }

  /// That the objects of those who lead nowhere differ in what is unique, where their defaults are all that they have.
  private func sameDefaults(
    _ back: RelationshipDescription?, of lone: SQL, _ model: Schema
  ) -> [CompiledStatement] {
    guard let entity = model.flattenedEntity(named: destination) else { return [] }
    return entity.uniqueKeys.compactMap { key in
      let names = key.joined(separator: ", ")
      return ComingKey(
        key, of: entity, rows: lone, others: "\(identifier: model.root(of: destination))"
      ) { property in
        if property == back?.name { return "\"id\"" }
        return entity.attribute(named: property)?.defaultValue.map { "\(written: $0.sql)" }
      }?.check(
        "%d values of \(destination)(\(names)) would be there more than once, by the default of objects that are made for "
          + "\(source) without \(relationship), and UNIQUE takes each once; give them one by a transform before",
        rowsOf: source
      )
    }
  }

  /// The objects of those who lead nowhere.
  private func insertion(_ back: RelationshipDescription?, _ model: Schema) -> SQL {
    var (columns, values): (SQL, SQL) = ("\"id\", \"_version\"", "vault_other, \(number: RowVersions.first)")
    for (column, value) in model.beginnings(of: destination) {
      columns.append(", \(column)")
      values.append(", \(value)")
    }
    if let back, !back.isToMany {
      columns.append(", \(identifier: back.columnName)")
      values.append(", vault_own")
    }
    return
      "INSERT INTO \(identifier: model.root(of: destination)) (\(columns)) SELECT \(values) FROM \(PassingTable.name)"
  }

  private func inward(
    _ relationship: RelationshipDescription, _ moved: [Moved], _ model: Schema
  ) -> [CompositePart] {
    let (place, owners) = (model.place(of: source), model.place(of: destination))
    let (from, to) = (place.tableName, owners.tableName)
    let column = SQLName(relationship.columnName)
    let leading = owners.own("\(column) NOT NULL")
    let lost: SQL =
      "FROM \(from) WHERE (\(hasValue)) AND \"id\" NOT IN (SELECT \(column) FROM \(to) WHERE \(leading))"
    let values = moved.map { attribute -> SQL in
      "\(identifier: attribute.passing) = (SELECT s.\(identifier: attribute.from) FROM \(from) AS s WHERE s.\"id\" = \(to).\(column))"
    }
    return [
      .check(
        .check(
          query: "SELECT count(*) \(lost)", rows: "SELECT \"id\" \(lost) ORDER BY 1 LIMIT 5",
          message:
            "%d objects of \(source) have values, and no \(destination) leads to them; clear or delete them by a "
            + "transform before")),
      .sql("UPDATE \(to) SET \(SQL.joined(values)) WHERE \(leading)"),
    ]
  }

  /// Whether rows of a group have different values. As they are stored: what a collation takes for equal is not.
  private static func severalValues(_ attribute: AttributeDescription) -> SQL {
    // The values themselves: what `quote` makes of a text ends at a NUL, and what it makes of a float has fewer digits.
    let column: SQL = "\(identifier: attribute.name) COLLATE BINARY"
    return "count(DISTINCT \(column)) + (count(\(column)) < count(*)) > 1"
  }

  // MARK: The way back

  /// Who leads nowhere and has a value gets an object, and leads to that.
  func note(in trail: inout NameTrail, _ mapping: SegmentMapping, _ model: Schema) {
    guard isOutward, let entity = model.entity(named: owner) else { return }
    trail.moved(
      model.declarer(of: relationship, in: entity)?.name ?? owner, relationship, mapping, model)
  }

  func wayBack(from model: Schema, isNew: (String) -> Bool) -> MigrationWayBack {
    if isOutward, !isNew(destination) {
      return .none(reason: "the objects of \(destination) that it made would stay")
    }
    let former = attributes.compactMap { model.entity(named: source)?.attribute(named: $0.name) }
    if !isOutward, former.contains(where: { !$0.isOptional && $0.defaultValue != nil }) {
      return .none(reason: "which of them had no value is not known any more")
    }
    let back = AttributeMove(
      attributes.map { PropertyPair($0.new, to: $0.name) }, from: destination, to: source, owner: owner,
      relationship: relationship)
    return .operations([.moveAttributes(back)])
  }
}

extension EntityDescription {
  /// A property that a new row would lack and must not.
  fileprivate func unfilled(but name: String?) -> String? {
    attributes.first { !$0.isOptional && $0.defaultValue == nil }?.name
      ?? relationships.first { !$0.isToMany && $0.isRequired && $0.name != name }?.name
  }
}

extension MigrationLine {
  /// Attributes of one entity.
  fileprivate mutating func attributes() throws -> (entity: String, names: [String]) {
    let (entity, first) = try property()
    var names = [first]
    while take(",") {
      let column = column
      let (other, name) = try property()
      guard other == entity else {
        throw failure(
          "\(other) is another entity than \(entity)", "move those in a line of their own", column)
      }
      names.append(name)
    }
    return (entity, names)
  }
}
