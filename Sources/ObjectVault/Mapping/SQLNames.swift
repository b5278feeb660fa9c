// The meaning of names with a dollar sign in data blocks, expressions and raw objects.

internal import CipherSQLite

/// Replaces `$User`, `$User.name` and the like by the names of tables and columns in one model.
///
/// `$User` is the entity's table, or the table of its root when it has a parent. `$User.name` is a column
/// of it, and `$Status.user` the column of a to-one. `$Status.tags` is the table of links of a
/// many-to-many, and `$Status.tags.Tag` its column with the ids of tags. `$Album.songs.position` is the
/// column with the positions of members in an ordered relationship: in the table of links, or next to the
/// column of the to-one `$Song.album`.
struct SQLNames {
  let model: Schema
  /// The word after an ordered relationship that means the column of positions.
  private static let position = "position"

  /// Returns SQL with its names resolved.
  /// - Parameter entity: The entity of the rows that an expression is evaluated for; nil for statements.
  /// - Throws: ``ModelError`` for an unknown name, with the nearest known one; for a name that stands for
  ///   no table or column; for a parameter, which would have no value; and for a name that would mean the
  ///   column of another table.
  func resolved(_ sql: String, of entity: String? = nil) throws(ModelError) -> String {
    if let parameter = SQLTemplate.parameter(sql) {
      throw ModelError(
        reason:
          "\(parameter) is a parameter without a value, which SQLite would read as NULL; write the value "
          + "itself"
      )
    }
    if let capture = OuterNames.capture(in: sql, model, of: entity) { throw misread(capture) }
    // A text often repeats a few names: each is looked up once.
    var known: [String: String] = [:]
    return try SQLTemplate.resolved(sql) { words throws(ModelError) in
      if let sql = known[words] { return sql }
      let sql = try name(words)
      known[words] = sql
      return sql
    }
  }

  /// Returns an expression with its names resolved. A query is put in parentheses, because the engine
  /// accepts a query as an expression only in parentheses.
  func resolved(expression sql: String, of entity: String? = nil) throws(ModelError) -> String {
    let expression = try resolved(sql, of: entity)
    return SQLScanner.isQuery(expression) ? "(\(expression))" : expression
  }

  private func misread(_ capture: OuterNames.Capture) -> ModelError {
    let own = capture.name.prefix { $0 != "." }
    let remedy =
      capture.isOutside
      ? "write $\(own).$\(capture.name) for the row of the outer query, or add $\(own) to the FROM of this "
        + "query"
      : "no query around it reads \(own); add $\(own) to the FROM, or name the column of \(capture.table)"
    return ModelError(
      reason:
        "$\(capture.name) is in a query that reads \(capture.table), where it would mean the column "
        + "\(capture.column) of that table; \(remedy)"
    )
  }

  private func name(_ words: String) throws(ModelError) -> String {
    let names = words.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard let entity = model.flattenedEntity(named: names[0]) else {
      throw unknown(words, kind: "entity", name: names[0], among: model.entities.map(\.name)) { $0 }
    }
    let table = model.root(of: entity.name)
    guard names.count > 1 else { return quoted(table) }
    // `$User.*`: the dot belongs to the SQL.
    if names.count == 2 && names[1].isEmpty { return quoted(table) + "." }
    let (relationship, attribute) = (
      entity.relationship(named: names[1]), entity.attribute(named: names[1])
    )
    guard relationship != nil || attribute != nil || names[1] == "id" else {
      throw unknown(words, kind: "property", name: names[1], among: entity.propertyNames) {
        "\(entity.name).\($0)"
      }
    }
    if let relationship, !relationship.hasColumn {
      return try linkName(words, parts: names, in: entity, of: relationship)
    }
    guard names.count == 2 else {
      let isToOne = relationship.map { "; write a subquery on $\($0.destination)" } ?? ""
      throw ModelError(
        reason: "$\(words) continues after $\(names[0]).\(names[1]), which is a column\(isToOne)")
    }
    // In the model's spelling: in the given SQL, an accent may be a separate code point, which would be a
    // different name to the engine.
    return quoted(
      relationship.map { RelationshipDescription.columnName($0.name) } ?? attribute?.name ?? names[1])
  }

  private func linkName(
    _ words: String, parts names: [String], in entity: EntityDescription,
    of relationship: RelationshipDescription
  ) throws(ModelError) -> String {
    let ends =
      model.joinTable(of: relationship, in: entity).map { [$0.0.sourceColumn, $0.0.targetColumn] } ?? []
    // `position` means the column of positions, unless an end of the links has this name.
    if names.count == 3, names[2] == Self.position,
      !ends.contains(RelationshipDescription.columnName(Self.position))
    {
      guard let order = model.orderColumn(of: relationship, in: entity) else {
        throw ModelError(
          reason: "$\(words): \(names[0]).\(names[1]) is not ordered, so its members have no position")
      }
      return quoted(order)
    }
    guard let (join, _) = model.joinTable(of: relationship, in: entity) else {
      let other = relationship.inverse.map { "$\(relationship.destination).\($0)" } ?? "the other end"
      throw ModelError(
        reason: relationship.isToMany
          ? "$\(words) is one-to-many and has no column here; use its inverse, which is a to-one"
          : "$\(words) has no column: the column of this one-to-one belongs to \(other)")
    }
    guard names.count > 2 else { return quoted(join.name) }
    let columns = [join.sourceColumn, join.targetColumn]
    guard names.count == 3, columns.contains(RelationshipDescription.columnName(names[2])) else {
      let known = columns.map { "$\(names[0]).\(names[1]).\($0.dropLast(3))" }
      throw ModelError(
        reason: "$\(words) is not a column of the links; the columns are \(known.joined(separator: " and "))")
    }
    return quoted(RelationshipDescription.columnName(names[2]))
  }

  private func unknown(
    _ words: String, kind: String, name: String, among names: [String], text: (String) -> String
  ) -> ModelError {
    let near = didYouMean(nearest(name, among: names).prefix(1).map { "$\(text($0))" })
    var reason = "the model has no \(kind) \"$\(words)\" at this point\(near.map { "; \($0)" } ?? "")"
    if kind == "entity" { reason = "\(ended(reason)) A dollar sign by itself is written $$" }
    return ModelError(reason: reason)
  }
}
