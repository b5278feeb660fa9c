// Random changes of a model that lose nothing undeclared, with renamings among them: the renamings that a
// diff must be given, and the names under which everything must be found afterwards.

public import ObjectVault

/// A model, the model that it becomes, and the renamings between them.
public struct RandomRenaming {
  /// The kinds of changes of a model.
  public enum Kind: CaseIterable, Sendable {
    case entity, attribute, relationship
    /// Two attributes exchange their names.
    case exchange
    /// A to-one becomes a to-many.
    case many
    /// A relationship gets an inverse, or loses it.
    case inverse, noInverse
    /// A new view, index or trigger; and an existing view that names what is renamed.
    case raw, standingRaw
  }

  /// The kinds of changes that were made.
  public private(set) var kinds: Set<Kind> = []
  /// Removed relationships, by their former names: `B.q`.
  public private(set) var gone: Set<String> = []
  private var former: [EntityDescription]
  /// The present entities, in the order of ``former``.
  private var entities: [EntityDescription]
  /// The former names of properties, by their present names; new properties have none.
  private var origins: [[String: String]]
  private var rawObjects: (old: [RawObject], new: [RawObject]) = ([], [])
  private var count = 0

  /// Changes a model in up to four ways.
  public init(_ schema: Schema, _ random: inout some RandomNumberGenerator) {
    former = schema.entities
    entities = former
    origins = former.map { entity in
      Dictionary(
        uniqueKeysWithValues: (entity.attributes.map(\.name) + entity.relationships.map(\.name)).map {
          ($0, $0)
        })
    }
    let tables = Kind.allCases.filter { ![.raw, .standingRaw].contains($0) }
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let before = self
      guard let kind = tables.randomElement(using: &random), change(kind, &random) else { continue }
      if (try? Schema(entities: entities).validate()) == nil { self = before } else { kinds.insert(kind) }
    }
    // With the final names.
    if Int.random(in: 0..<3, using: &random) == 0 { addRaw(&random) }
    if Int.random(in: 0..<3, using: &random) == 0 { keepRaw(&random) }
  }

  /// The former model, with its raw objects.
  public var old: Schema { Schema(entities: former, rawObjects: rawObjects.old) }
  /// The model that it becomes.
  public var new: Schema { Schema(entities: entities, rawObjects: rawObjects.new) }

  /// The renamings that the diff is given.
  public var renaming: [MigrationRenaming] {
    zip(former, entities).filter { $0.name != $1.name }.map { .entity($0.name, to: $1.name) }
      + entities.indices.flatMap { place in
        origins[place].filter { $0.key != $0.value }.sorted { $0.key < $1.key }.map {
          .property(entity: entities[place].name, $0.value, to: $0.key)
        }
      }
  }

  /// The present names of the entities, by their former names.
  public var entityNames: [String: String] {
    Dictionary(uniqueKeysWithValues: zip(former.map(\.name), entities.map(\.name)))
  }

  /// The present names of the properties that an entity itself declares, by their former names, without
  /// removed ones.
  public func propertyNames(of entity: String) -> [String: String] {
    guard let place = former.firstIndex(where: { $0.name == entity }) else { return [:] }
    return Dictionary(uniqueKeysWithValues: origins[place].map { ($0.value, $0.key) })
  }

  // MARK: Changes

  /// A name that is not in use.
  private mutating func fresh(_ letter: String) -> String {
    count += 1
    return "\(letter)\(count)"
  }

  /// - Returns: Whether there was anything to change.
  private mutating func change(_ kind: Kind, _ random: inout some RandomNumberGenerator) -> Bool {
    guard let place = entities.indices.randomElement(using: &random) else { return false }
    let attributes = entities[place].attributes.map(\.name).shuffled(using: &random)
    let relationships = entities[place].relationships.shuffled(using: &random)
    switch kind {
    case .entity: renameEntity(place, to: fresh("K"))
    case .attribute:
      guard let name = attributes.first else { return false }
      rename(place, name, to: fresh("n"))
    case .exchange:
      guard attributes.count > 1 else { return false }
      let spare = fresh("n")
      for (name, new) in [
        (attributes[0], spare), (attributes[1], attributes[0]), (spare, attributes[1]),
      ] { rename(place, name, to: new) }
    case .relationship:
      guard let relationship = relationships.first else { return false }
      rename(place, relationship.name, to: fresh("n"))
    case .many, .inverse, .noInverse: return changeEnd(kind, place, relationships)
    case .raw, .standingRaw: return false
    }
    return true
  }

  private mutating func changeEnd(_ kind: Kind, _ place: Int, _ relationships: [RelationshipDescription])
    -> Bool
  {
    func isChanged(_ relationship: RelationshipDescription) -> Bool {
      switch kind {
      case .many: !relationship.isToMany
      case .inverse: relationship.inverse == nil && relationship.destination != entities[place].name
      default: relationship.inverse != nil && relationship.destination != entities[place].name
      }
    }
    guard let relationship = relationships.first(where: isChanged),
      let other = entities.firstIndex(where: { $0.name == relationship.destination })
    else { return false }
    let name = relationship.name
    switch (kind, relationship.inverse) {
    case (.many, _):
      dropIndexes(place, of: name)
      change(place, name) { ($0.isToMany, $0.isRequired, $0.isOrdered) = (true, false, false) }
    case (_, let inverse?):
      dropIndexes(place, of: name)
      entities[place].relationships.removeAll { $0.name == name }
      change(other, inverse) { $0.inverse = nil }
      if let name = origins[place].removeValue(forKey: name) { gone.insert("\(former[place].name).\(name)") }
    case (_, nil):
      let inverse = fresh("n")
      change(place, name) { $0.inverse = inverse }
      entities[other].relationships.append(
        RelationshipDescription(
          name: inverse, destination: entities[place].name, isToMany: true, inverse: name))
    }
    return true
  }

  private mutating func change(
    _ place: Int, _ name: String, _ change: (inout RelationshipDescription) -> Void
  ) {
    for index in entities[place].relationships.indices
    where entities[place].relationships[index].name == name {
      change(&entities[place].relationships[index])
    }
  }

  private mutating func dropIndexes(_ place: Int, of name: String) {
    entities[place].indexes.removeAll { $0.properties.contains(name) }
  }

  private mutating func renameEntity(_ place: Int, to new: String) {
    let name = entities[place].name
    entities[place].name = new
    for other in entities.indices {
      if entities[other].parent == name { entities[other].parent = new }
      for index in entities[other].relationships.indices
      where entities[other].relationships[index].destination == name {
        entities[other].relationships[index].destination = new
      }
    }
  }

  private mutating func rename(_ place: Int, _ name: String, to new: String) {
    origins[place][new] = origins[place].removeValue(forKey: name)
    for index in entities[place].attributes.indices where entities[place].attributes[index].name == name {
      entities[place].attributes[index].name = new
    }
    change(place, name) { $0.name = new }
    for other in entities.indices {
      for index in entities[other].relationships.indices
      where entities[other].relationships[index].destination == entities[place].name
        && entities[other].relationships[index].inverse == name
      {
        entities[other].relationships[index].inverse = new
      }
      // An index may have inherited properties.
      for index in entities[other].indexes.indices where other == place || isBelow(other, place) {
        entities[other].indexes[index].properties = entities[other].indexes[index].properties.map {
          $0 == name ? new : $0
        }
      }
    }
  }

  private func isBelow(_ place: Int, _ parent: Int) -> Bool {
    let schema = Schema(entities: entities)
    return schema.ancestors(of: entities[place]).contains { $0.name == entities[parent].name }
  }

  // MARK: Raw objects

  private mutating func addRaw(_ random: inout some RandomNumberGenerator) {
    guard let entity = entities.randomElement(using: &random),
      let attribute = entity.attributes.randomElement(using: &random)
    else { return }
    let (name, own) = (entity.name, "$\(entity.name).\(attribute.name)")
    let all: [RawObject] = [
      .view("AddedView", sql: "SELECT $\(name).id, \(own) FROM $\(name)"),
      .index("addedIndex", sql: "ON $\(name) (\(own)) WHERE \(own) NOT NULL"),
      .trigger(
        "addedTrigger", sql: "AFTER DELETE ON $\(name) BEGIN DELETE FROM $\(name) WHERE $\(name).id = -1; END"
      ),
    ]
    rawObjects.new += all.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random))
    kinds.insert(.raw)
  }

  /// Adds a view to both models, which follows the names that it has.
  private mutating func keepRaw(_ random: inout some RandomNumberGenerator) {
    guard let place = entities.indices.randomElement(using: &random),
      let attribute = entities[place].attributes.randomElement(using: &random),
      let name = origins[place][attribute.name]
    else { return }
    func view(_ entity: String, _ attribute: String) -> RawObject {
      .view("StandingView", sql: "SELECT $\(entity).id, $\(entity).\(attribute) FROM $\(entity)")
    }
    rawObjects.old.append(view(former[place].name, name))
    rawObjects.new.append(view(entities[place].name, attribute.name))
    kinds.insert(.standingRaw)
  }
}
