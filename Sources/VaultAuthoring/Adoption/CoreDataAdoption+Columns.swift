// Reads columns of Core Data: attributes, to-ones with their inverses, and values in external files.

internal import CipherSQLite
internal import ObjectVault

extension CoreDataAdoption {
  mutating func attributes(of place: Int) throws {
    let attributes = columns.filter { $0.place == place && $0.target == nil }
    let hints = try attributes.map { try hint($0) }
    try draft.addAttributes(attributes.map(\.column), to: place, isCoreData: true, hints: hints)
  }

  /// Records a loss for the order of a to-many if it is not known which to-one is its inverse.
  mutating func checkOrders(of root: Int) throws {
    let table = draft.entities[root].table
    let toOnes = columns.filter { $0.root == root && $0.target != nil }.map(\.column.name)
    let known = Set(toOnes.map { "Z_FOK_\($0.dropFirst())".asciiLowercased })
    for column in table.columns.map(\.name)
    where column.uppercased().hasPrefix("Z_FOK_") && !known.contains(column.asciiLowercased) {
      let rows = try draft.count(table, where: "s.\(SQLName(column)) IS NOT NULL")
      guard rows > 0 else { continue }
      draft.losses.append(
        .init(
          name: "\(table.name).\(column)", rows: rows,
          reason: "it is the order of members whose to-one has no known target; name that target"))
    }
  }

  mutating func addReference(_ index: Int) throws {
    let column = columns[index]
    guard let target = column.target, !paired.contains(index) else { return }
    let (place, name) = (column.place, column.name)
    let table = draft.entities[place].table
    let (given, told) = ("s.\(SQLName(column.column.name))" as SQL, column.told?.relationship)
    let back = told.flatMap { inverse(of: $0) }
    let rule = told.map(Self.rule) ?? .nullify
    if let told, back?.isToMany == false, let other = partner(of: index, called: told.inverse) {
      let partner = columns[other]
      if try partner.target == place && partner.place == target && leads(column, to: partner)
        && leads(partner, to: column)
      {
        paired.insert(other)
        draft.addOneToOne(
          between: EndDraft(
            place: place, name: name, id: lookup(given, target), rule: rule, column: column.column),
          and: EndDraft(
            place: target, name: partner.name, id: lookup("s.\(SQLName(partner.column.name))", place),
            rule: back.map(Self.rule) ?? .nullify, column: partner.column))
        return
      }
      draft.notes.append(
        "\(draft.entities[place].entity.name).\(name) is one-to-one in the model, but is imported as a "
          + "to-one, because some rows do not refer back."
      )
    }
    let isOneOfSeveral = columns.filter { $0.place == place && $0.target == target }.count > 1
    let guess =
      AdoptionNames.many(draft.entities[place].entity.name)
      + (isOneOfSeveral ? "By" + AdoptionNames.capitalized(name) : "")
    let isMany = back?.isToMany == true
    let backName = isMany ? told?.inverse.map(Self.usable) ?? guess : guess
    let order = try order(
      "Z_FOK_\(column.column.name.dropFirst())", in: table, isOrdered: isMany ? back?.isOrdered : nil,
      of: "\(draft.entities[target].entity.name).\(backName)")
    try draft.addToOne(
      name, from: place, to: target, column: column.column, given: given, lookup: lookup(given, target),
      rule: rule,
      back: BackDraft(name: backName, rule: isMany ? back.map(Self.rule) ?? .nullify : .nullify, order: order)
    )
  }

  /// The index of the column of the inverse in a one-to-one; nil for none.
  private func partner(of index: Int, called name: String?) -> Int? {
    guard let name, let target = columns[index].target else { return nil }
    return columns.indices.first { other in
      other != index && columns[other].told?.name == name && columns[other].target != nil
        && draft.line(of: target).contains(columns[other].place)
    }
  }

  /// Whether each row that a column references refers back by the other column.
  private func leads(_ column: CoreDataColumn, to other: CoreDataColumn) throws -> Bool {
    let (table, otherTable) = (draft.entities[column.root].table, draft.entities[other.root].table)
    let value: SQL = "s.\(SQLName(column.column.name))"
    return try draft.connection.value(
      """
      SELECT 1 FROM \(SQLName(table.name)) AS s WHERE \(value) IS NOT NULL AND (
      SELECT p.\(SQLName(other.column.name)) FROM \(SQLName(otherTable.name)) AS p
      WHERE p."Z_PK" = \(value)) IS NOT s."Z_PK" LIMIT 1
      """) == nil
  }

  private mutating func hint(_ column: CoreDataColumn) throws -> ColumnHint {
    let table = draft.entities[column.root].table.name
    var hint = ColumnHint(name: column.name, type: column.column.type)
    let told = column.told?.attribute
    // Raw values of NSAttributeType.
    if let name = told.flatMap({ [800: "BOOL", 1100: "UUID"][$0.type] }) { hint.type = name }
    if column.column.type == "BLOB" {
      try addFiles(to: &hint, of: column.column.name, in: table, isExternal: told?.isExternal)
    }
    return hint
  }

  /// Adds to a hint how to read a column whose values may be in external files.
  /// - Parameter isExternal: Whether the model declares external storage; nil without a model. Then all
  ///   values must have the form of such values, and one of them must name a file.
  private mutating func addFiles(
    to hint: inout ColumnHint, of column: String, in table: String, isExternal: Bool?
  ) throws {
    guard isExternal != false else { return }
    let content = try files.content(of: column, in: table, draft.connection)
    guard isExternal == true || content.named > 0 && content.plain + content.named == content.values else {
      if content.values > 0, content.plain == content.values {
        // A superfluous byte can be removed in a later step; a byte removed by mistake is lost.
        hint.note =
          "all its values begin with the byte 1, as values of \"Allows External Storage\" do, but the file "
          + "does not record whether they are such values; they are imported with this byte"
      }
      return
    }
    if content.named > 0, let obstacle = files.obstacle {
      throw StoreError.adoptionRefused(file: draft.connection.path, reason: obstacle)
    }
    let names = try files.named(by: column, in: table, draft.connection)
    named.formUnion(names)
    hint.data = ExternalValues.data("s.\(SQLName(column))")
    hint.missing = Int64(names.filter { !files.names.contains($0) }.count)
    let others = content.values - content.plain - content.named
    if others > 0 {
      hint.note =
        "\(counted(others, "value")) \(others == 1 ? "does" : "do") not begin with 1 or 2, as values of "
        + "\"Allows External Storage\" do, and \(others == 1 ? "is" : "are") imported unchanged"
    }
  }
}
