// What the file's own model says of entities and properties.

internal import CipherSQLite
internal import ObjectVault

extension CoreDataAdoption {
  /// The properties of an entity in the model, those that it inherits too; each once.
  private func properties(at place: Int) -> [CoreDataModel.Property] {
    guard let model else { return [] }
    var names: Set<String> = []
    return draft.line(of: place).reversed().flatMap { place in
      kinds.filter { places[$0.number] == place }.flatMap { model.properties[$0.name] ?? [] }
    }.filter { names.insert($0.name).inserted }
  }

  /// The properties of an entity that none has which it inherits from.
  func declared(at place: Int) -> [CoreDataModel.Property] {
    let all = properties(at: place)
    guard let parent = draft.entities[place].parent else { return all }
    return Array(all.dropFirst(properties(at: parent).count))
  }

  /// The entity that declares a property which another one has; nil where none does.
  func declarer(of name: String, at place: Int) -> Int? {
    draft.line(of: place).last { place in declared(at: place).contains { $0.name == name } }
  }

  /// The to-many whose members lie in a column of links, by what is behind the number in its name: who declares it, what the
  /// model says of it, and how it is called.
  func members(_ stem: String, of place: Int) -> (Int, CoreDataModel.Relationship?, String) {
    let digits = stem.reversed().prefix { $0.isASCII && $0.isNumber }.count
    for number in 0...digits {
      let name = stem.dropLast(number).uppercased()
      for property in properties(at: place) where property.name.uppercased() == name {
        guard case .relationship(let told) = property.kind, told.isToMany else { continue }
        return (declarer(of: property.name, at: place) ?? place, told, Self.usable(property.name))
      }
    }
    return (place, nil, AdoptionNames.property(stem))
  }

  /// The other end of a relationship.
  func inverse(of relationship: CoreDataModel.Relationship) -> CoreDataModel.Relationship? {
    guard let place = place(ofEntity: relationship.destination) else { return nil }
    let property = properties(at: place).first { $0.name == relationship.inverse }
    guard case .relationship(let inverse)? = property?.kind else { return nil }
    return inverse
  }

  /// The place of an entity of the model.
  func place(ofEntity name: String) -> Int? { kinds.first { $0.name == name }.flatMap { places[$0.number] } }

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

extension CoreDataModel.Property {
  /// Whether an entity's table has a column of it.
  var hasColumn: Bool { if case .relationship(let told) = kind { !told.isToMany } else { true } }
  /// What it is as an attribute.
  var attribute: (type: Int64, isExternal: Bool)? {
    if case .attribute(let type, let isExternal) = kind { (type, isExternal) } else { nil }
  }
  /// What it is as a relationship.
  var relationship: CoreDataModel.Relationship? {
    if case .relationship(let told) = kind { told } else { nil }
  }
}
