// Columns of Core Data's: attributes, to-ones with what leads back, and values that lie in files.

internal import CipherSQLite

extension CoreDataAdoption {
  mutating func properties(of place: Int) throws {
    let table = draft.entities[place].table
    try addKind(to: place)
    var attributes: [ForeignTable.Column] = []
    var references: [(column: ForeignTable.Column, target: Int)] = []
    for column in table.columns where !["z_pk", "z_ent", "z_opt"].contains(column.name.lowercased()) {
      if column.name.uppercased().hasPrefix("Z_FOK_") { continue }
      if column.name.contains(#/^[Zz][0-9]+_/#) {
        draft.notes.append(
          "\(table.name).\(column.name) is Core Data's own (the kind of what is referred to), and is not taken."
        )
      } else if let target = try target(of: column, in: place) {
        references.append((column, target))
      } else {
        attributes.append(column)
      }
    }
    let hints = try attributes.map { try hint($0, in: place) }
    try draft.addAttributes(attributes, to: place, isCoreData: true, hints: hints)
    try checkOrders(of: table, but: references.map(\.column.name))
    for (column, target) in references {
      let several = references.filter { $0.target == target }.count > 1
      try addReference(column, of: place, to: target, isOneOfSeveral: several)
    }
  }

  /// Orders of to-manys whose to-ones are not known have no place.
  private mutating func checkOrders(of table: ForeignTable, but toOnes: [String]) throws {
    let known = Set(toOnes.map { "Z_FOK_\($0.dropFirst())".asciiLowercased })
    for column in table.columns.map(\.name)
    where column.uppercased().hasPrefix("Z_FOK_") && !known.contains(column.asciiLowercased) {
      let rows = try draft.count(table, where: "s.\(SQLName(column)) IS NOT NULL")
      guard rows > 0 else { continue }
      draft.losses.append(
        .init(
          name: "\(table.name).\(column)", rows: rows,
          reason: "the order of members whose to-one is not known; name its target, with --to-one"))
    }
  }

  private mutating func addReference(
    _ column: ForeignTable.Column, of place: Int, to target: Int, isOneOfSeveral several: Bool
  ) throws {
    let table = draft.entities[place].table
    guard !paired.contains("\(table.name).\(column.name)".asciiLowercased) else { return }
    let told = relationship(ofStem: String(column.name.dropFirst()), in: place)
    let (name, given) = (
      name(ofStem: String(column.name.dropFirst()), in: place), "s.\(SQLName(column.name))" as SQL
    )
    let back = told.flatMap { inverse(of: $0) }
    let rule = told.map(Self.rule) ?? .nullify
    if let told, back?.isToMany == false, let inverse = told.inverse,
      let other = draft.entities[target].table.column("Z\(inverse)"),
      other.name != column.name || target != place, try self.target(of: other, in: target) == place
    {
      let otherTable = draft.entities[target].table
      if try leads(column, of: table, to: other, of: otherTable),
        try leads(other, of: otherTable, to: column, of: table)
      {
        paired.insert("\(otherTable.name).\(other.name)".asciiLowercased)
        draft.addOneToOne(
          EndDraft(place: place, name: name, id: lookup(given, target), rule: rule, column: column),
          EndDraft(
            place: target, name: self.name(ofStem: inverse, in: target),
            id: lookup("s.\(SQLName(other.name))", place), rule: back.map(Self.rule) ?? .nullify,
            column: other))
        return
      }
      draft.notes.append(
        "\(draft.entities[place].entity.name).\(name) is one-to-one in the model, and some rows do not lead back: it is a to-one."
      )
    }
    let guess =
      AdoptionNames.many(draft.entities[place].entity.name)
      + (several ? "By" + AdoptionNames.capitalized(name) : "")
    let isMany = back?.isToMany == true
    let backName = isMany ? told?.inverse.map { self.name(ofStem: $0, in: target) } ?? guess : guess
    let order = try order(
      "Z_FOK_\(column.name.dropFirst())", in: table, isOrdered: isMany ? back?.isOrdered : nil,
      of: "\(draft.entities[target].entity.name).\(backName)")
    try draft.addToOne(
      name, from: place, to: target, column: column, given: given, lookup: lookup(given, target), rule: rule,
      back: BackDraft(name: backName, rule: isMany ? back.map(Self.rule) ?? .nullify : .nullify, order: order)
    )
  }

  /// Whether each row of a table is led back to by the row that its column leads to.
  private func leads(
    _ column: ForeignTable.Column, of table: ForeignTable, to other: ForeignTable.Column,
    of otherTable: ForeignTable
  ) throws -> Bool {
    let value: SQL = "s.\(SQLName(column.name))"
    return try draft.connection.value(
      """
      SELECT 1 FROM \(SQLName(table.name)) AS s WHERE \(value) IS NOT NULL AND (
      SELECT p.\(SQLName(other.name)) FROM \(SQLName(otherTable.name)) AS p WHERE p."Z_PK" = \(value)) IS NOT s."Z_PK" LIMIT 1
      """) == nil
  }

  private mutating func hint(_ column: ForeignTable.Column, in place: Int) throws -> ColumnHint {
    let table = draft.entities[place].table.name
    let stem = String(column.name.dropFirst())
    var hint = ColumnHint(name: name(ofStem: stem, in: place), type: column.type)
    let told = attribute(ofStem: stem, in: place)
    // The numbers of NSAttributeType.
    if let name = told.flatMap({ [800: "BOOL", 1100: "UUID"][$0.type] }) { hint.type = name }
    if column.type == "BLOB" {
      try addFiles(to: &hint, of: column.name, in: table, isExternal: told?.isExternal)
    }
    return hint
  }

  /// Where the values of a column lie that may be in files.
  /// - Parameter isExternal: What the model says; without it all values have to look so, and one has to name a file.
  private mutating func addFiles(
    to hint: inout ColumnHint, of column: String, in table: String, isExternal: Bool?
  ) throws {
    guard isExternal != false else { return }
    let content = try files.content(of: column, in: table, draft.connection)
    guard isExternal == true || content.named > 0 && content.plain + content.named == content.values else {
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
    let others = content.values - content.plain - content.named
    if others > 0 {
      hint.note =
        "\(AdoptionLoss.counted(others)) of it begin with neither 1 nor 2, as values of \"Allows External Storage\" do, and are taken as they are"
    }
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
  func checkTargets() throws {
    let names = draft.entities.map { draft in
      (
        entity: draft.entity.name,
        properties: Set(
          draft.table.columns.flatMap { column in
            [Self.property(column.name), name(ofStem: String(column.name.dropFirst()), in: draft.table)]
          }
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

  static func property(_ column: String) -> String {
    AdoptionNames.property(String(column.dropFirst()))
  }

  func lookup(_ value: SQL, _ target: Int) -> SQL {
    "(SELECT p.\"Z_PK\" FROM \(SQLName(draft.entities[target].table.name)) AS p WHERE p.\"Z_PK\" = \(value))"
  }

  /// The entity that a column leads to; nil for an attribute. The file declares no references.
  private mutating func target(of column: ForeignTable.Column, in place: Int) throws -> Int? {
    guard column.type == "INTEGER" else { return nil }
    let (table, entity) = (draft.entities[place].table, draft.entities[place].entity.name)
    let stem = String(column.name.dropFirst())
    let own = "\(entity).\(name(ofStem: stem, in: place))"
    let guess = "\(entity).\(Self.property(column.name))"
    if let named = targets[own.lowercased()] ?? targets[guess.lowercased()] {
      guard !named.isEmpty else { return nil }
      guard
        let target = draft.entities.firstIndex(where: { $0.entity.name.lowercased() == named.lowercased() })
      else {
        throw StoreError.noEntity(
          name: named, similar: nearest(named, among: draft.entities.map(\.entity.name)))
      }
      return target
    }
    if let told = relationship(ofStem: stem, in: place) { return self.place(ofEntity: told.destination) }
    guard attribute(ofStem: stem, in: place) == nil else { return nil }
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
}
