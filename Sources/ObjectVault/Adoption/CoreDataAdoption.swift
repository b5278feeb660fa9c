// Core Data's tables as entities, SwiftData's too: Z_PRIMARYKEY names the entities, Z-columns hold their properties, tables
// such as Z_1TAGS the links. What the file does not tell (the case of names, targets of some to-ones, delete rules) is said.

internal import CipherSQLite

struct CoreDataAdoption {
  /// An entity of the file's model, by its number.
  private struct Kind {
    let number: Int64
    let name: String
    /// The entity that it is a kind of; 0 for none.
    let parent: Int64
    let highestID: Int64
  }

  private let content: ForeignContent
  private let kinds: [Kind]
  /// Targets of to-ones that somebody named, by `entity.property` in lower case.
  private let targets: [String: String]
  private let files: ExternalValues
  /// The files that values name.
  private var named: Set<String> = []
  private var draft: AdoptionDraft

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
      content: content, kinds: kinds,
      targets: Dictionary(relationships.map { ($0.key.lowercased(), $0.value) }) { $1 },
      files: files, draft: AdoptionDraft(connection))
    return try adoption.run()
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
      "Core Data's file has names in capitals, and neither delete rules nor the names of to-manys: look at them in the step and "
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

  private func place(of number: Int64) -> Int? { root(of: number).flatMap { draft.place(of: "Z\($0.name)") } }

  // MARK: Properties

  private mutating func properties(of place: Int) throws {
    let table = draft.entities[place].table
    try addKind(to: place)
    var attributes: [ForeignTable.Column] = []
    var references: [(column: ForeignTable.Column, target: Int)] = []
    for column in table.columns where !["z_pk", "z_ent", "z_opt"].contains(column.name.lowercased()) {
      if column.name.uppercased().hasPrefix("Z_FOK_") || column.name.contains(#/^[Zz][0-9]+_/#) {
        draft.notes.append(
          "\(table.name).\(column.name) is Core Data's own (an order, or the kind of what is referred to), and is not taken."
        )
      } else if let target = try target(of: column, in: place) {
        references.append((column, target))
      } else {
        attributes.append(column)
      }
    }
    let hints = try attributes.map { try hint($0, of: table) }
    try draft.addAttributes(attributes, to: place, isCoreData: true, hints: hints)
    for (column, target) in references {
      let name = Self.property(column.name)
      let several = references.filter { $0.target == target }.count > 1
      let back =
        AdoptionNames.many(draft.entities[place].entity.name)
        + (several ? "By" + AdoptionNames.capitalized(name) : "")
      let given: SQL = "s.\(SQLName(column.name))"
      try draft.addToOne(
        name, from: place, to: target, column: column, given: given, lookup: lookup(given, target),
        back: back,
        rule: .nullify)
    }
  }

  private mutating func hint(_ column: ForeignTable.Column, of table: ForeignTable) throws -> ColumnHint {
    var hint = ColumnHint(name: Self.property(column.name), type: column.type)
    if column.type == "BLOB" { try addFiles(to: &hint, of: column.name, in: table.name) }
    return hint
  }

  /// Where the values of a column lie that may be in files: told by the model, or by all of them being so.
  private mutating func addFiles(to hint: inout ColumnHint, of column: String, in table: String) throws {
    let content = try files.content(of: column, in: table, draft.connection)
    guard content.named > 0, content.plain + content.named == content.values else {
      if content.values > 0, content.plain == content.values {
        // A byte too many can be cut off in a later step, one that was cut off for nothing is gone.
        hint.note =
          "all its values begin with the byte 1, as those of \"Allows External Storage\" do, and the file does not tell whether "
          + "these are; they are taken with it"
      }
      return
    }
    let names = try files.named(by: column, in: table, draft.connection)
    let there = files.names
    named.formUnion(names)
    hint.data = ExternalValues.data("s.\(SQLName(column))")
    hint.missing = Int64(names.filter { !there.contains($0) }.count)
  }

  /// Objects of several kinds lie in one table: which one each is of becomes an attribute.
  private mutating func addKind(to place: Int) throws {
    let table = draft.entities[place].table
    let here = kinds.filter { self.place(of: $0.number) == place }
    guard here.count > 1, table.column("Z_ENT") != nil else { return }
    let name = draft.entities[place].names.unique("kind")
    let cases = SQL.joined(here.map { " WHEN \(number: $0.number) THEN \(literal: $0.name)" }, by: "")
    draft.entities[place].entity.attributes.append(
      AttributeDescription(name: name, type: .string, isOptional: true))
    draft.entities[place].values.append((name, "CASE s.\"Z_ENT\"\(cases) END"))
    let entity = draft.entities[place].entity.name
    draft.notes.append(
      "\(here.map(\.name).joined(separator: ", ")) inherit from one another, which entities do not: their objects are of "
        + "\(entity), and \(entity).\(name) says of which kind.")
  }

  /// - Throws: ``StoreError/noProperty(entity:property:similar:)`` for a target of what is no property.
  private func checkTargets() throws {
    let names = draft.entities.map { draft in
      (entity: draft.entity.name, properties: draft.table.columns.map { Self.property($0.name) })
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

  private func lookup(_ value: SQL, _ target: Int) -> SQL {
    "(SELECT p.\"Z_PK\" FROM \(SQLName(draft.entities[target].table.name)) AS p WHERE p.\"Z_PK\" = \(value))"
  }

  /// The entity that a column leads to; nil for an attribute. The file declares no references.
  private mutating func target(of column: ForeignTable.Column, in place: Int) throws -> Int? {
    guard column.type == "INTEGER" else { return nil }
    let (table, entity) = (draft.entities[place].table, draft.entities[place].entity.name)
    let own = "\(entity).\(Self.property(column.name))"
    if let named = targets[own.lowercased()] {
      guard !named.isEmpty else { return nil }
      guard
        let target = draft.entities.firstIndex(where: { $0.entity.name.lowercased() == named.lowercased() })
      else {
        throw StoreError.noEntity(
          name: named, similar: nearest(named, among: draft.entities.map(\.entity.name)))
      }
      return target
    }
    let content = try ColumnContent.all(of: [column.name], in: table.name, draft.connection)[0]
    guard content.reals + content.texts + content.blobs == 0 else { return nil }
    if let kind = kinds.first(where: { "Z\($0.name)".uppercased() == column.name.uppercased() }),
      let target = self.place(of: kind.number), try isSound(column, table, target)
    {
      return target
    }
    guard
      table.indexes.contains(where: {
        $0.name.uppercased() == "\(table.name)_\(column.name)_INDEX".uppercased()
      })
    else { return nil }
    // Core Data gives each to-one an index of this name, and some attributes.
    let fitting =
      try content.integers > 0 ? draft.entities.indices.filter { try isSound(column, table, $0) } : []
    guard fitting.count == 1 else {
      draft.notes.append(
        "\(own) may be a to-one, and the file does not tell its target. It is a number; if it is one, name the target: "
          + "--to-one \(own)=ENTITY, and if it is none: --to-one \(own)=")
      return nil
    }
    draft.notes.append(
      "\(own) was taken for a to-one to \(draft.entities[fitting[0]].entity.name), whose ids it has. If that is wrong, name "
        + "the target: --to-one \(own)=ENTITY, or say that it is a number: --to-one \(own)=")
    return fitting[0]
  }

  /// Whether all that a column refers to is there.
  private func isSound(_ column: ForeignTable.Column, _ table: ForeignTable, _ target: Int) throws -> Bool {
    let value: SQL = "s.\(SQLName(column.name))"
    return try draft.connection.value(
      """
      SELECT 1 FROM \(SQLName(table.name)) AS s
      WHERE \(value) IS NOT NULL AND \(lookup(value, target)) IS NULL LIMIT 1
      """) == nil
  }

  // MARK: Links and the rest

  private mutating func others(_ table: ForeignTable) throws {
    let lower = table.name.lowercased()
    if Self.own.contains(lower) || lower.hasPrefix("ansck") {
      draft.notes.append(
        "\(table.name) is what Core Data keeps for itself (\(AdoptionLoss.counted(table.rowCount))), and is not taken."
      )
      return
    }
    let columns = table.columns.compactMap { column -> (column: String, place: Int, name: String)? in
      guard let match = column.name.firstMatch(of: #/^[Zz]_([0-9]+)(.+)$/#), let number = Int64(match.1),
        let place = place(of: number)
      else { return nil }
      return (column.name, place, AdoptionNames.property(String(match.2)))
    }
    let isOrdered = table.columns.contains { $0.name.uppercased().hasPrefix("Z_FOK_") }
    if isOrdered { draft.notes.append("\(table.name) has an order, which is not taken; a to-many is a set.") }
    let id = { (self: CoreDataAdoption, column: String, place: Int) -> SQL in
      self.lookup("s.\(SQLName(column))", place)
    }
    if columns.count == 2 {
      let (first, second) = (columns[0], columns[1])
      // What a column is called is the relationship that has its objects as members: at the entity of the other column.
      try draft.addLinks(
        table, (first.place, id(self, first.column, first.place), second.name),
        (second.place, id(self, second.column, second.place), first.name))
    } else if columns.count == 1, table.column("REFLEXIVE") != nil {
      let only = columns[0]
      draft.notes.append(
        "\(table.name) links an entity with itself; the way back has a name of its own, \(only.name)Back.")
      try draft.addLinks(
        table, (only.place, id(self, "REFLEXIVE", only.place), only.name),
        (only.place, id(self, only.column, only.place), only.name + "Back"))
    } else {
      draft.losses.append(
        .init(
          name: table.name, rows: table.rowCount,
          reason: "it is no table of an entity of Core Data's, nor of its links"))
    }
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
