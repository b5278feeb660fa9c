// Looks up entities and properties in the model that the Core Data file contains.

internal import CipherSQLite
internal import ObjectVault

extension CoreDataAdoption {
  /// The properties of an entity in the model, including inherited ones; each once.
  private func properties(at place: Int) -> [CoreDataModel.Property] {
    guard let model else { return [] }
    var names: Set<String> = []
    return draft.line(of: place).reversed().flatMap { place in
      kinds.filter { places[$0.number] == place }.flatMap { model.properties[$0.name] ?? [] }
    }.filter { names.insert($0.name).inserted }
  }

  /// The properties of an entity that it does not inherit.
  func declared(at place: Int) -> [CoreDataModel.Property] {
    let all = properties(at: place)
    guard let parent = draft.entities[place].parent else { return all }
    return Array(all.dropFirst(properties(at: parent).count))
  }

  /// The entity that declares a property which an entity has or inherits; nil if there is none.
  func declarer(of name: String, at place: Int) -> Int? {
    draft.line(of: place).last { place in declared(at: place).contains { $0.name == name } }
  }

  /// The to-many whose members are in a column of a join table: the entity that declares it, its
  /// description in the model or nil, and its name.
  /// - Parameter stem: The name of the column without the number of the entity in front.
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

  /// The inverse of a relationship.
  func inverse(of relationship: CoreDataModel.Relationship) -> CoreDataModel.Relationship? {
    guard let place = place(ofEntity: relationship.destination) else { return nil }
    let property = properties(at: place).first { $0.name == relationship.inverse }
    guard case .relationship(let inverse)? = property?.kind else { return nil }
    return inverse
  }

  /// The index of an entity of the model in the draft.
  func place(ofEntity name: String) -> Int? { kinds.first { $0.name == name }.flatMap { places[$0.number] } }

  /// The rule for a raw value of NSDeleteRule. "No action" becomes `nullify`, because it would leave
  /// dangling references, which a store does not allow.
  static func rule(_ relationship: CoreDataModel.Relationship) -> DeleteRule {
    switch relationship.deleteRule {
    case 2: .cascade
    case 3: .deny
    default: .nullify
    }
  }

  /// The expression for the positions of members; nil for no order.
  /// - Parameter isOrdered: Whether the model declares an order; nil without a model. Then a column with
  ///   values means that there is an order.
  mutating func order(
    _ column: String, in table: ForeignTable, isOrdered: Bool?, of relationship: String
  ) throws -> SQL? {
    guard let column = table.column(column), isOrdered != false else { return nil }
    let places = try draft.count(table, where: "s.\(SQLName(column.name)) IS NOT NULL")
    guard isOrdered == true || places > 0 else { return nil }
    if isOrdered == nil {
      draft.notes.append(
        "\(relationship) is ordered, because \(table.name).\(column.name) has the positions of its members.")
    }
    return "CAST(s.\(SQLName(column.name)) AS INTEGER)"
  }
}

extension CoreDataModel.Property {
  /// Whether an entity's table has a column for it.
  var hasColumn: Bool { if case .relationship(let told) = kind { !told.isToMany } else { true } }
  /// The property as an attribute; nil for a relationship.
  var attribute: (type: Int64, isExternal: Bool)? {
    if case .attribute(let type, let isExternal) = kind { (type, isExternal) } else { nil }
  }
  /// The property as a relationship; nil for an attribute.
  var relationship: CoreDataModel.Relationship? {
    if case .relationship(let told) = kind { told } else { nil }
  }
}
