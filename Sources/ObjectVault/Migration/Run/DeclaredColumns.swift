// Compares the declared reads and writes of a data block with those that the engine's authorizer reports.
// The authorizer reports tables and columns, which are mapped to entities and properties.

internal import CipherSQLite

/// What a data block may read and write, and what it does beyond that.
struct DeclaredColumns {
  private typealias Place = TransformAccess.Place
  private let access: TransformAccess
  private let model: Schema
  /// The properties of each column, the property of the declaring entity first; by table and column in
  /// lower case. The column of a relationship also belongs to its inverse.
  private var columns: [String: [String: [Place]]] = [:]
  /// The entities whose rows each table has, the root first.
  private var entities: [String: [String]] = [:]
  /// The relationships of each join table.
  private var links: [String: [Place]] = [:]
  private var deeds: [String] = []
  private var missing: [(word: TransformAccess.Word, place: TransformAccess.Place)] = []
  /// Whether the block itself, or a trigger, may replace rows with `REPLACE`. The engine does not report
  /// the deletion of replaced rows.
  private let replacesRows: (itself: Bool, byTriggers: Bool)
  /// The tables that the present statement names, in lower case, and those that it was observed to write to.
  private var (sources, written): (Set<String>, Set<String>) = ([], [])

  /// Returns nil when the author declares nothing.
  init?(_ access: TransformAccess, _ model: Schema, sql: String) {
    guard access.reads != nil || access.writes != nil else { return nil }
    (self.access, self.model) = (access, model)
    // A conflict clause of a statement also applies to the triggers that it fires.
    let itself = SQLTemplate.replacesRows(sql)
    replacesRows = (
      itself,
      itself || model.rawStatements.contains { $0.isTrigger && SQLTemplate.replacesRows($0.create) }
    )
    // A property's declaring entity comes before the entities that inherit it.
    for entity in model.parentsFirst { add(entity, for: entity) }
    for entity in model.parentsFirst { add(model.flattened(entity), for: entity) }
  }

  private mutating func add(_ entity: EntityDescription, for own: EntityDescription) {
    let table = model.root(of: own).name.lowercased()
    if entities[table]?.contains(own.name) != true { entities[table, default: []].append(own.name) }
    func place(_ name: String) -> Place { Place(entity: own.name, property: name) }
    for attribute in entity.attributes { add(table, column: attribute.name, place: place(attribute.name)) }
    for relationship in entity.relationships {
      let place = place(relationship.name)
      if let (join, _) = model.joinTable(of: relationship, in: own) {
        links[join.name.lowercased(), default: []].append(place)
      } else if relationship.hasColumn {
        add(table, column: relationship.columnName, place: place)
        add(table, column: RelationshipDescription.orderColumnName(relationship.name), place: place)
      } else if let inverse = relationship.inverse {
        let other = model.root(of: relationship.destination).lowercased()
        add(other, column: RelationshipDescription.columnName(inverse), place: place)
        add(other, column: RelationshipDescription.orderColumnName(inverse), place: place)
      }
    }
  }

  private mutating func add(_ table: String, column: String, place: Place) {
    columns[table, default: [:]][column.lowercased(), default: []].append(place)
  }

  /// Returns a copy for one statement of the block.
  func of(_ statement: String) -> DeclaredColumns {
    var columns = self
    columns.sources = SQLTemplate.sources(statement)
    return columns
  }

  /// Records an action that the engine reports to the authorizer.
  /// - Parameter object: The view or the trigger that performs it; nil for the statement itself.
  mutating func note(_ action: AuthorizerAction, in object: String?) {
    switch action {
    case .read(let table, let column): note(.reads, table: table, column: column, by: object)
    case .update(let table, let column):
      written.insert(table.lowercased())
      note(.writes, table: table, column: column, by: object)
      if object == nil ? replacesRows.itself : replacesRows.byTriggers {
        note(.writes, rowsOf: table, deed: "may replace rows of", by: object)
      }
    case .insert(let table):
      written.insert(table.lowercased())
      note(.writes, rowsOf: table, deed: "inserts rows of", by: object)
    case .delete(let table):
      written.insert(table.lowercased())
      note(.writes, rowsOf: table, deed: "deletes rows of", by: object)
    default: break
    }
  }

  private mutating func note(
    _ word: TransformAccess.Word, table: String, column: String, by object: String?
  ) {
    let (table, column) = (table.lowercased(), column.lowercased())
    if let places = links[table] { return require(word, oneOf: places, deed: word.rawValue, by: object) }
    if let places = columns[table]?[column] {
      return require(word, oneOf: places, deed: word.rawValue, by: object)
    }
    // The id and the entity of a row may be read. Writing them makes the row another object.
    guard word == .writes, MigrationRunner.isID(column) || column == EntityColumn.name else { return }
    note(.writes, rowsOf: table, deed: "writes \(column) of", by: object)
  }

  private mutating func note(
    _ word: TransformAccess.Word, rowsOf table: String, deed: String, by object: String?
  ) {
    let table = table.lowercased()
    if let places = links[table] { return require(word, oneOf: places, deed: word.rawValue, by: object) }
    guard let names = entities[table] else { return }
    // The engine does not report which entity of the hierarchy the rows belong to.
    require(word, oneOf: names.map { Place(entity: $0) }, deed: deed, by: object)
  }

  private mutating func require(
    _ word: TransformAccess.Word, oneOf places: [Place], deed: String, by object: String?
  ) {
    guard let first = places.first, !places.contains(where: { covers(word, $0) }) else { return }
    let text = "\(deed) \(first)" + (object.map { " (by \($0))" } ?? "")
    guard !deeds.contains(text) else { return }
    deeds.append(text)
    missing.append((word, first))
  }

  /// Whether the declaration covers a property or an entity. A declared entity includes its subentities.
  private func covers(_ word: TransformAccess.Word, _ place: Place) -> Bool {
    guard let entity = model.entity(named: place.entity) else { return false }
    return ([entity] + model.ancestors(of: entity)).contains {
      access.covers(word, of: $0.name, property: place.property)
    }
  }

  /// Records tables whose rows the statement only counts, as in `SELECT count(*)`: the engine does not
  /// report such a read to the authorizer. A declaration of any property of an entity allows counting its
  /// objects. A table that already has a violation is not reported again.
  private mutating func noteSources() {
    let places = (access.reads ?? []) + (access.writes ?? []) + missing.map(\.place)
    let named = Set(places.flatMap(tables))
    for table in sources.subtracting(written).sorted() where !named.contains(table) {
      note(.reads, rowsOf: table, deed: "reads rows of", by: nil)
    }
  }

  /// The tables that store the values or links of a declared property or entity.
  private func tables(of place: Place) -> [String] {
    let relationship = place.property.flatMap {
      model.flattenedEntity(named: place.entity)?.relationship(named: $0)
    }
    return ([place.entity] + [relationship?.destination].compactMap(\.self)).map {
      model.root(of: $0).lowercased()
    }
  }

  /// The error for what the block does beyond its declaration; nil for nothing.
  var refusal: ModelError? {
    var columns = self
    columns.noteSources()
    return columns.deeds.isEmpty
      ? nil : ModelError(reason: "it " + access.refusal(columns.deeds, columns.missing))
  }
}
