// Builds an adoption: used by the reader of plain tables and by that of Core Data.

internal import CipherSQLite
internal import ObjectVault

/// An entity that a table becomes.
struct EntityDraft {
  let table: ForeignTable
  var entity: EntityDescription
  var names = AdoptionNames()
  var values: [(property: String, expression: SQL)] = []
  var orders: [(toOne: String, expression: SQL)] = []
  /// The properties of columns, by the columns' names in lower case.
  var properties: [String: String] = [:]
  var highestID: Int64 = 0
  /// The index of the parent's draft; the parent's table has the rows. nil for a root.
  var parent: Int?
  /// The condition for the entity's own rows where entities share the table; nil for a root, which has
  /// all remaining rows.
  var condition: SQL?

  init(_ table: ForeignTable, name: String) {
    self.table = table
    entity = EntityDescription(name: name)
  }

  /// The row's id, for a query that calls the table `s`.
  var id: SQL { "s.\(SQLName(table.rowID ?? "rowid"))" }
}

/// What is known of a column besides its declaration in the file.
struct ColumnHint {
  /// The name of its property.
  var name: String
  /// The type that describes its values, as if the file declared it; in capitals.
  var type: String
  /// The expression for its bytes; nil where they are stored in the column.
  var data: SQL?
  /// The number of values whose bytes are missing.
  var missing: Int64 = 0
  var note: String?

  init(name: String, type: String) { (self.name, self.type) = (name, type) }
}

/// The inverse of a to-one.
struct BackDraft {
  /// The name of the to-many.
  let name: String
  let rule: DeleteRule
  /// The expression for the positions of its members; nil for no order.
  var order: SQL?
}

/// One end of a one-to-one or of a many-to-many.
struct EndDraft {
  /// The index of this end's entity in the draft.
  let place: Int
  /// The name of the relationship to the other end.
  let name: String
  /// The expression for ids. In a one-to-one: the id of the object at the other end, for a row of this
  /// end's entity. In a many-to-many: the id of the object at this end, for a row of the join table.
  let id: SQL
  var rule = DeleteRule.nullify
  /// The column of this end; nil if it has none.
  var column: ForeignTable.Column?
  /// The expression for the positions of its members; nil for no order.
  var order: SQL?
}

/// An adoption under construction.
struct AdoptionDraft {
  let connection: Connection
  /// The model of the steps that the file is to fit; nil for none.
  let steps: Schema?
  var entities: [EntityDraft] = []
  var links: [AdoptedLinks] = []
  var notes: [String] = []
  var losses: [AdoptionLoss] = []
  var obstacles: [String] = []

  init(_ connection: Connection, steps: Schema?) { (self.connection, self.steps) = (connection, steps) }

  /// The index of the entity of a table, or of the root if several entities share the table.
  func place(of table: String) -> Int? {
    entities.firstIndex { $0.parent == nil && $0.table.name.asciiLowercased == table.asciiLowercased }
  }

  // MARK: Inheritance

  /// The indices of an entity and its ancestors, up to the root.
  func line(of place: Int) -> [Int] {
    var line = [place]
    while let parent = entities[line[line.count - 1]].parent, line.count <= entities.count {
      line.append(parent)
    }
    return line
  }

  /// The indices of the entities that share the table of a root, each after its parent.
  func hierarchy(of root: Int) -> [Int] { entities.indices.filter { line(of: $0).last == root } }

  /// A name that no property in the entity's table has yet, since all of them are columns of one table.
  private mutating func unique(_ name: String, in place: Int) -> String {
    entities[line(of: place).last ?? place].names.unique(name)
  }

  // MARK: Attributes

  /// The type that the steps declare for a property, regardless of case; nil if they do not declare it.
  private func wanted(_ property: String, of place: Int) -> AttributeType? {
    // A table has a column once, whichever of its entities declares it.
    let root = entities[line(of: place).last ?? place].entity.name.lowercased()
    guard let steps, let entity = steps.entities.first(where: { $0.name.lowercased() == root }) else {
      return nil
    }
    return steps.hierarchy(of: entity).lazy.flatMap(\.attributes)
      .first { $0.name.lowercased() == property.lowercased() }?.type
  }

  /// The property names of columns. Columns that keep their name are named first: a column `state` that
  /// becomes `status` must not take the name of a column `status`.
  private mutating func names(of columns: [ForeignTable.Column], _ hints: [ColumnHint], in place: Int)
    -> [String]
  {
    let letters = { (name: String) in name.uppercased().filter { $0.isLetter || $0.isNumber } }
    let isOwn = zip(columns, hints).map { letters($0.name).hasSuffix(letters($1.name)) }
    var names = hints.map(\.name)
    for index in names.indices.filter({ isOwn[$0] }) + names.indices.filter({ !isOwn[$0] }) {
      names[index] = unique(names[index], in: place)
    }
    return names
  }

  /// Adds columns as attributes, with types that follow from their values.
  mutating func addAttributes(
    _ columns: [ForeignTable.Column], to place: Int, isCoreData: Bool = false,
    hints: [ColumnHint]? = nil
  ) throws {
    let hints = hints ?? columns.map { ColumnHint(name: AdoptionNames.property($0.name), type: $0.type) }
    let table = entities[place].table.name
    let contents = try ColumnContent.all(of: columns.map(\.name), in: table, connection)
    let properties = names(of: columns, hints, in: place)
    for ((column, hint), (content, property)) in zip(zip(columns, hints), zip(contents, properties)) {
      let value: SQL = "s.\(SQLName(column.name))"
      let reading =
        hint.data.map { ColumnReading(data: $0) }
        ?? ColumnReading.of(
          content, declared: hint.type, value, isSinceReference: isCoreData,
          wanted: wanted(property, of: place))
      let own = "\(entities[place].entity.name).\(property)"
      var attribute = AttributeDescription(
        name: property, type: reading.type,
        isOptional: !column.isRequired && (column.keyPlace == 0 || content.nulls > 0))
      attribute.defaultValue = try defaultValue(of: column, as: reading.type, called: own)
      if hint.missing > 0 {
        losses.append(
          .init(
            name: own, rows: hint.missing,
            reason: "their values are in external files that do not exist, and would be nil"))
      }
      if let note = hint.note ?? reading.note {
        notes.append("\(own), from the column \(table).\(column.name): \(note).")
      }
      if column.isGenerated {
        notes.append(
          "\(own) was computed from other columns, and is now an attribute with the present values.")
      }
      entities[place].entity.attributes.append(attribute)
      entities[place].values.append((property, reading.expression))
      entities[place].properties[column.name.asciiLowercased] = property
    }
  }

  /// Returns the default as a constant of the type; nil if there is none. For a default that is no such
  /// constant, it adds a note and returns nil.
  private mutating func defaultValue(
    of column: ForeignTable.Column, as type: AttributeType, called name: String
  ) throws -> DefaultValue? {
    guard let text = column.defaultSQL, text.uppercased() != "NULL" else { return nil }
    if let constant = Self.constant(text), type != .date, type != .uuid, constant.problem(for: type) == nil {
      return constant
    }
    notes.append("\(name) no longer has its default \(text). Declare one in the class.")
    return nil
  }

  /// The constant of a SQL literal; nil for an expression.
  private static func constant(_ text: String) -> DefaultValue? {
    if let truth = ["TRUE": 1, "FALSE": 0][text.uppercased()] { return .integer(Int64(truth)) }
    if text.wholeMatch(of: #/'([^']|'')*'/#.matchingSemantics(.unicodeScalar)) != nil {
      let inner = text.unicodeScalars.dropFirst().dropLast()
      return .text(
        String(String.UnicodeScalarView(inner.replacing("''".unicodeScalars, with: "'".unicodeScalars))))
    }
    guard text.wholeMatch(of: #/[-+]?[0-9.]+([eE][-+]?[0-9]+)?/#) != nil else { return nil }
    return Int64(text).map { .integer($0) } ?? Double(text).map { .real($0) }
  }

  // MARK: Relationships

  /// Adds a column as a to-one, with its inverse to-many.
  /// - Parameters:
  ///   - column: The column; nil if it is also the row id, which stays the id.
  ///   - given: The expression for the stored value of the column.
  ///   - lookup: The expression for the id of the referenced row; NULL where there is none.
  mutating func addToOne(
    _ name: String, from place: Int, to target: Int, column: ForeignTable.Column?, given: SQL, lookup: SQL,
    rule ownRule: DeleteRule = .nullify, back: BackDraft
  ) throws {
    let property = unique(name, in: place)
    let inverse = unique(back.name, in: target)
    let (own, table) = ("\(entities[place].entity.name).\(property)", entities[place].table)
    let dangling = try count(table, where: "\(given) IS NOT NULL AND \(lookup) IS NULL")
    if dangling > 0 {
      losses.append(
        .init(
          name: own, rows: dangling,
          reason:
            "they refer to missing rows of \(entities[target].table.name), and would be nil"
        ))
    }
    var isRequired = column?.isRequired == true
    if isRequired, dangling > 0 {
      isRequired = false
      notes.append("\(own) was NOT NULL, but is optional now, because some rows refer to missing rows.")
    }
    var rule = back.rule
    if isRequired, rule == .nullify {
      rule = .deny
      notes.append(
        "\(own) was NOT NULL and ON DELETE SET NULL, which cannot be kept; its delete rule is deny.")
    }
    entities[place].entity.relationships.append(
      RelationshipDescription(
        name: property, destination: entities[target].entity.name, isRequired: isRequired, inverse: inverse,
        deleteRule: ownRule))
    entities[target].entity.relationships.append(
      RelationshipDescription(
        name: inverse, destination: entities[place].entity.name, isToMany: true, isOrdered: back.order != nil,
        inverse: property, deleteRule: rule))
    entities[place].values.append((property, lookup))
    if let order = back.order { entities[place].orders.append((property, order)) }
    if let column { entities[place].properties[column.name.asciiLowercased] = property }
  }

  /// Adds two columns that reference each other as a one-to-one. Only one column is kept: it has all
  /// links.
  mutating func addOneToOne(between first: EndDraft, and second: EndDraft) {
    var ends = [first, second].map { (end: $0, name: unique($0.name, in: $0.place)) }
    if !hasColumn(ends[0], beside: ends[1]) { ends.reverse() }
    let (own, other) = (ends[0], ends[1])
    let entityNames = ends.map { entities[$0.end.place].entity.name }
    entities[own.end.place].entity.relationships.append(
      RelationshipDescription(name: own.name, destination: entityNames[1], deleteRule: own.end.rule))
    entities[other.end.place].entity.relationships.append(
      RelationshipDescription(
        name: other.name, destination: entityNames[0], inverse: own.name, deleteRule: other.end.rule))
    entities[own.end.place].values.append((own.name, own.end.id))
    if let column = own.end.column {
      entities[own.end.place].properties[column.name.asciiLowercased] = own.name
    }
  }

  /// Whether an end of a one-to-one has the column: the end for which the steps declare it, or else the
  /// one that comes first by the name of its entity, and then by its own name.
  private func hasColumn(_ end: (end: EndDraft, name: String), beside other: (end: EndDraft, name: String))
    -> Bool
  {
    if isLookedUp(other.name, of: other.end.place) { return true }
    if isLookedUp(end.name, of: end.end.place) { return false }
    return (entities[end.end.place].entity.name, end.name)
      < (entities[other.end.place].entity.name, other.name)
  }

  private func isLookedUp(_ property: String, of place: Int) -> Bool {
    let name = entities[place].entity.name.lowercased()
    guard let steps, let entity = steps.entities.first(where: { $0.name.lowercased() == name }) else {
      return false
    }
    return steps.hierarchy(of: entity).lazy.flatMap(\.relationships)
      .contains { $0.isLookedUp && $0.name.lowercased() == property.lowercased() }
  }

  /// Adds a table as the links of a many-to-many.
  mutating func addLinks(_ table: ForeignTable, between first: EndDraft, and second: EndDraft) throws {
    let property = unique(first.name, in: first.place)
    let inverse = unique(second.name, in: second.place)
    let (source, target) = (entities[first.place].entity.name, entities[second.place].entity.name)
    entities[first.place].entity.relationships.append(
      RelationshipDescription(
        name: property, destination: target, isToMany: true, isOrdered: first.order != nil, inverse: inverse,
        deleteRule: first.rule))
    entities[second.place].entity.relationships.append(
      RelationshipDescription(
        name: inverse, destination: source, isToMany: true, isOrdered: second.order != nil, inverse: property,
        deleteRule: second.rule))
    let dangling = try count(table, where: "\(first.id) IS NULL OR \(second.id) IS NULL")
    if dangling > 0 {
      losses.append(
        .init(
          name: "\(source).\(property)", rows: dangling, reason: "they link a missing row"))
    }
    links.append(
      AdoptedLinks(
        entity: source, relationship: property, table: table.name, own: first.id, other: second.id,
        order: first.order, otherOrder: second.order, rows: table.rowCount - dangling))
  }

  /// The number of rows of a table for which a condition holds; the condition calls the table `s`.
  func count(_ table: ForeignTable, where condition: SQL) throws -> Int64 {
    try connection.value("SELECT count(*) FROM \(SQLName(table.name)) AS s WHERE \(condition)")?.int64 ?? 0
  }

  // MARK: Result

  /// The finished adoption; call it once all names are assigned.
  func finished(_ origin: Adoption.Origin) throws -> Adoption {
    var obstacles = obstacles
    let roots = entities.indices.filter { entities[$0].parent == nil }
    for draft in roots.map({ entities[$0] }) {
      for (condition, place) in [
        ("\(draft.id) < 1", "below 1"),
        ("\(draft.id) > \(number: RowIDs.highest)", "above \(RowIDs.highest)"),
      ] as [(SQL, String)] {
        let rows = try count(draft.table, where: condition)
        guard rows > 0 else { continue }
        obstacles.append(
          "\(draft.table.name) has \(counted(rows, "row")) with an id \(place), which objects cannot have. "
            + "Give these rows other ids."
        )
      }
    }
    let schema = Schema(entities: entities.map(\.entity))
    for entity in entities where entity.highestID > RowIDs.highest {
      obstacles.append(
        "\(entity.entity.name): ids up to \(entity.highestID) were issued, but ids of a store end at "
          + "\(RowIDs.highest). If no row has such a high id, lower "
          + "\(origin == .coreData ? "Z_MAX in Z_PRIMARYKEY" : "seq in sqlite_sequence") with the program "
          + "that made the file."
      )
    }
    obstacles += schema.modelFaults.map { "\($0)" }
    let adopted = try roots.map(adopted)
    let tables =
      adopted.flatMap(\.tables)
      + links.map {
        Adoption.Table(source: $0.table, target: "\($0.entity).\($0.relationship)", rows: $0.rows)
      }
    return Adoption(
      origin: origin, schema: schema, tables: tables.sorted { $0.source < $1.source }, notes: notes,
      losses: losses, obstacles: obstacles, entities: adopted, links: links)
  }

  /// An entity with its subentities.
  private func adopted(_ root: Int) throws -> AdoptedEntity {
    let table = entities[root].table
    let below = try hierarchy(of: root).dropFirst().map { place in
      let draft = entities[place]
      let rows = try draft.condition.map { try count(table, where: $0) } ?? 0
      return AdoptedEntity(draft, parent: draft.parent.map { entities[$0].entity.name }, rows: rows)
    }
    let highest =
      try connection.value("SELECT max(\(entities[root].id)) FROM \(SQLName(table.name)) AS s")?.int64 ?? 0
    var entity = AdoptedEntity(
      entities[root], parent: nil, rows: below.reduce(table.rowCount) { $0 - $1.rows })
    entity.below = below
    entity.highestID = max(highest, below.map(\.highestID).max() ?? 0, entity.highestID)
    return entity
  }
}
