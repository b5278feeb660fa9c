// Maps the rows of a table, of one entity or several, to entities and properties of the steps.

internal import CipherSQLite
internal import ObjectVault

/// An entity of a file with its subentities, and the entity of the steps that gets the rows.
struct AdoptionPlace {
  enum Property {
    case attribute(AttributeDescription)
    case toOne(RelationshipDescription)
  }

  let source: AdoptedEntity
  let entity: EntityDescription
  /// The schema of the file's tables.
  let adoption: Schema
  /// The schema of the steps.
  let model: Schema
  private let properties: [String: Property]
  /// The attribute `kind` of the steps, which stores the name of an object's entity; nil if there is
  /// none. Steps that were made by a release without inheritance have it.
  let kindName: String?

  init(_ source: AdoptedEntity, _ entity: EntityDescription, adoption: Schema, model: Schema) {
    (self.source, self.entity, self.adoption, self.model) = (source, entity, adoption, model)
    var properties: [String: Property] = [:]
    // A table has one column of each name. A value goes to the column of its name, whichever entity
    // declares the property.
    for entity in model.hierarchy(of: entity) {
      for toOne in entity.relationships where toOne.hasColumn {
        properties[toOne.name.lowercased()] = .toOne(toOne)
      }
      for attribute in entity.attributes { properties[attribute.name.lowercased()] = .attribute(attribute) }
    }
    self.properties = properties
    let isTaken = source.all.contains { $0.values.contains { $0.property.lowercased() == "kind" } }
    if !isTaken, !source.below.isEmpty, !model.isInHierarchy(entity),
      case .attribute(let kind)? = properties["kind"], kind.type == .string
    {
      kindName = kind.name
    } else {
      kindName = nil
    }
  }

  func property(called name: String) -> Property? { properties[name.lowercased()] }

  /// Properties of the steps with similar names that no column of the file matches: one of them may
  /// be mistyped.
  func mistypings(of name: String) -> [String] {
    let taken = Set(source.all.flatMap { $0.values.map { $0.property.lowercased() } })
    let free = properties.filter { !taken.contains($0.key) }.map { _, property in
      switch property {
      case .attribute(let attribute): attribute.name
      case .toOne(let toOne): toOne.name
      }
    }
    return nearest(name, among: free.sorted())
  }

  /// The entity of the steps with the name of an entity of the file; nil for none.
  func entity(of member: AdoptedEntity) -> EntityDescription? {
    model.entities.first { $0.name.lowercased() == member.name.lowercased() }
  }

  /// The entity of the steps whose objects the rows become: the one of the same name, or else that of the
  /// closest ancestor.
  func closestEntity(for member: AdoptedEntity) -> EntityDescription {
    var next: AdoptedEntity? = member
    // Limits the loop: an entity has fewer ancestors than there are entities.
    for _ in source.all {
      guard let member = next, member.parent != nil else { break }
      if let found = entity(of: member) { return found }
      next = source.all.first { $0.name == member.parent }
    }
    return entity
  }

  /// The number of rows of an entity and its subentities.
  func rows(of member: AdoptedEntity) -> Int64 {
    source.below.filter { $0.parent == member.name }.reduce(member.rows) { $0 + rows(of: $1) }
  }

  /// The entities of the steps that the rows become, with their counts.
  var parts: [(name: String, rows: Int64)] {
    var parts: [(name: String, rows: Int64)] = []
    for member in source.all {
      let name = closestEntity(for: member).name
      if let index = parts.firstIndex(where: { $0.name == name }) {
        parts[index].rows += member.rows
      } else {
        parts.append((name, member.rows))
      }
    }
    return parts
  }

  /// An expression for a text that depends on the entity of the row.
  func kinds(_ text: (AdoptedEntity) -> String) -> SQL {
    let cases = source.below.compactMap { member in
      member.condition.map { " WHEN \($0) THEN \(literal: text(member))" as SQL }
    }
    guard !cases.isEmpty else { return "\(literal: text(source))" }
    return "CASE\(SQL.joined(cases, by: "")) ELSE \(literal: text(source)) END"
  }
}
