// The names of the model in the SQL of raw objects: rewritten when they change, and guarded against what would make them
// mean something else.

internal import CipherSQLite

extension Schema {
  /// Puts new names in the place of those that an operation has changed.
  /// - Parameters:
  ///   - subject: What the operation is about.
  ///   - former: The model before it.
  mutating func renameInRawObjects(_ subject: OperationSubject, _ former: Schema) {
    guard let renaming = RawRenaming(subject, former, self) else { return }
    rawObjects = rawObjects.map { object in
      let sql = SQLTemplate.renamed(object.sql) { renaming.name($0) }
      return RawObject(object.kind, object.name, isUnique: object.isUnique, sql: sql)
    }
  }

  /// - Parameter former: The model before an operation.
  /// - Throws: ``ModelError`` for a raw object that names what is no more, or what is another thing from now on.
  func requireRawNames(after former: Schema) throws(ModelError) {
    for object in rawObjects {
      if let reason = misfit(of: object) {
        let wasThere = former.rawObject(named: object.name) != nil
        throw ModelError(
          reason: wasThere ? "the \(object.title) uses it; drop that first (\(reason))" : reason)
      }
      guard let old = former.rawObject(named: object.name) else { continue }
      try requireNoneTurnsIntoText(object, former)
      try requireNoFormerEntity(in: object, former)
      // What it was declared with, by today's names, is a table or a column as it was.
      guard old == object else { continue }
      for name in SQLTemplate.names(object.sql) where former.isColumn(name) != isColumn(name) {
        throw ModelError(
          reason: "the \(object.title) uses $\(name), which is something else afterwards; drop that first")
      }
    }
  }

  /// Rows of entities that share a table say by a text whose they are, which no renaming follows in a raw object.
  private func requireNoFormerEntity(in object: RawObject, _ former: Schema) throws(ModelError) {
    guard former.hasFamilies else { return }
    let words = SQLTemplate.words(object.sql)
    for entity in former.entities
    where former.isInFamily(entity) && object.sql.contains("'\(entity.name)'") {
      let isThere = self.entity(named: entity.name) != nil
      guard !isThere || root(of: entity.name) != former.root(of: entity.name) else { continue }
      let tables = former.family(of: entity).map { $0.name.lowercased() }
      guard words.contains(EntityColumn.name.lowercased()), !words.isDisjoint(with: tables) else { continue }
      throw ModelError(
        reason:
          "the \(object.title) asks for '\(entity.name)', which no row is called from now on; drop that before, and "
          + (isThere ? "create it for the table that they have then" : "create it with the new name"))
    }
  }

  /// SQLite takes what stands in double quotes for a text as soon as no column is called so, and says nothing.
  private func requireNoneTurnsIntoText(_ object: RawObject, _ former: Schema) throws(ModelError) {
    let doubtful = SQLTemplate.doubtfulNames(object.sql)
    if doubtful.isEmpty { return }
    for entity in former.entities {
      guard let now = self.entity(named: entity.name) else { continue }
      let kept = Set(now.columnNames.values.map { $0.lowercased() })
      for (property, column) in entity.columnNames.sorted(by: { $0.key < $1.key })
      where !kept.contains(column.lowercased()) && doubtful.contains(column.lowercased())
        && former.words(behind: object, column.lowercased())
          .contains(former.root(of: entity.name).lowercased())
      {
        throw ModelError(
          reason:
            "the \(object.title) has \"\(column)\" in double quotes, which would be a text and no column from now "
            + "on; drop that before, and create it with $\(entity.name).\(property), which follows renamings")
      }
    }
  }

  /// What an object can speak of by the name of a column: its own words, and those of the views that it names, unless
  /// these call something so by AS.
  private func words(behind object: RawObject, _ column: String) -> Set<String> {
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

  /// Whether what stands behind a dollar sign is a column; if not, it is a table.
  private func isColumn(_ words: String) -> Bool {
    let names = words.split(separator: ".").map(String.init)
    guard names.count == 2, let entity = flattenedEntity(named: names[0]) else { return names.count > 2 }
    return entity.relationship(named: names[1])?.hasColumn != false
  }
}

extension EntityDescription {
  /// The columns of the properties that have one.
  fileprivate var columnNames: [String: String] {
    var names: [String: String] = [:]
    for attribute in attributes { names[attribute.name] = attribute.name }
    for relationship in relationships where relationship.hasColumn {
      names[relationship.name] = relationship.columnName
    }
    return names
  }
}

/// The names before a renaming and after it.
private struct RawRenaming {
  private let former: Schema
  private let model: Schema
  private var entity: (old: String, new: String)?
  private var property: (entity: String, old: String, new: String)?

  /// nil for an operation that gives nothing another name.
  init?(_ subject: OperationSubject, _ former: Schema, _ model: Schema) {
    (self.former, self.model) = (former, model)
    switch subject {
    case .renamedEntity(let name, let new): entity = (name, new)
    case .renamed(let entity, let name, let new, _): property = (entity, name, new)
    default: return nil
    }
  }

  /// What stands behind a dollar sign from now on.
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
    // The columns of links are called after entities, or after the relationship at the other end.
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
