// What the author of a data block says that it reads and writes, held against what the engine asks leave for: tables and columns,
// which stand for entities and their properties.

internal import CipherSQLite

/// What a data block may read and write, and what it does beyond that.
struct DeclaredColumns {
  private typealias Place = TransformAccess.Place
  private let access: TransformAccess
  private let model: Schema
  /// What each column stands for, the declared property first; by the tables and columns in lower case. Either end of a
  /// relationship stands for its links.
  private var columns: [String: [String: [Place]]] = [:]
  /// The entities of which each table has rows, the root first.
  private var entities: [String: [String]] = [:]
  /// What each table of links stands for.
  private var links: [String: [Place]] = [:]
  private var deeds: [String] = []
  private var missing: [(word: TransformAccess.Word, place: TransformAccess.Place)] = []
  /// Whether rows that the block updates, or those that triggers do, may take the place of others, of which the engine does
  /// not say that it deletes them.
  private let replacesRows: (itself: Bool, byTriggers: Bool)
  /// The tables that the statement at hand names, in lower case, and those that it was seen to write to.
  private var (sources, written): (Set<String>, Set<String>) = ([], [])

  /// nil where the author says nothing.
  init?(_ access: TransformAccess, _ model: Schema, sql: String) {
    guard access.reads != nil || access.writes != nil else { return nil }
    (self.access, self.model) = (access, model)
    // A statement says it for the triggers that it wakes, too.
    let itself = SQLTemplate.replacesRows(sql)
    replacesRows = (
      itself,
      itself || model.rawStatements.contains { $0.isTrigger && SQLTemplate.replacesRows($0.create) }
    )
    // Who declares a property comes before those who inherit it.
    for entity in model.parentsFirst { add(entity, entity) }
    for entity in model.parentsFirst { add(model.flattened(entity), entity) }
  }

  private mutating func add(_ entity: EntityDescription, _ own: EntityDescription) {
    let table = model.root(of: own).name.lowercased()
    if entities[table]?.contains(own.name) != true { entities[table, default: []].append(own.name) }
    func place(_ name: String) -> Place { Place(entity: own.name, property: name) }
    for attribute in entity.attributes { add(table, attribute.name, place(attribute.name)) }
    for relationship in entity.relationships {
      let place = place(relationship.name)
      if let (join, _) = model.joinTable(of: relationship, in: own) {
        links[join.name.lowercased(), default: []].append(place)
      } else if relationship.hasColumn {
        add(table, relationship.columnName, place)
        add(table, RelationshipDescription.orderColumnName(relationship.name), place)
      } else if let inverse = relationship.inverse {
        let other = model.root(of: relationship.destination).lowercased()
        add(other, RelationshipDescription.columnName(inverse), place)
        add(other, RelationshipDescription.orderColumnName(inverse), place)
      }
    }
  }

  private mutating func add(_ table: String, _ column: String, _ place: Place) {
    columns[table, default: [:]][column.lowercased(), default: []].append(place)
  }

  /// The same for one statement of the block.
  func of(_ statement: String) -> DeclaredColumns {
    var columns = self
    columns.sources = SQLTemplate.sources(statement)
    return columns
  }

  /// Notes what the engine asks leave for.
  /// - Parameter object: The view or the trigger that wants it; nil for the statement itself.
  mutating func note(_ action: AuthorizerAction, in object: String?) {
    switch action {
    case .read(let table, let column): note(.reads, table, column, object)
    case .update(let table, let column):
      written.insert(table.lowercased())
      note(.writes, table, column, object)
      if object == nil ? replacesRows.itself : replacesRows.byTriggers {
        note(.writes, rowsOf: table, "may replace rows of", object)
      }
    case .insert(let table):
      written.insert(table.lowercased())
      note(.writes, rowsOf: table, "makes rows of", object)
    case .delete(let table):
      written.insert(table.lowercased())
      note(.writes, rowsOf: table, "deletes rows of", object)
    default: break
    }
  }

  private mutating func note(
    _ word: TransformAccess.Word, _ table: String, _ column: String, _ object: String?
  ) {
    let (table, column) = (table.lowercased(), column.lowercased())
    if let places = links[table] { return require(word, places, word.rawValue, object) }
    if let places = columns[table]?[column] { return require(word, places, word.rawValue, object) }
    // Which object a row is, and of which entity, may be read; to write it is to make another of it.
    guard word == .writes, MigrationRunner.isID(column) || column == EntityColumn.name else { return }
    note(.writes, rowsOf: table, "writes \(column) of", object)
  }

  private mutating func note(
    _ word: TransformAccess.Word, rowsOf table: String, _ deed: String, _ object: String?
  ) {
    let table = table.lowercased()
    if let places = links[table] { return require(word, places, word.rawValue, object) }
    guard let names = entities[table] else { return }
    // The engine does not say of which entity of a family.
    require(word, names.map { Place(entity: $0) }, deed, object)
  }

  private mutating func require(
    _ word: TransformAccess.Word, _ places: [Place], _ deed: String, _ object: String?
  ) {
    guard let first = places.first, !places.contains(where: { covers(word, $0) }) else { return }
    let text = "\(deed) \(first)" + (object.map { " (by \($0))" } ?? "")
    guard !deeds.contains(text) else { return }
    deeds.append(text)
    missing.append((word, first))
  }

  /// What is said of an entity holds for those below it.
  private func covers(_ word: TransformAccess.Word, _ place: Place) -> Bool {
    guard let entity = model.entity(named: place.entity) else { return false }
    return ([entity] + model.ancestors(of: entity)).contains {
      access.covers(word, $0.name, place.property)
    }
  }

  /// Notes the tables whose rows alone count, as in `SELECT count(*)`: the engine asks no leave for those, and they were read
  /// all the same. Of an entity that the author names anything of, it may be read which objects there are; what is told of one
  /// already says as much.
  private mutating func noteSources() {
    let places = (access.reads ?? []) + (access.writes ?? []) + missing.map(\.place)
    let named = Set(places.flatMap(tables))
    for table in sources.subtracting(written).sorted() where !named.contains(table) {
      note(.reads, rowsOf: table, "reads rows of", nil)
    }
  }

  /// The tables in which what a place names lies, or the links of it.
  private func tables(of place: Place) -> [String] {
    let relationship = place.property.flatMap {
      model.flattenedEntity(named: place.entity)?.relationship(named: $0)
    }
    return ([place.entity] + [relationship?.destination].compactMap(\.self)).map {
      model.root(of: $0).lowercased()
    }
  }

  /// What the block does beyond what is said; nil for nothing.
  var refusal: ModelError? {
    var columns = self
    columns.noteSources()
    return columns.deeds.isEmpty
      ? nil : ModelError(reason: "it " + access.refusal(columns.deeds, columns.missing))
  }
}
