// Where the rows of a table of one or of several entities go: whose they are in the steps, and what is called how there.

internal import CipherSQLite
internal import ObjectVault

/// An entity of a file with those that inherit from it, and the entity of the steps that its rows go to.
struct AdoptionPlace {
  enum Property {
    case attribute(AttributeDescription)
    case toOne(RelationshipDescription)
  }

  let source: AdoptedEntity
  let entity: EntityDescription
  /// What the file's own tables make.
  let adoption: Schema
  /// What the steps make.
  let model: Schema
  private let properties: [String: Property]
  /// The attribute of the steps that says of which kind an object is; nil where there is none. Entities did not always
  /// inherit, and steps of then have one.
  let kindName: String?

  init(_ source: AdoptedEntity, _ entity: EntityDescription, adoption: Schema, model: Schema) {
    (self.source, self.entity, self.adoption, self.model) = (source, entity, adoption, model)
    var properties: [String: Property] = [:]
    // Names are there once in a table, and a value goes to its column, whichever entity declares it.
    for entity in model.family(of: entity) {
      for toOne in entity.relationships where toOne.hasColumn {
        properties[toOne.name.lowercased()] = .toOne(toOne)
      }
      for attribute in entity.attributes { properties[attribute.name.lowercased()] = .attribute(attribute) }
    }
    self.properties = properties
    let isTaken = source.all.contains { $0.values.contains { $0.property.lowercased() == "kind" } }
    if !isTaken, !source.below.isEmpty, !model.isInFamily(entity),
      case .attribute(let kind)? = properties["kind"], kind.type == .string
    {
      kindName = kind.name
    } else {
      kindName = nil
    }
  }

  func property(called name: String) -> Property? { properties[name.lowercased()] }

  /// The properties of the steps that are called nearly so, and that no column of the file is: one of them may be mistyped.
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

  /// The entity of the steps that is called as one of the file; nil for none.
  func entity(of member: AdoptedEntity) -> EntityDescription? {
    model.entities.first { $0.name.lowercased() == member.name.lowercased() }
  }

  /// The entity of the steps whose objects the rows become: its own, or the nearest above it.
  func standIn(for member: AdoptedEntity) -> EntityDescription {
    var next: AdoptedEntity? = member
    // No line of parents is longer than there are entities.
    for _ in source.all {
      guard let member = next, member.parent != nil else { break }
      if let found = entity(of: member) { return found }
      next = source.all.first { $0.name == member.parent }
    }
    return entity
  }

  /// How many rows are objects of an entity or of one below it.
  func rows(of member: AdoptedEntity) -> Int64 {
    source.below.filter { $0.parent == member.name }.reduce(member.rows) { $0 + rows(of: $1) }
  }

  /// What the rows become, by the entities of the steps.
  var parts: [(name: String, rows: Int64)] {
    var parts: [(name: String, rows: Int64)] = []
    for member in source.all {
      let name = standIn(for: member).name
      if let index = parts.firstIndex(where: { $0.name == name }) {
        parts[index].rows += member.rows
      } else {
        parts.append((name, member.rows))
      }
    }
    return parts
  }

  /// A text for each row, by whose it is.
  func kinds(_ text: (AdoptedEntity) -> String) -> SQL {
    let cases = source.below.compactMap { member in
      member.condition.map { " WHEN \($0) THEN \(literal: text(member))" as SQL }
    }
    guard !cases.isEmpty else { return "\(literal: text(source))" }
    return "CASE\(SQL.joined(cases, by: "")) ELSE \(literal: text(source)) END"
  }
}
