// Inheritance of entities: the parents and children of an entity, and the properties that it inherits.
// The entities of one inheritance hierarchy share the table of the root entity.

extension Schema {
  /// Whether any entity has a parent.
  package var hasHierarchies: Bool { entities.contains { $0.parent != nil } }

  /// Returns the ancestors of an entity, from the root down to its parent; empty for an entity without a
  /// parent. In a circle of parents, which ``validate()`` rejects, each entity occurs once.
  package func ancestors(of entity: EntityDescription) -> [EntityDescription] {
    guard var next = entity.parent else { return [] }
    var found: [EntityDescription] = []
    var names: Set = [entity.name]
    while let parent = self.entity(named: next), names.insert(next).inserted {
      found.append(parent)
      guard let above = parent.parent else { break }
      next = above
    }
    return found.reversed()
  }

  /// Returns the root entity of an entity's hierarchy; the entity itself when it has no parent.
  package func root(of entity: EntityDescription) -> EntityDescription {
    entity.parent == nil ? entity : ancestors(of: entity).first ?? entity
  }

  /// Returns the name of the root of the entity with this name, which is also the name of its table;
  /// `name` itself when there is no such entity.
  package func root(of name: String) -> String {
    guard let entity = entity(named: name), entity.parent != nil else { return name }
    return root(of: entity).name
  }

  /// Returns the direct children of an entity, sorted by name.
  package func children(of entity: EntityDescription) -> [EntityDescription] {
    entities.filter { $0.parent == entity.name && $0.name != entity.name }
  }

  /// Returns all descendants of an entity, at any depth, sorted by name.
  package func descendants(of entity: EntityDescription) -> [EntityDescription] {
    guard entities.contains(where: { $0.parent == entity.name }) else { return [] }
    return DescendantIndex(self).descendants(of: entity.name).map { entities[$0] }
  }

  /// Returns the root of an entity, followed by all descendants of the root, sorted by name: the entities
  /// whose objects are in one table.
  package func hierarchy(of entity: EntityDescription) -> [EntityDescription] {
    let root = root(of: entity)
    return [root] + descendants(of: root)
  }

  /// The hierarchies of two or more entities, each with its root first and the others sorted by name.
  var hierarchies: [[EntityDescription]] {
    guard hasHierarchies else { return [] }
    var below: [String: [EntityDescription]] = [:]
    for entity in entities where entity.parent != nil {
      below[root(of: entity).name, default: []].append(entity)
    }
    return roots.compactMap { root in below[root.name].map { [root] + $0 } }
  }

  /// Returns whether an entity shares its table with another.
  package func isInHierarchy(_ entity: EntityDescription) -> Bool {
    entity.parent != nil || entities.contains { $0.parent == entity.name }
  }

  /// Returns an entity with everything that it inherits: the root's properties and indexes first, then
  /// those of each further ancestor, and its own last.
  package func flattened(_ entity: EntityDescription) -> EntityDescription {
    guard entity.parent != nil else { return entity }
    var all = entity
    // The entity as the model has it, because the description may already include what it inherits.
    let own = self.entity(named: entity.name) ?? entity
    let line = ancestors(of: own) + [own]
    all.attributes = line.flatMap(\.attributes)
    all.relationships = line.flatMap(\.relationships)
    all.indexes = line.flatMap(\.indexes)
    all.history = line.reversed().lazy.compactMap(\.history).first
    return all
  }

  /// Returns the entity of this name with everything that it inherits; nil when there is none.
  package func flattenedEntity(named name: String) -> EntityDescription? {
    entity(named: name).map(flattened)
  }

  /// Returns the entity that declares a property of `entity`: `entity` itself or one of its ancestors;
  /// nil when none of them does.
  package func declarer(of property: String, in entity: EntityDescription) -> EntityDescription? {
    guard entity.parent != nil else { return entity.declares(property) ? entity : nil }
    let own = self.entity(named: entity.name) ?? entity
    return ([own] + ancestors(of: own).reversed()).first { $0.declares(property) }
  }

  /// The entities, each after its parent, and otherwise sorted by name.
  package var parentsFirst: [EntityDescription] {
    guard hasHierarchies else { return entities }
    let depths = Dictionary(entities.map { ($0.name, ancestors(of: $0).count) }) { first, _ in first }
    return entities.sorted { (depths[$0.name] ?? 0, $0.name) < (depths[$1.name] ?? 0, $1.name) }
  }
}

extension EntityDescription {
  /// Returns whether the entity itself declares a property of this name.
  func declares(_ name: String) -> Bool { attribute(named: name) != nil || relationship(named: name) != nil }
}

extension EntityDescription {
  /// The sets of declared properties whose values together must be unique.
  package var uniqueKeys: [[String]] {
    let declared =
      attributes.filter(\.isUnique).map { [$0.name] } + indexes.filter(\.isUnique).map(\.properties)
    return declared
      + relationships.filter(\.isOneToOne).map { [$0.name] }.filter { !declared.contains($0) }
  }
}

/// An index of the descendants of each entity in a schema, for several look-ups. Without this index, each
/// look-up of children visits all entities.
struct DescendantIndex {
  /// The children of each parent, as indexes of the schema's entities.
  private var children: [String: [Int]] = [:]
  private let names: [String]

  init(_ schema: Schema) {
    names = schema.entities.map(\.name)
    for (index, entity) in schema.entities.enumerated() {
      if let parent = entity.parent { children[parent, default: []].append(index) }
    }
  }

  /// Returns the indexes of all descendants of an entity, at any depth, sorted by name. In a circle of
  /// parents, each other entity occurs once, and the entity itself does not occur.
  func descendants(of name: String) -> [Int] {
    guard let first = children[name] else { return [] }
    var (found, waiting): (Set<Int>, [Int]) = ([], first)
    while let next = waiting.popLast() {
      guard names[next] != name, found.insert(next).inserted else { continue }
      waiting += children[names[next]] ?? []
    }
    return found.sorted()
  }
}
