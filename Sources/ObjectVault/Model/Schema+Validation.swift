// The rules that every schema must satisfy, whether it was declared in Swift, replayed from steps or
// decoded.

internal import CipherSQLite

extension Schema {
  /// The faults of the model itself, without clashes of names in the file.
  var ownFaults: [SchemaFault] { ownFaults { _ in true } }

  /// Returns the faults of the model itself, without clashes of names in the file.
  /// - Parameter isAsked: Whether an entity's name, properties and indexes are checked. Duplicate names
  ///   and wrong parents of entities are found in any case.
  func ownFaults(_ isAsked: (EntityDescription) -> Bool) -> [SchemaFault] {
    var faults: [SchemaFault] = []
    var names: Set<String> = []
    for entity in entities {
      if !names.insert(entity.name.lowercased()).inserted {
        faults.append(.duplicateName(entity: entity.name, property: nil))
      }
      guard isAsked(entity) else { continue }
      if !Self.isUsable(entity: entity.name) {
        faults.append(.reservedName(entity: entity.name, property: nil, free: nil))
      }
      faults += propertyFaults(of: entity) + relationshipFaults(of: entity) + indexFaults(of: entity)
    }
    return faults + hierarchyFaults(isAsked)
  }

  /// The faults of properties that have the name of a member of ``ManagedObject``.
  var ownNameFaults: [SchemaFault] {
    entities.flatMap { entity in
      entity.propertyNames.filter { SchemaFault.ownNames[$0] != nil }.map { reservedName($0, entity) }
    }
  }

  /// Returns the fault of a property whose name is reserved. It suggests a name that no property of the
  /// entity, or of an entity in the same table, has.
  package func reservedName(_ name: String, _ entity: EntityDescription) -> SchemaFault {
    let relatives = hierarchies.first { $0.contains { $0.name == entity.name } } ?? [entity]
    let taken = Set(relatives.flatMap(\.propertyNames).map { $0.lowercased() })
    let free = Self.free(name) { !taken.contains($0.lowercased()) }
    return .reservedName(entity: entity.name, property: name, free: free)
  }

  /// Returns a valid property name that is as similar to a given name as possible.
  /// - Parameter isFree: Whether a name is not used yet.
  package static func free(_ name: String, _ isFree: (String) -> Bool = { _ in true }) -> String {
    let isWord = { (scalar: Unicode.Scalar) in
      scalar.properties.isAlphabetic || scalar.properties.numericType == .decimal || scalar == "_"
    }
    var words = String(String.UnicodeScalarView(name.unicodeScalars.filter(isWord)))
    words = String(words.drop { $0 == "_" })
    if words.lowercased().hasSuffix("_id") { words = words.dropLast(3) + "ID" }
    while words.utf8.count > SchemaFault.longestName - 8 { words.removeLast() }
    let capitalized = words.prefix(1).uppercased() + words.dropFirst()
    let near =
      words.isEmpty
      ? ["value"]
      : [words, SchemaFault.ownNames[words], "\(words)Value", "value\(capitalized)"].compactMap { $0 }
    let numbered = (2...).lazy.map { "value\($0)" }
    func isUsable(_ name: String) -> Bool {
      Self.isUsable(property: name) && SchemaFault.ownNames[name] == nil && isFree(name)
    }
    return near.first(where: isUsable) ?? numbered.first(where: isUsable) ?? "value"
  }

  /// Returns whether a name is valid for an entity.
  package static func isUsable(entity name: String) -> Bool {
    let lower = name.lowercased()
    return isIdentifier(name) && !["vault_", "sqlite_", "_"].contains { lower.hasPrefix($0) }
  }

  /// Returns whether a name is valid for a property.
  package static func isUsable(property name: String) -> Bool {
    let lower = name.lowercased()
    // `x_id` would be the column of a to-one called `x`; `id` is the object's id.
    return isIdentifier(name) && !lower.hasPrefix("_") && lower != "id" && !lower.hasSuffix("_id")
      && lower != "rowid" && lower != "self"
  }

  static func isIdentifier(_ name: String) -> Bool {
    guard let first = name.unicodeScalars.first, name.utf8.count <= SchemaFault.longestName else {
      return false
    }
    let isWord = { (scalar: Unicode.Scalar) in
      scalar == "_" || scalar.properties.isAlphabetic || scalar.properties.numericType == .decimal
    }
    return (first == "_" || first.properties.isAlphabetic) && name.unicodeScalars.allSatisfy(isWord)
  }

  private func propertyFaults(of entity: EntityDescription) -> [SchemaFault] {
    var faults: [SchemaFault] = []
    var names: Set<String> = []
    for name in entity.propertyNames {
      if !names.insert(name.lowercased()).inserted {
        faults.append(.duplicateName(entity: entity.name, property: name))
      }
      if !Self.isUsable(property: name) { faults.append(reservedName(name, entity)) }
    }
    if entity.propertyNames.count > 512 {
      faults.append(.tooManyProperties(entity: entity.name, count: entity.propertyNames.count))
    }
    for attribute in entity.attributes {
      if let problem = attribute.defaultValue?.problem(for: attribute.type) {
        faults.append(.badDefault(entity: entity.name, property: attribute.name, reason: problem))
      }
    }
    return faults
  }

  private func relationshipFaults(of entity: EntityDescription) -> [SchemaFault] {
    entity.relationships.flatMap { relationship -> [SchemaFault] in
      guard let destination = self.entity(named: relationship.destination) else {
        return [
          .unknownDestination(
            entity: entity.name, relationship: relationship.name, destination: relationship.destination)
        ]
      }
      return optionFaults(of: relationship, to: destination).map {
        .badOption(entity: entity.name, property: relationship.name, reason: $0)
      } + [inverseFault(of: relationship, in: entity, to: destination)].compactMap { $0 }
    }
  }

  /// Returns why a relationship cannot have its options; empty when it can.
  private func optionFaults(
    of relationship: RelationshipDescription, to destination: EntityDescription
  ) -> [String] {
    var reasons: [String] = []
    if relationship.isToMany && relationship.isRequired { reasons.append("only a to-one can be required") }
    if relationship.isOrdered && !relationship.isToMany { reasons.append("only a to-many can be ordered") }
    if relationship.isRequired, relationship.isLookedUp, let inverse = relationship.inverse {
      let other = "\(destination.name).\(inverse)"
      return reasons + [
        "only the end with the column, \(other), can be required; to move the column here, write `inverse:` at \(other) instead"
      ]
    }
    if relationship.isRequired, let inverse = relationship.inverse,
      destination.relationship(named: inverse)?.deleteRule == .nullify
    {
      reasons.append(
        "it is required, so the delete rule of \(destination.name).\(inverse) cannot be nullify; make it "
          + "cascade or deny"
      )
    }
    return reasons
  }

  /// Returns the fault of the inverse that a relationship names; nil when it is valid, or there is none.
  private func inverseFault(
    of relationship: RelationshipDescription, in entity: EntityDescription, to destination: EntityDescription
  ) -> SchemaFault? {
    let name = relationship.name
    guard let inverse = relationship.inverse else { return nil }
    if destination.name == entity.name && inverse == name {
      return .ownInverse(entity: entity.name, relationship: name)
    }
    if let back = destination.relationship(named: inverse), back.destination == entity.name {
      return back.inverse.map { $0 == name } ?? true
        ? nil : .contestedInverse(entity: entity.name, relationship: name, inverse: inverse)
    }
    if let owner = declarer(of: inverse, in: destination), owner.name != destination.name {
      return .inheritedInverse(
        entity: entity.name, relationship: name, destination: destination.name, inverse: inverse,
        owner: owner.name)
    }
    if let owner = above(entity, referencedBy: inverse, of: destination) {
      return .narrowInverse(entity: entity.name, relationship: name, inverse: inverse, owner: owner)
    }
    return .wrongInverse(entity: entity.name, relationship: name, inverse: inverse)
  }

  /// Returns the ancestor of an entity that is the destination of the inverse; nil when there is none.
  /// Such an inverse is a fault, because the objects that it references need not be of the entity.
  private func above(
    _ entity: EntityDescription, referencedBy inverse: String, of destination: EntityDescription
  )
    -> String?
  {
    guard let back = destination.relationship(named: inverse) else { return nil }
    return ancestors(of: entity).first { $0.name == back.destination }?.name
  }

  /// Returns why an index cannot ignore what it is declared to ignore; nil if it can.
  private func comparisonFault(of index: IndexDescription, _ entity: EntityDescription) -> String? {
    guard !index.comparing.isEmpty else { return nil }
    if index.isUnique { return "a unique index compares texts exactly; declare two indexes" }
    guard StringOptions.folding.contains(index.comparing) else {
      return "an index can ignore case and diacritics, and nothing else"
    }
    guard index.properties.contains(where: { entity.attribute(named: $0)?.type == .string }) else {
      return "none of its properties is a String, so the index cannot ignore case or diacritics"
    }
    return nil
  }

  private func indexFaults(of entity: EntityDescription) -> [SchemaFault] {
    entity.indexes.flatMap { index -> [SchemaFault] in
      if index.properties.isEmpty { return [.emptyIndex(entity: entity.name)] }
      let all = flattened(entity)
      let unknown = index.properties.filter { name in
        all.attribute(named: name) == nil && all.relationship(named: name)?.hasColumn != true
      }
      if unknown.isEmpty, !index.properties.contains(where: entity.declares) {
        return [.inheritedIndex(entity: entity.name, properties: index.properties)]
      }
      if unknown.isEmpty, let reason = comparisonFault(of: index, all) {
        return [
          .badOption(entity: entity.name, property: index.properties.joined(separator: ", "), reason: reason)
        ]
      }
      return unknown.map { name in
        guard let relationship = all.relationship(named: name), relationship.isLookedUp else {
          return .unknownProperty(entity: entity.name, property: name, use: "an index")
        }
        let other = "\(relationship.destination).\(relationship.inverse ?? "")"
        return .badOption(
          entity: entity.name, property: name,
          reason: "it has no column to index: the column of this one-to-one belongs to \(other)")
      }
    }
  }
}
