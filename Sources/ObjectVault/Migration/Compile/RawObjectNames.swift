// The names of entities and properties in the SQL of raw objects. They follow renamings; a change that
// would give them another meaning is refused.

internal import CipherSQLite

extension Schema {
  /// Replaces the names that an operation has changed.
  /// - Parameters:
  ///   - subject: What the operation changes.
  ///   - former: The model before the operation.
  mutating func renameInRawObjects(_ subject: OperationSubject, _ former: Schema) {
    guard let renaming = RawRenaming(subject, from: former, to: self) else { return }
    rawObjects = rawObjects.map { object in
      let sql = SQLTemplate.renamed(object.sql) { renaming.name($0) }
      return RawObject(object.kind, object.name, isUnique: object.isUnique, sql: sql)
    }
  }

  /// Checks that the names in raw objects still have the meaning that they had before an operation.
  /// - Parameter former: The model before the operation.
  /// - Throws: ``ModelError`` for a raw object with a name that no longer exists, or that now means
  ///   something else.
  func requireRawNames(after former: Schema) throws(ModelError) {
    for object in rawObjects {
      if let reason = misfit(of: object) {
        let wasThere = former.rawObject(named: object.name) != nil
        throw ModelError(
          reason: wasThere
            ? "the \(object.title) uses it; drop the \(object.kind.rawValue) first (\(reason))" : reason)
      }
      guard let old = former.rawObject(named: object.name) else { continue }
      try requireNoColumnBecomesString(object, former)
      try requireNoFormerEntityName(in: object, former)
      // In an object that no renaming rewrote, each name must still be what it was: a table or a column.
      guard old == object else { continue }
      for name in SQLTemplate.names(object.sql) where former.isColumn(name) != isColumn(name) {
        throw ModelError(
          reason: "the \(object.title) uses $\(name), which gets another meaning; drop the "
            + "\(object.kind.rawValue) first")
      }
    }
  }

  /// Refuses a change after which no row has an entity name that a raw object compares with `_entity`.
  /// The name is a string literal in the raw object, so no renaming changes it.
  private func requireNoFormerEntityName(in object: RawObject, _ former: Schema) throws(ModelError) {
    guard former.hasHierarchies else { return }
    let words = SQLTemplate.words(object.sql)
    for entity in former.entities
    where former.isInHierarchy(entity) && object.sql.contains("'\(entity.name)'") {
      let isThere = self.entity(named: entity.name) != nil
      guard !isThere || root(of: entity.name) != former.root(of: entity.name) else { continue }
      let tables = former.hierarchy(of: entity).map { $0.name.lowercased() }
      guard words.contains(EntityColumn.name.lowercased()), !words.isDisjoint(with: tables) else { continue }
      throw ModelError(
        reason:
          "the \(object.title) compares with '\(entity.name)', but from now on no row will have that name in "
          + "\(EntityColumn.name); drop the \(object.kind.rawValue) first, and "
          + (isThere ? "create it for the new table of these rows" : "create it with the new name"))
    }
  }

  /// Refuses a change that removes a column whose name a raw object has in double quotes: without an
  /// error, SQLite would then read the name as a string.
  private func requireNoColumnBecomesString(_ object: RawObject, _ former: Schema) throws(ModelError) {
    let doubtful = SQLTemplate.doubleQuotedNames(object.sql)
    if doubtful.isEmpty { return }
    for entity in former.entities {
      guard let now = self.entity(named: entity.name) else { continue }
      let kept = Set(now.columnNames.values.map { $0.lowercased() })
      for (property, column) in entity.columnNames.sorted(by: { $0.key < $1.key })
      where !kept.contains(column.lowercased()) && doubtful.contains(column.lowercased())
        && former.words(after: object, column.lowercased())
          .contains(former.root(of: entity.name).lowercased())
      {
        throw ModelError(
          reason:
            "the \(object.title) has \"\(column)\" in double quotes, which will be a string instead of a "
            + "column from now on; drop the \(object.kind.rawValue) first, and create it with "
            + "$\(entity.name).\(property), which follows renamings")
      }
    }
  }

  /// Returns the words through which a raw object can refer to a column: the words of its own SQL, and
  /// those of the views that it names, directly or through other views. Views that define the column's
  /// name by AS are omitted.
  private func words(after object: RawObject, _ column: String) -> Set<String> {
    var (words, waiting): (Set<String>, [RawObject]) = ([], [object])
    var views = rawObjects.filter { $0.kind == .view && $0 != object }
    while let next = waiting.popLast() {
      let found = SQLTemplate.words(next.sql)
      words.formUnion(found)
      waiting += views.filter { found.contains($0.name.lowercased()) }
        .filter { !SQLTemplate.givenNames($0.sql).contains(column) }
      views.removeAll { found.contains($0.name.lowercased()) }
    }
    return words
  }

  /// Whether a name after `$` is a column; else it is a table.
  private func isColumn(_ words: String) -> Bool {
    let names = words.split(separator: ".").map(String.init)
    guard names.count == 2, let entity = flattenedEntity(named: names[0]) else { return names.count > 2 }
    return entity.relationship(named: names[1])?.hasColumn != false
  }
}

extension EntityDescription {
  /// The columns of all properties that have a column, by the properties' names.
  fileprivate var columnNames: [String: String] {
    var names: [String: String] = [:]
    for attribute in attributes { names[attribute.name] = attribute.name }
    for relationship in relationships where relationship.hasColumn {
      names[relationship.name] = relationship.columnName
    }
    return names
  }
}

/// The names before and after a renaming.
private struct RawRenaming {
  private let former: Schema
  private let model: Schema
  private var entity: (old: String, new: String)?
  private var property: (entity: String, old: String, new: String)?

  /// Creates the names; returns nil for an operation that renames nothing.
  init?(_ subject: OperationSubject, from former: Schema, to model: Schema) {
    (self.former, self.model) = (former, model)
    switch subject {
    case .renamedEntity(let name, let new): entity = (name, new)
    case .renamed(let entity, let name, let new, _): property = (entity, name, new)
    default: return nil
    }
  }

  /// Returns the new form of a name after `$`.
  func name(_ words: String) -> String {
    var names = words.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard let old = former.flattenedEntity(named: names[0]) else { return words }
    if let entity, entity.old == names[0] { names[0] = entity.new }
    guard names.count > 1 else { return names[0] }
    let relationship = old.relationship(named: names[1])
    if let property, property.old == names[1], former.declarer(of: names[1], in: old)?.name == property.entity
    {
      names[1] = property.new
    }
    // The columns of a table of links are named after entities, or after the relationship at the other
    // end.
    if names.count == 3, let relationship, let (join, isSource) = former.joinTable(of: relationship, in: old),
      let owner = model.flattenedEntity(named: names[0]), let renamed = owner.relationship(named: names[1]),
      let (newJoin, isNewSource) = model.joinTable(of: renamed, in: owner)
    {
      let column = RelationshipDescription.columnName(names[2])
      let isOwn = column == (isSource ? join.sourceColumn : join.targetColumn)
      if isOwn || column == (isSource ? join.targetColumn : join.sourceColumn) {
        let new = isOwn == isNewSource ? newJoin.sourceColumn : newJoin.targetColumn
        names[2] = String(new.dropLast(RelationshipDescription.columnName("").count))
      }
    }
    return names.joined(separator: ".")
  }
}
