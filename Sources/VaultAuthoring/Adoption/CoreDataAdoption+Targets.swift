// Finds the targets of to-ones. A Core Data file declares no references: they come from the model, from
// the caller, or from the rows.

internal import CipherSQLite
internal import ObjectVault

extension CoreDataAdoption {
  /// Checks that the targets given by the caller are for existing properties.
  /// - Throws: ``/ObjectVault/StoreError/noProperty(entity:property:similar:)`` for an unknown property;
  ///   ``/ObjectVault/StoreError/noEntity(name:similar:)`` for an unknown entity.
  func checkTargets() throws {
    let names = draft.entities.indices.map { place in
      let root = draft.line(of: place).last
      return (
        entity: draft.entities[place].entity.name,
        properties: Set(
          columns.filter { $0.root == root }.flatMap { [Self.property($0.column.name), $0.name] }
        ).sorted()
      )
    }
    for key in targets.keys.sorted() {
      let parts = key.split(separator: ".", maxSplits: 1).map(String.init)
      guard let entity = names.first(where: { $0.entity.lowercased() == parts.first }) else {
        throw StoreError.noEntity(
          name: parts.first ?? key, similar: nearest(parts.first ?? key, among: names.map(\.entity)))
      }
      guard !entity.properties.contains(where: { $0.lowercased() == parts.last }) else { continue }
      throw StoreError.noProperty(
        entity: entity.entity, property: parts.last ?? key,
        similar: nearest(parts.last ?? key, among: entity.properties))
    }
  }

  private static func property(_ column: String) -> String {
    AdoptionNames.property(String(column.dropFirst()))
  }

  /// The caller's target for a column. In the key `entity.property`, the caller may use any entity of the
  /// column's table.
  /// - Returns: The name of the target entity; empty if the caller declares the column to be a plain
  ///   number; nil if the caller does not name the column.
  private func named(_ column: CoreDataColumn) -> String? {
    let entities = draft.hierarchy(of: column.root).map { draft.entities[$0].entity.name.lowercased() }
    let names = [column.name, Self.property(column.column.name)].map { $0.lowercased() }
    return entities.lazy.flatMap { entity in names.map { "\(entity).\($0)" } }.compactMap { targets[$0] }
      .first
  }

  /// The id of the row that a value references; NULL if there is none, or if it is of another entity.
  func lookup(_ value: SQL, _ target: Int) -> SQL {
    let table = draft.entities[target].table
    var own: SQL = ""
    if draft.entities[target].parent != nil {
      let numbers = places.filter { draft.line(of: $0.value).contains(target) }.keys.sorted()
      own = " AND p.\(SQLName("Z_ENT")) IN (\(SQL.joined(numbers.map { "\(number: $0)" })))"
    }
    return
      "(SELECT p.\"Z_PK\" FROM \(SQLName(table.name)) AS p WHERE p.\"Z_PK\" = \(value)\(own))"
  }

  /// The destination entity of a column; nil for an attribute.
  mutating func target(of column: CoreDataColumn) throws -> Int? {
    guard column.column.type == "INTEGER" else { return nil }
    let table = draft.entities[column.root].table
    let own = "\(draft.entities[column.place].entity.name).\(column.name)"
    let value: SQL = "s.\(SQLName(column.column.name))"
    if let named = named(column) {
      guard !named.isEmpty else { return nil }
      guard
        let target = draft.entities.firstIndex(where: { $0.entity.name.lowercased() == named.lowercased() })
      else {
        throw StoreError.noEntity(
          name: named, similar: nearest(named, among: draft.entities.map(\.entity.name)))
      }
      return try widened(target, value: value, of: table, name: own)
    }
    if let told = column.told?.relationship, let place = place(ofEntity: told.destination) {
      // The inverse must be declared by the very entity that the relationship references.
      let owner = told.inverse.flatMap { declarer(of: $0, at: place) } ?? place
      if owner != place {
        draft.notes.append(
          "\(own) refers to \(draft.entities[owner].entity.name), which declares the inverse, and not to "
            + "\(draft.entities[place].entity.name).")
      }
      return try widened(owner, value: value, of: table, name: own)
    }
    guard column.told?.attribute == nil else { return nil }
    return try guessed(column, own)
  }

  /// Returns the entity, or its closest ancestor that includes all rows that the values reference.
  /// - Parameter name: The name of the values in notes.
  mutating func widened(_ place: Int, value: SQL, of table: ForeignTable, name: String) throws -> Int {
    let line = draft.line(of: place)
    let root = line[line.count - 1]
    let fitting = try line.first { place in
      guard place != root else { return true }
      return try draft.count(
        table,
        where:
          "\(value) IS NOT NULL AND \(lookup(value, place)) IS NULL AND \(lookup(value, root)) IS NOT NULL")
        == 0
    }
    guard let fitting, fitting != place else { return place }
    draft.notes.append(
      "\(name) refers to \(draft.entities[fitting].entity.name) and not to "
        + "\(draft.entities[place].entity.name), because some rows refer to objects of other entities.")
    return fitting
  }

  // MARK: Without a model

  private mutating func guessed(_ column: CoreDataColumn, _ own: String) throws -> Int? {
    let table = draft.entities[column.root].table
    let content = try ColumnContent.all(of: [column.column.name], in: table.name, draft.connection)[0]
    guard content.reals + content.texts + content.blobs == 0 else { return nil }
    // A to-one whose target shares a table with other entities has a second column. The name of that
    // column contains the target's number. Otherwise, a column that is named after an entity may refer to
    // that entity.
    let numbers = [
      kindColumn(of: column.column.name, in: table)?.number,
      kinds.first { "Z\($0.name)".uppercased() == column.column.name.uppercased() }?.number,
    ]
    for place in numbers.compactMap({ $0.flatMap { places[$0] } }) {
      if let target = try draft.line(of: place).first(where: { try isSound(column, $0) }) { return target }
    }
    guard
      table.indexes.contains(where: {
        $0.name.uppercased() == "\(table.name)_\(column.column.name)_INDEX".uppercased()
      })
    else { return nil }
    // Core Data creates an index of this name for each to-one, and for some attributes.
    let roots = draft.entities.indices.filter { draft.entities[$0].parent == nil }
    let fitting = try content.integers > 0 ? roots.filter { try isSound(column, $0) } : []
    guard fitting.count == 1 else {
      draft.notes.append(
        "\(own) may be a to-one, but the file does not record its target, so it is imported as a number. If "
          + "it is a to-one, name the target: relationships: [\"\(own)\": \"ENTITY\"]. If it is not, write: "
          + "relationships: [\"\(own)\": \"\"]")
      return nil
    }
    draft.notes.append(
      "\(own) is imported as a to-one to \(draft.entities[fitting[0]].entity.name), whose ids it has. If "
        + "that is wrong, name the target: relationships: [\"\(own)\": \"ENTITY\"]. If it is a number, "
        + "write: relationships: [\"\(own)\": \"\"]")
    return fitting[0]
  }

  /// Whether all rows that a column references exist.
  private func isSound(_ column: CoreDataColumn, _ target: Int) throws -> Bool {
    let value: SQL = "s.\(SQLName(column.column.name))"
    return try draft.connection.value(
      """
      SELECT 1 FROM \(SQLName(draft.entities[column.root].table.name)) AS s
      WHERE \(value) IS NOT NULL AND \(lookup(value, target)) IS NULL LIMIT 1
      """) == nil
  }

  // MARK: Kinds

  /// The second column of a to-one, which has the entity number of each referenced object. The name of
  /// this column contains the entity number of the to-one's destination, which is returned as `number`.
  private func kindColumn(of column: String, in table: ForeignTable) -> (name: String, number: Int64)? {
    table.columns.lazy.compactMap { other in
      guard let match = other.name.wholeMatch(of: #/[Zz]([0-9]+)_(.+)/#), let number = Int64(match.1),
        "Z\(match.2)".uppercased() == column.uppercased()
      else { return nil }
      return (other.name, number)
    }.first
  }

  /// Omits the columns with entity numbers of referenced objects. They are redundant; where they
  /// contradict the objects, or belong to no imported to-one, a loss is recorded.
  mutating func checkKinds(of root: Int) throws {
    let table = draft.entities[root].table
    for column in table.columns.map(\.name) where column.contains(#/^[Zz][0-9]+_/#) {
      draft.notes.append(
        "\(table.name).\(column) is internal to Core Data (the entity of the referenced object) and is not "
          + "imported.")
      let toOne = columns.first {
        $0.root == root && $0.target != nil && kindColumn(of: $0.column.name, in: table)?.name == column
      }
      let kind: SQL = "s.\(SQLName(column))"
      var odd: SQL = "\(kind) IS NOT NULL"
      if let toOne, let target = toOne.target {
        let value: SQL = "s.\(SQLName(toOne.column.name))"
        // A missing row is reported elsewhere.
        odd.append(
          """
           AND (\(value) IS NULL OR EXISTS (SELECT 1 FROM \(SQLName(draft.entities[target].table.name)) AS p
          WHERE p."Z_PK" = \(value) AND p."Z_ENT" IS NOT \(kind)))
          """)
      }
      let rows = try draft.count(table, where: odd)
      guard rows > 0 else { continue }
      draft.losses.append(
        .init(
          name: "\(table.name).\(column)", rows: rows,
          reason: "the entities that it records differ from those of the referenced objects"))
    }
  }
}
