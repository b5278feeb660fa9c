// Entities that have a parent: who stands above and below whom, and what an entity inherits. An entity without a parent and
// without children is a family of its own.

extension Schema {
  /// Whether any entity has a parent.
  package var hasFamilies: Bool { entities.contains { $0.parent != nil } }

  /// The entities above one, from the root down to its parent; empty for one without a parent. Of a circle of parents, which
  /// ``validate()`` refuses, each once.
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

  /// The entity without a parent that one stands below; the entity itself where it has none.
  package func root(of entity: EntityDescription) -> EntityDescription {
    entity.parent == nil ? entity : ancestors(of: entity).first ?? entity
  }

  /// The name of the root of an entity of this name, which is that of its table; the name itself where there is no such entity.
  package func root(of name: String) -> String {
    guard let entity = entity(named: name), entity.parent != nil else { return name }
    return root(of: entity).name
  }

  /// The entities whose parent is this one, by name.
  package func children(of entity: EntityDescription) -> [EntityDescription] {
    entities.filter { $0.parent == entity.name && $0.name != entity.name }
  }

  /// All entities below one, at any depth, by name.
  package func descendants(of entity: EntityDescription) -> [EntityDescription] {
    guard entities.contains(where: { $0.parent == entity.name }) else { return [] }
    return FamilyTree(self).descendants(of: entity.name).map { entities[$0] }
  }

  /// The root of an entity, and all entities below that by name: those whose objects lie in one table.
  package func family(of entity: EntityDescription) -> [EntityDescription] {
    let root = root(of: entity)
    return [root] + descendants(of: root)
  }

  /// All families of several entities, each with its root first and the others by name.
  var families: [[EntityDescription]] {
    guard hasFamilies else { return [] }
    var below: [String: [EntityDescription]] = [:]
    for entity in entities where entity.parent != nil {
      below[root(of: entity).name, default: []].append(entity)
    }
    return roots.compactMap { root in below[root.name].map { [root] + $0 } }
  }

  /// Whether an entity shares its table with another one.
  package func isInFamily(_ entity: EntityDescription) -> Bool {
    entity.parent != nil || entities.contains { $0.parent == entity.name }
  }

  /// An entity with all that it inherits: the root's properties and indexes first, then those of each entity down to its own.
  package func flattened(_ entity: EntityDescription) -> EntityDescription {
    guard entity.parent != nil else { return entity }
    var all = entity
    // Its own as the model has them: a description may be flat already.
    let own = self.entity(named: entity.name) ?? entity
    let line = ancestors(of: own) + [own]
    all.attributes = line.flatMap(\.attributes)
    all.relationships = line.flatMap(\.relationships)
    all.indexes = line.flatMap(\.indexes)
    return all
  }

  /// The entity of this name with all that it inherits, or nil.
  package func flattenedEntity(named name: String) -> EntityDescription? {
    entity(named: name).map(flattened)
  }

  /// Which of an entity and its ancestors declares a property; nil where none does.
  package func declarer(of property: String, in entity: EntityDescription) -> EntityDescription? {
    guard entity.parent != nil else { return entity.declares(property) ? entity : nil }
    let own = self.entity(named: entity.name) ?? entity
    return ([own] + ancestors(of: own).reversed()).first { $0.declares(property) }
  }

  /// The entities, each behind its parent, else by name.
  package var parentsFirst: [EntityDescription] {
    guard hasFamilies else { return entities }
    let depths = Dictionary(entities.map { ($0.name, ancestors(of: $0).count) }) { first, _ in first }
    return entities.sorted { (depths[$0.name] ?? 0, $0.name) < (depths[$1.name] ?? 0, $1.name) }
  }
}

extension EntityDescription {
  /// Whether a property of this name is the entity's own.
  func declares(_ name: String) -> Bool { attribute(named: name) != nil || relationship(named: name) != nil }
}

extension EntityDescription {
  /// The properties of which no two objects share all values, of those that it declares.
  package var uniqueKeys: [[String]] {
    let declared =
      attributes.filter(\.isUnique).map { [$0.name] } + indexes.filter(\.isUnique).map(\.properties)
    return declared
      + relationships.filter(\.isOneToOne).map { [$0.name] }.filter { !declared.contains($0) }
  }
}

/// The entities below each one of a schema, for those who ask about many: to look for the children of one is to look at all.
struct FamilyTree {
  /// By the name of a parent, where its children are among the entities of the schema.
  private var children: [String: [Int]] = [:]
  private let names: [String]

  init(_ schema: Schema) {
    names = schema.entities.map(\.name)
    for (index, entity) in schema.entities.enumerated() {
      if let parent = entity.parent { children[parent, default: []].append(index) }
    }
  }

  /// Where all entities below one are, at any depth, by name; of a circle of parents each but itself once.
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
