// What a move of attributes does to rows: who gets an object of its own, and which values would be lost.

internal import CipherSQLite

extension AttributeMove: CompositeOperation {
  func kept(in model: Schema) -> Set<String> { Set(attributes.map { "\(source).\($0.name)" }) }
  var entities: [String] { [source, destination] }
  func filled(in model: Schema) -> [SwiftTransform.Place] {
    attributes.map { SwiftTransform.Place(entity: destination, property: $0.new) }
  }
  private var isOutward: Bool { owner == source }

  func parts(in model: Schema) throws(ModelError) -> [CompositePart] {
    let relationship = try checked(model)
    let former = try attributes.map { pair throws(ModelError) in try attribute(pair, model) }
    var parts: [CompositePart] = zip(attributes, former).map { pair, attribute in
      .operation(
        .addAttribute(
          destination, AttributeDescription(name: pair.new, type: attribute.type, isOptional: true)))
    }
    parts += isOutward ? outward(relationship, former, model) : inward(relationship)
    for (pair, attribute) in zip(attributes, former) {
      parts += Self.restored(attribute, destination, pair.new)
    }
    return parts + attributes.map { .operation(.dropAttribute(source, $0.name)) }
  }

  private func checked(_ model: Schema) throws(ModelError) -> RelationshipDescription {
    _ = (try model.known(source), try model.known(destination))
    let found = try model.known(owner, relationship: relationship)
    let other = isOutward ? destination : source
    guard source != destination, owner == source || owner == destination, found.destination == other,
      !found.isToMany
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
    let hint = didYouMean(nearest(pair.name, among: entity.attributes.map(\.name)))
    throw ModelError(reason: "there is no attribute \(source).\(pair.name)\(hint.map { "; \($0)" } ?? "")")
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
    _ relationship: RelationshipDescription, _ former: [AttributeDescription], _ model: Schema
  ) -> [CompositePart] {
    let (from, to) = (SQLName(source), SQLName(destination))
    let column = SQLName(relationship.columnName)
    let differs = SQL.joined(former.map(Self.severalValues), by: " OR ")
    let shared: SQL = "FROM \(from) WHERE \(column) NOT NULL GROUP BY \(column) HAVING \(differs)"
    let lone: SQL = "FROM \(from) WHERE \(column) IS NULL AND (\(hasValue))"
    var parts: [CompositePart] = [
      .check(
        .check(
          query: "SELECT count(*) FROM (SELECT 1 \(shared))",
          rows: "SELECT \(column) \(shared) ORDER BY 1 LIMIT 5",
          message: "%d objects of \(destination) are led to by several \(source) with different values; "
            + "make them equal, or give each its own, by a transform before"))
    ]
    let back = relationship.inverse.flatMap { model.entity(named: destination)?.relationship(named: $0) }
    if let missing = model.entity(named: destination)?.unfilled(but: back?.name) {
      parts.append(
        .check(
          .check(
            query: "SELECT count(*) \(lone)", rows: "SELECT \"id\" \(lone) ORDER BY 1 LIMIT 5",
            message: "%d objects of \(source) have no \(self.relationship), and none can be made for them: "
              + "\(destination).\(missing) is required and has no default")))
    }
    var (columns, values): (SQL, SQL) = ("\"id\", \"_version\"", "vault_other, \(number: RowVersions.first)")
    if let back, !back.isToMany {
      columns.append(", \(identifier: back.columnName)")
      values.append(", vault_own")
    }
    let moved = attributes.map { pair -> SQL in
      "\(identifier: pair.new) = (SELECT s.\(identifier: pair.name) FROM \(from) AS s WHERE s.\(column) = \(to).\"id\" LIMIT 1)"
    }
    let table = PassingTable.name
    let rows: [SQL] = [
      PassingTable.drop, "CREATE TABLE \(table) (vault_own INTEGER PRIMARY KEY, vault_other INTEGER)",
      "INSERT INTO \(table) SELECT \"id\", \"id\" + \(IdentifierTable.highest(of: destination)) \(lone)",
      "INSERT INTO \(to) (\(columns)) SELECT \(values) FROM \(table)",
      "UPDATE \(from) SET \(column) = (SELECT vault_other FROM \(table) WHERE vault_own = \(from).\"id\") WHERE \"id\" IN (SELECT vault_own FROM \(table))",
      PassingTable.end,
      "UPDATE \(to) SET \(SQL.joined(moved)) WHERE \"id\" IN (SELECT \(column) FROM \(from) WHERE \(column) NOT NULL)",
    ]
    return parts + rows.map { .sql($0) }
  }

  private func inward(_ relationship: RelationshipDescription) -> [CompositePart] {
    let (from, to) = (SQLName(source), SQLName(destination))
    let column = SQLName(relationship.columnName)
    let lost: SQL =
      "FROM \(from) WHERE (\(hasValue)) AND \"id\" NOT IN (SELECT \(column) FROM \(to) WHERE \(column) NOT NULL)"
    let moved = attributes.map { pair -> SQL in
      "\(identifier: pair.new) = (SELECT s.\(identifier: pair.name) FROM \(from) AS s WHERE s.\"id\" = \(to).\(column))"
    }
    return [
      .check(
        .check(
          query: "SELECT count(*) \(lost)", rows: "SELECT \"id\" \(lost) ORDER BY 1 LIMIT 5",
          message:
            "%d objects of \(source) have values, and no \(destination) leads to them; clear or delete them by a "
            + "transform before")),
      .sql("UPDATE \(to) SET \(SQL.joined(moved)) WHERE \(column) NOT NULL"),
    ]
  }

  /// Whether rows of a group have different values. As they are stored: what a collation takes for equal is not.
  private static func severalValues(_ attribute: AttributeDescription) -> SQL {
    let column = SQLName(attribute.name)
    // Texts of floats have fewer digits.
    if case .real = attribute.type.traits.storage {
      return "count(DISTINCT \(column)) + (count(\(column)) < count(*)) > 1"
    }
    return "count(DISTINCT quote(\(column))) > 1"
  }

  // MARK: The way back

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
