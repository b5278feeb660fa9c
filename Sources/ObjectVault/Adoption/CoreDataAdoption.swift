// Core Data's tables as entities, SwiftData's too: Z_PRIMARYKEY names the entities, Z-columns hold their properties, tables
// such as Z_1TAGS the links. What the tables do not tell (the case of names, targets of some to-ones, delete rules) the model
// tells that the file keeps of itself; where it does not, either, it is said. Columns are in CoreDataAdoption+Columns.

internal import CipherSQLite

struct CoreDataAdoption {
  /// An entity of the file's model, by its number.
  struct Kind {
    let number: Int64
    let name: String
    /// The entity that it is a kind of; 0 for none.
    let parent: Int64
    let highestID: Int64
  }

  let content: ForeignContent
  let kinds: [Kind]
  /// What the file tells of its model; nil for nothing.
  let model: CoreDataModel?
  /// Targets of to-ones that somebody named, by `entity.property` in lower case.
  let targets: [String: String]
  let files: ExternalValues
  /// The files that values name.
  var named: Set<String> = []
  /// Columns that became the other end of a one-to-one already, in lower case with their tables.
  var paired: Set<String> = []
  var draft: AdoptionDraft

  private static let own: Set<String> = [
    "z_primarykey", "z_metadata", "z_modelcache", "achange", "atransaction", "atransactionstring",
  ]

  static func isMade(_ content: ForeignContent) -> Bool {
    content.table("Z_PRIMARYKEY")?.column("Z_NAME") != nil && content.table("Z_METADATA") != nil
  }

  /// - Parameters:
  ///   - relationships: Targets of to-ones, such as `Note.owner` to `Person`.
  ///   - files: What Core Data keeps beside the file.
  static func adoption(
    _ content: ForeignContent, _ connection: Connection, relationships: [String: String],
    files: ExternalValues
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
      files: files, draft: AdoptionDraft(connection))
    return try adoption.run()
  }

  private static func model(_ content: ForeignContent, _ connection: Connection) throws -> CoreDataModel? {
    guard content.table("Z_MODELCACHE")?.column("Z_CONTENT") != nil else { return nil }
    // The engine has the length before the bytes.
    let bytes = try connection.value(
      "SELECT Z_CONTENT FROM Z_MODELCACHE WHERE length(Z_CONTENT) < \(number: CoreDataModel.byteLimit) LIMIT 1"
    )
    guard case .blob(let data)? = bytes else { return nil }
    return CoreDataModel(packed: [UInt8](data))
  }

  private mutating func run() throws -> Adoption {
    var names = AdoptionNames()
    for kind in kinds where root(of: kind.number)?.number == kind.number {
      guard let table = content.table("Z\(kind.name)"), table.rowID != nil else { continue }
      let name = Schema.isUsable(entity: kind.name) ? kind.name : AdoptionNames.entity(kind.name)
      var entity = EntityDraft(table, name: names.unique(name))
      entity.highestID = kind.highestID
      draft.entities.append(entity)
    }
    try checkTargets()
    for place in draft.entities.indices { try properties(of: place) }
    for table in content.tables where draft.place(of: table.name) == nil { try others(table) }
    for place in draft.entities.indices { indexes(of: place) }
    for (kind, name) in content.others {
      draft.notes.append("The \(kind) \(name) is not taken; a later step can make one: create raw \(kind).")
    }
    draft.notes.append(
      model != nil
        ? "Names, targets, inverses, delete rules and orders are those of the model that the file keeps of itself, in Z_MODELCACHE."
        : "Core Data's file has names in capitals, and neither delete rules nor the names of to-manys: look at them in the step and "
          + "in the classes. A name may be written with other capitals there before the rows are taken.")
    let unnamed = files.names.subtracting(named).count
    if unnamed > 0 {
      draft.losses.append(
        .init(
          name: "_SUPPORT", rows: Int64(unnamed),
          reason: "so many files beside the file are named by none of its values"))
    }
    return try draft.finished(.coreData)
  }

  /// The entity whose table holds the objects of one.
  private func root(of number: Int64) -> Kind? {
    var kind = kinds.first { $0.number == number }
    for _ in kinds {
      guard let parent = kind?.parent, parent != 0, let next = kinds.first(where: { $0.number == parent })
      else { break }
      kind = next
    }
    return kind
  }

  func place(of number: Int64) -> Int? { root(of: number).flatMap { draft.place(of: "Z\($0.name)") } }

  // MARK: Links and the rest

  private mutating func others(_ table: ForeignTable) throws {
    let lower = table.name.lowercased()
    if Self.own.contains(lower) || lower.hasPrefix("ansck") {
      draft.notes.append(
        "\(table.name) is what Core Data keeps for itself (\(AdoptionLoss.counted(table.rowCount))), and is not taken."
      )
      return
    }
    let columns = table.columns.compactMap { column -> (column: String, place: Int, stem: String)? in
      guard let match = column.name.firstMatch(of: #/^[Zz]_([0-9]+)(.+)$/#), let number = Int64(match.1),
        let place = place(of: number)
      else { return nil }
      return (column.name, place, String(match.2))
    }
    if columns.count == 2 {
      // What a column is called is the relationship that has its objects as members: at the entity of the other column.
      let ends = try [(columns[0], columns[1]), (columns[1], columns[0])].map { own, other in
        try end(own.place, own.column, members: other, of: table)
      }
      try draft.addLinks(table, ends[0], ends[1])
    } else if columns.count == 1, table.column("REFLEXIVE") != nil {
      let only = columns[0]
      let name = name(ofStem: only.stem, in: only.place)
      draft.notes.append(
        "\(table.name) links an entity with itself; the way back has a name of its own, \(name)Back.")
      try draft.addLinks(
        table,
        EndDraft(place: only.place, name: name, id: lookup("s.\(SQLName("REFLEXIVE"))", only.place)),
        EndDraft(place: only.place, name: name + "Back", id: lookup("s.\(SQLName(only.column))", only.place)))
    } else {
      draft.losses.append(
        .init(
          name: table.name, rows: table.rowCount,
          reason: "it is no table of an entity of Core Data's, nor of its links"))
    }
  }

  /// The end of a many-to-many whose own ids lie in one column, and whose members lie in the other.
  private mutating func end(
    _ place: Int, _ column: String, members: (column: String, place: Int, stem: String),
    of table: ForeignTable
  ) throws -> EndDraft {
    let told = relationship(ofStem: members.stem, in: place)
    let name = name(ofStem: members.stem, in: place)
    let order = try order(
      "Z_FOK_\(members.column.dropFirst(2))", in: table, isOrdered: told?.isOrdered,
      of: "\(draft.entities[place].entity.name).\(name)")
    return EndDraft(
      place: place, name: name, id: lookup("s.\(SQLName(column))", place),
      rule: told.map(Self.rule) ?? .nullify, order: order)
  }

  private mutating func indexes(of place: Int) {
    let (table, properties) = (draft.entities[place].table, draft.entities[place].properties)
    for index in table.indexes where !index.isPartial {
      let names = index.columns.map { $0.flatMap { properties[$0.asciiLowercased] } }
      guard !names.contains(nil), !names.isEmpty else { continue }
      draft.entities[place].entity.indexes.append(
        IndexDescription(properties: names.compactMap { $0 }, isUnique: index.isUnique))
    }
  }
}
