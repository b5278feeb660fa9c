// Which rows a move of attributes refuses. All of it is asked before a row is written: then a plan, which writes none, finds
// the same.

internal import CipherSQLite

extension AttributeMove {
  /// An attribute on its way.
  struct Moved {
    let from: String
    /// What it is called until the former one is gone.
    let passing: String
    let to: String
    let former: AttributeDescription
  }

  /// What ties rows of the source to rows of the destination: the column of the relationship, or of a one-to-one that of its other
  /// end.
  struct Way {
    /// The to-one that has the column.
    let property: String
    let column: SQLName
    /// Whether the rows of the source have it, or those of the destination.
    let isAtSource: Bool
    /// Whether the relationship leads to an entity above the destination.
    let leadsAbove: Bool
  }

  /// What must be so of the rows, in the order in which it is asked.
  func checks(_ way: Way, _ moved: [Moved], _ model: Schema) -> [CompiledStatement] {
    (isOutward ? outwardChecks(way, moved, model) : [inwardCheck(way, model)])
      + moved.flatMap { filled($0, by: way, model) + once($0, by: way, model) }
  }

  // MARK: What is lost

  /// Whether a row of the source has anything to move.
  private var hasValue: SQL { .joined(attributes.map { "\(identifier: $0.name) NOT NULL" }, by: " OR ") }

  /// The ids of the rows at the end without the column that a row at the other end is tied to.
  func tied(_ way: Way, _ model: Schema) -> SQL {
    let holders = model.place(of: way.isAtSource ? source : destination)
    return "SELECT \(way.column) FROM \(holders.tableName) WHERE \(holders.own("\(way.column) NOT NULL"))"
  }

  /// The objects that have a value and nobody at the destination, behind `FROM`.
  func lone(_ way: Way, _ model: Schema) -> SQL {
    let isLone: SQL = way.isAtSource ? "\(way.column) IS NULL" : "\"id\" NOT IN (\(tied(way, model)))"
    return "\(model.place(of: source).tableName) WHERE \(isLone) AND (\(hasValue))"
  }

  /// What of the rows would have several values, no place for one, or no object to be made for it.
  private func outwardChecks(_ way: Way, _ moved: [Moved], _ model: Schema) -> [CompiledStatement] {
    let (own, others) = (model.place(of: source), model.place(of: destination))
    let (from, column) = (own.tableName, way.column)
    var checks: [CompiledStatement] = []
    if way.isAtSource {
      let differs = SQL.joined(moved.map { Self.severalValues($0.former) }, by: " OR ")
      let leading = own.own("\(column) NOT NULL")
      let shared: SQL = "\(from) WHERE \(leading) GROUP BY \(column) HAVING \(differs)"
      checks.append(
        .check(
          .init(groups: shared, id: "\(column)"),
          message: "%d objects of \(destination) are led to by several \(source) with different values; "
            + "make them equal, or give each its own, by a transform before"))
    }
    if way.leadsAbove {
      let isAstray: SQL =
        way.isAtSource
        ? "\(column) NOT NULL AND \(column) NOT IN \(others.ids)"
        : "\"id\" IN (SELECT \(column) FROM \(others.tableName)) AND \"id\" NOT IN (\(tied(way, model)))"
      checks.append(
        .check(
          .init(rows: "\(from) WHERE (\(hasValue)) AND \(isAstray)"),
          message:
            "%d objects of \(source) have values, and their \(self.relationship) is no \(destination); "
            + "clear them, or let them lead to one, by a transform before"))
    }
    let lone = lone(way, model)
    // The column that leads back is filled.
    let filled = way.isAtSource ? nil : way.property
    if let missing = model.flattenedEntity(named: destination)?.unfilled(but: filled) {
      checks.append(
        .check(
          .init(rows: lone),
          message: "%d objects of \(source) have no \(self.relationship), and none can be made for them: "
            + "\(destination).\(missing) is required and has no default"))
    }
    return checks + sameDefaults(of: lone, way, model)
  }

  /// That the objects of those who lead nowhere differ in what is unique, where their defaults are all that they have.
  private func sameDefaults(of lone: SQL, _ way: Way, _ model: Schema) -> [CompiledStatement] {
    guard let entity = model.flattenedEntity(named: destination) else { return [] }
    return entity.uniqueKeys.compactMap { key in
      let names = key.joined(separator: ", ")
      return ComingKey(
        key, of: entity, rows: lone, others: "\(identifier: model.root(of: destination))"
      ) { property in
        if !way.isAtSource, property == way.property { return "\"id\"" }
        return entity.attribute(named: property)?.defaultValue.map { "\(written: $0.sql)" }
      }?.check(
        "%d values of \(destination)(\(names)) would be there more than once, by the default of objects that are made for "
          + "\(source) without \(relationship), and UNIQUE takes each once; give them one by a transform before",
        rowsOf: source
      )
    }
  }

  /// What of the rows has a value, and nobody leads to it who could take it.
  private func inwardCheck(_ way: Way, _ model: Schema) -> CompiledStatement {
    let (from, others) = (model.place(of: source).tableName, model.place(of: destination))
    let isLost: SQL =
      way.isAtSource
      ? "(\(way.column) IS NULL OR \(way.column) NOT IN \(others.ids))"
      : "\"id\" NOT IN (\(tied(way, model)))"
    let lost: SQL = "\(from) WHERE (\(hasValue)) AND \(isLost)"
    return .check(
      .init(rows: lost),
      message:
        "%d objects of \(source) have values, and no \(destination) leads to them; clear or delete them by a "
        + "transform before")
  }

  /// Whether rows of a group have different values. As they are stored: what a collation takes for equal is not.
  private static func severalValues(_ attribute: AttributeDescription) -> SQL {
    // The values themselves: what `quote` makes of a text ends at a NUL, and what it makes of a float has fewer digits.
    let column: SQL = "\(identifier: attribute.name) COLLATE BINARY"
    return "count(DISTINCT \(column)) + (count(\(column)) < count(*)) > 1"
  }

  // MARK: What is not fit for its place

  /// What a row of the destination gets of an attribute: a query in brackets, within one of the destination's table.
  func given(_ attribute: String, by way: Way, _ model: Schema) -> SQL {
    let (own, to) = (model.place(of: source), model.place(of: destination).tableName)
    let value: SQL = "SELECT s.\(identifier: attribute) FROM \(own.tableName) AS s"
    guard way.isAtSource else { return "(\(value) WHERE s.\"id\" = \(to).\(way.column))" }
    return "(\(value) WHERE \(own.own("s.\(way.column) = \(to).\"id\"", SQLName("s"))) LIMIT 1)"
  }

  /// That everything at the destination gets a value of what was required, and has no default to be filled with.
  private func filled(_ attribute: Moved, by way: Way, _ model: Schema) -> [CompiledStatement] {
    guard !attribute.former.isOptional, attribute.former.defaultValue == nil else { return [] }
    let (own, place) = (model.place(of: source), model.place(of: destination))
    // Each row of the source has one: who has a row there gets it.
    let lacks: SQL =
      way.isAtSource
      ? "\"id\" NOT IN (\(tied(way, model)))" : "\(way.column) IS NULL OR \(way.column) NOT IN \(own.ids)"
    return [
      .mustBeEmpty(
        RowCheck(
          .required, destination, [attribute.to], at: place, where: "(\(lacks))",
          message:
            "%d objects of \(destination) would have no \(attribute.to), as no \(source) has one for them; write "
            + "make \(source).\(attribute.from) optional before the move, and make \(destination).\(attribute.to) "
            + "required filling VALUE behind it"))
    ]
  }

  /// That what is unique comes to one row each, and the default to one at most.
  private func once(_ attribute: Moved, by way: Way, _ model: Schema) -> [CompiledStatement] {
    let filling = attribute.former.isOptional ? nil : attribute.former.defaultValue
    // Away from the owner each value stands with the one that its row leads to, so that no two have it but by the default.
    let areShared = !isOutward && !way.isAtSource
    guard attribute.former.isUnique, areShared || filling != nil,
      let entity = model.flattenedEntity(named: destination)
    else { return [] }
    let place = model.place(of: destination)
    let given = given(attribute.from, by: way, model)
    let value = filling.map { "ifnull(\(given), \(written: $0.sql))" as SQL } ?? given
    // Those for whom an object is made yet.
    let coming: SQL =
      "(SELECT \(identifier: attribute.from) AS \(identifier: attribute.to) FROM \(lone(way, model)))"
    let reasons = [
      areShared ? "as several lead to one \(source)" : nil,
      filling == nil ? nil : "by the default of those that no \(source) has one for",
    ].compactMap { $0 }.joined(separator: " or ")
    let key = ComingKey(
      [attribute.to], of: entity, rows: "\(place.tableName)\(place.filter)",
      others: isOutward ? coming : nil
    ) { _ in value }
    return [
      key?.check(
        "%d values of \(destination)(\(attribute.to)) would be there more than once, \(reasons), and UNIQUE takes each "
          + "once; write drop index \(source)(\(attribute.from)) before the move")
    ].compactMap { $0 }
  }
}

extension EntityDescription {
  /// A property that a new row would lack and must not.
  fileprivate func unfilled(but name: String?) -> String? {
    attributes.first { !$0.isOptional && $0.defaultValue == nil }?.name
      ?? relationships.first { $0.hasColumn && $0.isRequired && $0.name != name }?.name
  }
}
