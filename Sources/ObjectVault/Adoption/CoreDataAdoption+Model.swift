// What the file's own model says of a column, whose name is that of a property in capitals behind a Z. Entities that inherit
// share a table: where two of them call something the same, the second column has a number behind its name.

internal import CipherSQLite

extension CoreDataAdoption {
  /// The properties of a column, and what stands behind their names in that of the column.
  private func properties(ofStem stem: String, in table: ForeignTable) -> (
    properties: [CoreDataModel.Property], number: Substring
  ) {
    guard let model, let place = draft.place(of: table.name) else { return ([], "") }
    let all = kinds.filter { self.place(of: $0.number) == place }.flatMap { model.properties[$0.name] ?? [] }
    let digits = stem.reversed().prefix { $0.isASCII && $0.isNumber }.count
    for number in [0, digits] {
      let name = stem.dropLast(number).uppercased()
      let found = all.filter { $0.name.uppercased() == name }
      if !found.isEmpty { return (found, stem.suffix(number)) }
    }
    return ([], "")
  }

  /// How a property is called: as the model says, or as its column is.
  func name(ofStem stem: String, in table: ForeignTable) -> String {
    let (properties, number) = properties(ofStem: stem, in: table)
    guard let name = properties.first.map({ $0.name + number }) else { return AdoptionNames.property(stem) }
    let isUsable = Schema.isUsable(property: name) && !SchemaFault.ownNames.contains(name)
    return isUsable ? name : AdoptionNames.property(name)
  }

  func name(ofStem stem: String, in place: Int) -> String {
    name(ofStem: stem, in: draft.entities[place].table)
  }

  /// What the model says of an attribute; nil where it says nothing, or not one thing.
  func attribute(ofStem stem: String, in place: Int) -> (type: Int64, isExternal: Bool)? {
    let properties = properties(ofStem: stem, in: draft.entities[place].table).properties
    guard case .attribute(let type, let isExternal)? = properties.first?.kind,
      properties.allSatisfy({ $0.kind == properties[0].kind })
    else { return nil }
    return (type, isExternal)
  }

  /// What the model says of a relationship; nil where it says nothing, or leads into several tables.
  func relationship(ofStem stem: String, in place: Int) -> CoreDataModel.Relationship? {
    let found = properties(ofStem: stem, in: draft.entities[place].table).properties.compactMap { property in
      if case .relationship(let relationship) = property.kind { relationship } else { nil }
    }
    let targets = Set(found.map { self.place(ofEntity: $0.destination) })
    return targets.count == 1 && targets.first != .some(nil) ? found.first : nil
  }

  /// The other end of a relationship.
  func inverse(of relationship: CoreDataModel.Relationship) -> CoreDataModel.Relationship? {
    let property = model?.properties[relationship.destination]?.first { $0.name == relationship.inverse }
    guard case .relationship(let inverse)? = property?.kind else { return nil }
    return inverse
  }

  /// The place of the table of an entity and its kinds.
  func place(ofEntity name: String) -> Int? {
    kinds.first { $0.name == name }.flatMap { place(of: $0.number) }
  }

  /// The numbers of NSDeleteRule. "No action" leaves references to nothing, which no store has.
  static func rule(_ relationship: CoreDataModel.Relationship) -> DeleteRule {
    switch relationship.deleteRule {
    case 2: .cascade
    case 3: .deny
    default: .nullify
    }
  }

  /// What the places of members are made of.
  /// - Parameter isOrdered: What the model says; without it a column of numbers says that there is an order.
  mutating func order(
    _ column: String, in table: ForeignTable, isOrdered: Bool?, of relationship: String
  ) throws -> SQL? {
    guard let column = table.column(column), isOrdered != false else { return nil }
    let places = try draft.count(table, where: "s.\(SQLName(column.name)) IS NOT NULL")
    guard isOrdered == true || places > 0 else { return nil }
    if isOrdered == nil {
      draft.notes.append(
        "\(relationship) has an order, because \(table.name).\(column.name) has places of its members.")
    }
    return "CAST(s.\(SQLName(column.name)) AS INTEGER)"
  }
}
