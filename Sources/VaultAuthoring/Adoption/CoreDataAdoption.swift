// Reads tables of Core Data and SwiftData: Z_PRIMARYKEY lists the entities and their parents, Z columns
// hold properties, tables such as Z_1TAGS hold links. The model in the file adds what the tables do not
// record: case of names, targets of some to-ones, delete rules. If the file has no model, a note reports
// that. CoreDataAdoption+Hierarchies assigns columns to entities, CoreDataAdoption+Targets finds the
// targets of to-ones.

internal import CipherSQLite
internal import ObjectVault

struct CoreDataAdoption {
  /// An entity in the file, by its number.
  struct Kind {
    let number: Int64
    let name: String
    /// The number of the parent entity; 0 for none.
    let parent: Int64
    let highestID: Int64
  }

  let content: ForeignContent
  let kinds: [Kind]
  /// The model that the file contains; nil for none.
  let model: CoreDataModel?
  /// The targets of to-ones given by the caller, by `entity.property` in lower case.
  let targets: [String: String]
  let files: ExternalValues
  /// The external files that values name.
  var named: Set<String> = []
  /// The columns that are properties, and the indices of those that became the other end of a
  /// one-to-one already.
  var columns: [CoreDataColumn] = []
  var paired: Set<Int> = []
  /// The indices of the entities in the draft, by their numbers.
  var places: [Int64: Int] = [:]
  var draft: AdoptionDraft

  private static let own: Set<String> = [
    "z_primarykey", "z_metadata", "z_modelcache", "achange", "atransaction", "atransactionstring",
  ]

  static func isMade(_ content: ForeignContent) -> Bool {
    content.table("Z_PRIMARYKEY")?.column("Z_NAME") != nil && content.table("Z_METADATA") != nil
  }

  /// Determines what the file becomes.
  /// - Parameters:
  ///   - relationships: The targets of to-ones, such as `Note.owner` to `Person`.
  ///   - files: The external files of values.
  ///   - steps: The model that the result is to fit; nil for none.
  static func adoption(
    _ content: ForeignContent, _ connection: Connection, relationships: [String: String],
    files: ExternalValues, steps: Schema?
  ) throws -> Adoption {
    try files.register(on: connection)
    let kinds = try connection.rows("SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY ORDER BY Z_ENT")
      .map {
        Kind(
          number: $0[0].int64 ?? 0, name: $0[1].string ?? "", parent: $0[2].int64 ?? 0,
          highestID: $0[3].int64 ?? 0)
      }
    var adoption = CoreDataAdoption(
      content: content, kinds: kinds, model: try model(content, connection),
      targets: Dictionary(relationships.map { ($0.key.lowercased(), $0.value) }) { $1 },
      files: files, draft: AdoptionDraft(connection, steps: steps))
    return try adoption.run()
  }

  private static func model(_ content: ForeignContent, _ connection: Connection) throws -> CoreDataModel? {
    guard content.table("Z_MODELCACHE")?.column("Z_CONTENT") != nil else { return nil }
    // The engine reads the length without reading the bytes.
    let bytes = try connection.value(
      "SELECT Z_CONTENT FROM Z_MODELCACHE WHERE length(Z_CONTENT) < \(number: CoreDataModel.byteLimit) LIMIT 1"
    )
    guard case .blob(let data)? = bytes else { return nil }
    return CoreDataModel(packed: [UInt8](data))
  }

  private mutating func run() throws -> Adoption {
    entities()
    for root in draft.entities.indices where draft.entities[root].parent == nil {
      columns += try columns(of: root)
    }
    try checkTargets()
    for index in columns.indices { columns[index].target = try target(of: columns[index]) }
    for place in draft.entities.indices { try attributes(of: place) }
    for root in draft.entities.indices where draft.entities[root].parent == nil {
      try checkOrders(of: root)
      try checkKinds(of: root)
    }
    // Names in the file take precedence over those that are invented for inverses.
    for table in content.tables where draft.place(of: table.name) == nil { try others(table) }
    for index in columns.indices { try addReference(index) }
    for place in draft.entities.indices { indexes(of: place) }
    for (kind, name) in content.others {
      draft.notes.append(
        "The \(kind) \"\(name)\" is not imported; a later step can create it with: create raw \(kind)")
    }
    draft.notes.append(
      model != nil
        ? "Names, targets, inverses, delete rules and orders are those of the model that the file has in "
          + "Z_MODELCACHE."
        : "This file has no delete rules, no names of to-manys, and names only in capitals. Check these in "
          + "the step and in the classes; you may change the capitals before you import the rows.")
    let unnamed = files.names.subtracting(named).count
    if unnamed > 0 {
      draft.losses.append(
        .init(
          name: "_SUPPORT", rows: Int64(unnamed),
          reason: "this is the number of external files that no value names"))
    }
    return try draft.finished(.coreData)
  }

  /// Creates the entities, each after its parent.
  private mutating func entities() {
    var names = AdoptionNames()
    func name(of kind: Kind) -> String {
      names.unique(Schema.isUsable(entity: kind.name) ? kind.name : AdoptionNames.entity(kind.name))
    }
    let numbers = Set(kinds.map(\.number))
    var waiting: [Kind] = []
    for kind in kinds {
      guard kind.parent == 0 || !numbers.contains(kind.parent) else {
        waiting.append(kind)
        continue
      }
      guard let table = content.table("Z\(kind.name)"), table.rowID != nil else { continue }
      var entity = EntityDraft(table, name: name(of: kind))
      entity.highestID = kind.highestID
      places[kind.number] = draft.entities.count
      draft.entities.append(entity)
    }
    while let index = waiting.firstIndex(where: { places[$0.parent] != nil }) {
      let kind = waiting.remove(at: index)
      guard let parent = places[kind.parent] else { continue }
      var entity = EntityDraft(draft.entities[parent].table, name: name(of: kind))
      (entity.highestID, entity.parent) = (kind.highestID, parent)
      entity.entity.parent = draft.entities[parent].entity.name
      entity.condition = entity.table.column("Z_ENT").map { "s.\(SQLName($0.name)) = \(number: kind.number)" }
      places[kind.number] = draft.entities.count
      draft.entities.append(entity)
    }
  }

  // MARK: Links and the rest

  private mutating func others(_ table: ForeignTable) throws {
    let lower = table.name.lowercased()
    if Self.own.contains(lower) || lower.hasPrefix("ansck") {
      draft.notes.append(
        "\(table.name) is internal to Core Data (\(counted(table.rowCount, "row"))) and is not imported."
      )
      return
    }
    let columns = table.columns.compactMap { column -> (column: String, place: Int, stem: String)? in
      guard let match = column.name.firstMatch(of: #/^[Zz]_([0-9]+)(.+)$/#), let number = Int64(match.1),
        let place = places[number]
      else { return nil }
      return (column.name, place, String(match.2))
    }
    if columns.count == 2 {
      // A column is named after the to-many whose members it contains. The entity of the other column
      // declares this to-many.
      let ends = try [(columns[0], columns[1]), (columns[1], columns[0])].map { own, other in
        try end(own.place, own.column, members: other, of: table)
      }
      try draft.addLinks(table, between: ends[0], and: ends[1])
    } else if columns.count == 1, let back = table.column("REFLEXIVE") {
      let only = columns[0]
      let (place, told, name) = members(only.stem, of: only.place)
      draft.notes.append(
        "\(table.name) links an entity with itself; the inverse gets a name of its own, \(name)Back.")
      let rule = told.map(Self.rule) ?? .nullify
      let ends = try [back.name, only.column].map { column in
        let value: SQL = "s.\(SQLName(column))"
        return (place, try widened(place, value: value, of: table, name: "\(table.name).\(column)"), value)
      }
      let (own, other) = (ends[0], ends[1])
      try draft.addLinks(
        table, between: EndDraft(place: own.1, name: name, id: lookup(own.2, own.1), rule: rule),
        and: EndDraft(place: other.1, name: name + "Back", id: lookup(other.2, other.1), rule: rule))
    } else {
      draft.losses.append(
        .init(
          name: table.name, rows: table.rowCount,
          reason: "it is neither a table of a Core Data entity nor of its links"))
    }
  }

  /// Returns an end of a many-to-many: `column` has the ids of its own objects, `members` those of its
  /// members.
  private mutating func end(
    _ number: Int, _ column: String, members: (column: String, place: Int, stem: String),
    of table: ForeignTable
  ) throws -> EndDraft {
    let (place, told, name) = self.members(members.stem, of: number)
    let order = try order(
      "Z_FOK_\(members.column.dropFirst(2))", in: table, isOrdered: told?.isOrdered,
      of: "\(draft.entities[place].entity.name).\(name)")
    let value: SQL = "s.\(SQLName(column))"
    let own = try widened(place, value: value, of: table, name: "\(table.name).\(column)")
    return EndDraft(
      place: own, name: name, id: lookup(value, own), rule: told.map(Self.rule) ?? .nullify, order: order)
  }

  /// Adds the indexes of a table, each to the lowest entity that has all its properties.
  private mutating func indexes(of root: Int) {
    guard draft.entities[root].parent == nil else { return }
    var known: [String: (place: Int, name: String)] = [:]
    for place in draft.hierarchy(of: root) {
      for (column, name) in draft.entities[place].properties { known[column] = (place, name) }
    }
    for index in draft.entities[root].table.indexes where !index.isPartial {
      let found = index.columns.map { $0.flatMap { known[$0.asciiLowercased] } }
      let properties = found.compactMap { $0 }
      guard properties.count == found.count, !found.isEmpty else { continue }
      guard
        let place = properties.map(\.place).first(where: { place in
          properties.allSatisfy { draft.line(of: place).contains($0.place) }
        })
      else {
        draft.notes.append(
          "The index \(index.name) has properties of entities that do not inherit from one another, and is "
            + "not imported."
        )
        continue
      }
      draft.entities[place].entity.indexes.append(
        IndexDescription(properties: properties.map(\.name), isUnique: index.isUnique))
    }
  }
}
