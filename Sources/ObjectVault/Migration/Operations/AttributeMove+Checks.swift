// Checks for the rows that `move attribute` refuses. All of them run before any row is written, so a plan,
// which writes nothing, can run them as well.

internal import CipherSQLite

extension AttributeMove {
  /// An attribute that moves.
  struct Moved {
    let from: String
    /// The attribute's name at the destination during the move. Differs from `to` only if `to` is still in
    /// use in the hierarchy.
    let temporaryName: String
    let to: String
    let former: AttributeDescription
  }

  /// The to-one that connects rows of the source with rows of the destination: the operation's
  /// relationship, or its inverse, if the relationship has no column because its inverse has it.
  struct Way {
    /// The to-one that has the column.
    let property: String
    let column: SQLName
    /// Whether the rows of the source have the column; otherwise those of the destination have it.
    let isAtSource: Bool
    /// Whether the relationship references an ancestor of the destination. Used only for a move away from
    /// the relationship's owner.
    let referencesAncestor: Bool
  }

  /// The checks of rows, in the order in which they run.
  func checks(_ way: Way, moved: [Moved], in model: Schema) -> [CompiledStatement] {
    (isAwayFromOwner ? checksAwayFromOwner(way, moved: moved, in: model) : [checkTowardsOwner(way, model)])
      + moved.flatMap { requiredValueChecks($0, by: way, model) + uniqueValueChecks($0, by: way, model) }
  }

  // MARK: Lost values

  /// The condition that a row of the source has any value to move.
  private var hasValue: SQL { .joined(attributes.map { "\(identifier: $0.name) NOT NULL" }, by: " OR ") }

  /// A query for the ids of the rows that have a partner, among the rows of the entity without the
  /// column.
  func partnerIDs(_ way: Way, _ model: Schema) -> SQL {
    let columnPlace = model.place(of: way.isAtSource ? source : destination)
    let hasPartner = columnPlace.condition(and: "\(way.column) NOT NULL")
    return "SELECT \(way.column) FROM \(columnPlace.tableName) WHERE \(hasPartner)"
  }

  /// The rows of the source that have a value and no partner at the destination, as SQL after `FROM`.
  func lone(_ way: Way, _ model: Schema) -> SQL {
    let isLone: SQL = way.isAtSource ? "\(way.column) IS NULL" : "\"id\" NOT IN (\(partnerIDs(way, model)))"
    return "\(model.place(of: source).tableName) WHERE \(isLone) AND (\(hasValue))"
  }

  /// The checks of a move away from the relationship's owner. No row of the destination may get several
  /// different values. A row with a value may not have a partner of another entity than the destination;
  /// if it has no partner, the move must be able to create one.
  private func checksAwayFromOwner(_ way: Way, moved: [Moved], in model: Schema) -> [CompiledStatement] {
    let (sourcePlace, destinationPlace) = (model.place(of: source), model.place(of: destination))
    let (from, column) = (sourcePlace.tableName, way.column)
    var checks: [CompiledStatement] = []
    if way.isAtSource {
      let differs = SQL.joined(moved.map { Self.hasDifferentValues($0.former) }, by: " OR ")
      let leading = sourcePlace.condition(and: "\(column) NOT NULL")
      let shared: SQL = "\(from) WHERE \(leading) GROUP BY \(column) HAVING \(differs)"
      checks.append(
        .check(
          .init(groups: shared, id: "\(column)"),
          message: "%d objects of \(destination) are referenced by several \(source) with different values; "
            + "first make the values equal, or give each \(source) its own \(destination), with a transform"))
    }
    if way.referencesAncestor {
      let referenced: SQL = "SELECT \(column) FROM \(destinationPlace.tableName)"
      let isAstray: SQL =
        way.isAtSource
        ? "\(column) NOT NULL AND \(column) NOT IN \(destinationPlace.ids)"
        : "\"id\" IN (\(referenced)) AND \"id\" NOT IN (\(partnerIDs(way, model)))"
      checks.append(
        .check(
          .init(rows: "\(from) WHERE (\(hasValue)) AND \(isAstray)"),
          message:
            "%d objects of \(source) have values, but their \(self.relationship) is not an object of "
            + "\(destination); first clear the values, or correct \(self.relationship), with a transform"))
    }
    let lone = lone(way, model)
    // If the destination has the to-one's column, the move sets it in each new row, so that this property
    // never lacks a value.
    let filled = way.isAtSource ? nil : way.property
    if let missing = model.flattenedEntity(named: destination)?.requiredPropertyWithoutDefault(except: filled)
    {
      checks.append(
        .check(
          .init(rows: lone),
          message: "%d objects of \(source) have no \(self.relationship), and none can be created for them: "
            + "\(destination).\(missing) is required and has no default"))
    }
    return checks + defaultKeyChecks(of: lone, way, model)
  }

  /// Checks the unique keys for the objects that the move creates, one for each row of `lone`. Apart
  /// from a to-one to that row, these objects have default values only.
  private func defaultKeyChecks(of lone: SQL, _ way: Way, _ model: Schema) -> [CompiledStatement] {
    guard let entity = model.flattenedEntity(named: destination) else { return [] }
    return entity.uniqueKeys.compactMap { key in
      let names = key.joined(separator: ", ")
      return UniqueKeyCheck(
        key, of: entity, rows: lone, others: "\(identifier: model.root(of: destination))"
      ) { property in
        if !way.isAtSource, property == way.property { return "\"id\"" }
        return entity.attribute(named: property)?.defaultValue.map { "\(written: $0.sql)" }
      }?.check(
        "%d values of \(destination)(\(names)) would occur more than once, but must be unique: all objects "
          + "that are created for \(source) without \(relationship) get the default; first give each its "
          + "own \(relationship) with a transform",
        rowsOf: source
      )
    }
  }

  /// The check of a move to the relationship's owner: every row of the source that has a value must be
  /// referenced by a row of the destination.
  private func checkTowardsOwner(_ way: Way, _ model: Schema) -> CompiledStatement {
    let (from, destinationPlace) = (model.place(of: source).tableName, model.place(of: destination))
    let isLost: SQL =
      way.isAtSource
      ? "(\(way.column) IS NULL OR \(way.column) NOT IN \(destinationPlace.ids))"
      : "\"id\" NOT IN (\(partnerIDs(way, model)))"
    let lost: SQL = "\(from) WHERE (\(hasValue)) AND \(isLost)"
    return .check(
      .init(rows: lost),
      message:
        "%d objects of \(source) have values, but no \(destination) refers to them; first clear the values "
        + "or delete the objects with a transform")
  }

  /// The condition that the rows of a group have different values. They are compared as stored: values that
  /// only a collation treats as equal differ.
  private static func hasDifferentValues(_ attribute: AttributeDescription) -> SQL {
    // Not quote(...), which cuts a text at a NUL and writes a float with fewer digits.
    let column: SQL = "\(identifier: attribute.name) COLLATE BINARY"
    return "count(DISTINCT \(column)) + (count(\(column)) < count(*)) > 1"
  }

  // MARK: Values that do not fit

  /// The value of a source attribute for a row of the destination: a subquery in parentheses, for a
  /// statement on the destination's table.
  func movedValue(_ attribute: String, by way: Way, _ model: Schema) -> SQL {
    let (sourcePlace, to) = (model.place(of: source), model.place(of: destination).tableName)
    let value: SQL = "SELECT s.\(identifier: attribute) FROM \(sourcePlace.tableName) AS s"
    guard way.isAtSource else { return "(\(value) WHERE s.\"id\" = \(to).\(way.column))" }
    let isPartner = sourcePlace.condition(and: "s.\(way.column) = \(to).\"id\"", SQLName("s"))
    return "(\(value) WHERE \(isPartner) LIMIT 1)"
  }

  /// Checks that every row of the destination gets a value of a required attribute that has no default.
  private func requiredValueChecks(_ attribute: Moved, by way: Way, _ model: Schema) -> [CompiledStatement] {
    guard !attribute.former.isOptional, attribute.former.defaultValue == nil else { return [] }
    let (sourcePlace, place) = (model.place(of: source), model.place(of: destination))
    // The attribute is required, so every row of the source has a value, and each destination row with a
    // partner gets one.
    let lacks: SQL =
      way.isAtSource
      ? "\"id\" NOT IN (\(partnerIDs(way, model)))"
      : "\(way.column) IS NULL OR \(way.column) NOT IN \(sourcePlace.ids)"
    return [
      .mustBeEmpty(
        RowCheck(
          .required, of: destination, [attribute.to], at: place, where: "(\(lacks))",
          message:
            "%d objects of \(destination) would have no \(attribute.to), because no \(source) has a value "
            + "for them; write \"make \(source).\(attribute.from) optional\" before the move, and "
            + "\"make \(destination).\(attribute.to) required filling VALUE\" after it"))
    ]
  }

  /// Checks that each value of a unique attribute goes to only one row, and its default to at most one.
  private func uniqueValueChecks(_ attribute: Moved, by way: Way, _ model: Schema) -> [CompiledStatement] {
    let filling = attribute.former.isOptional ? nil : attribute.former.defaultValue
    // Only in a move to the owner, if the destination has the column, can several destination rows get the
    // value of one source row. In the other moves only the default can occur twice.
    let areShared = !isAwayFromOwner && !way.isAtSource
    guard attribute.former.isUnique, areShared || filling != nil,
      let entity = model.flattenedEntity(named: destination)
    else { return [] }
    let place = model.place(of: destination)
    let movedValue = movedValue(attribute.from, by: way, model)
    let value = filling.map { "ifnull(\(movedValue), \(written: $0.sql))" as SQL } ?? movedValue
    // The values for which the move creates a destination object.
    let createdValues: SQL =
      "(SELECT \(identifier: attribute.from) AS \(identifier: attribute.to) FROM \(lone(way, model)))"
    let reasons = [
      areShared ? "several \(destination) refer to one \(source)" : nil,
      filling == nil ? nil : "each \(destination) without a value gets the default",
    ].compactMap { $0 }.joined(separator: " or ")
    let key = UniqueKeyCheck(
      [attribute.to], of: entity, rows: "\(place.tableName)\(place.filter)",
      others: isAwayFromOwner ? createdValues : nil
    ) { _ in value }
    return [
      key?.check(
        "%d values of \(destination)(\(attribute.to)) would occur more than once, but must be unique: "
          + "\(reasons); write \"drop index \(source)(\(attribute.from))\" before the move")
    ].compactMap { $0 }
  }
}

extension EntityDescription {
  /// The first required property without a default, apart from the to-one `name`: a new row would lack its
  /// value. nil if there is none.
  fileprivate func requiredPropertyWithoutDefault(except name: String?) -> String? {
    attributes.first { !$0.isOptional && $0.defaultValue == nil }?.name
      ?? relationships.first { $0.hasColumn && $0.isRequired && $0.name != name }?.name
  }
}
