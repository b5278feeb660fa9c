// What composite operations do to plain values: a second implementation, without SQL, tables and ids.

import CipherSQLite
import ObjectVault

extension PlainObjects {
  /// - Parameters:
  ///   - model: The model before the operation.
  ///   - after: The model after it.
  mutating func apply(_ operation: MigrationOperation, _ model: Schema, _ after: Schema) {
    switch operation {
    case .mergeEntities(let merge): apply(merge, model)
    case .moveAttributes(let move): apply(move, model)
    case .makeEntityRelationship(let change): apply(change, model)
    case .makeRelationshipEntity(let change):
      for ends in links["\(change.owner).\(change.relationship)"] ?? [] {
        objects[Self.link(ends)] = Object(
          entity: change.entity, toOnes: [change.own: ends[0], change.other: ends[1]])
      }
    default: break
    }
    fit(after)
  }

  private mutating func apply(_ change: EntityToRelationship, _ model: Schema) {
    let ends = model.flattenedEntity(named: change.entity)?.relationships.filter { !$0.isToMany } ?? []
    let own = ends.first {
      $0.name == change.from
        || (change.from == nil && model.place($0.destination, isBelow: change.owner))
    }
    guard let own, let other = ends.first(where: { $0.name != own.name }) else { return }
    for key in keys(of: change.entity, model) {
      guard let link = objects.removeValue(forKey: key), let one = link.toOnes[own.name],
        let two = link.toOnes[other.name]
      else { continue }
      links["\(change.owner).\(change.relationship)", default: []].insert([one, two])
    }
  }

  private mutating func apply(_ move: AttributeMove, _ model: Schema) {
    let (sources, others) = (keys(of: move.source, model), keys(of: move.destination, model))
    let names = move.attributes
    if move.owner == move.source {
      for key in sources {
        let moved = names.compactMap { pair in objects[key]?.values[pair.name].map { (pair, $0) } }
        if objects[key]?.toOnes[move.relationship] == nil, !moved.isEmpty {
          objects[key]?.toOnes[move.relationship] = key + Self.made
          objects[key + Self.made] = Object(
            entity: move.destination, values: model.defaults(of: move.destination))
        }
        guard let other = objects[key]?.toOnes[move.relationship] else { continue }
        for (pair, value) in moved { objects[other]?.values["\(pair.new)+"] = value }
      }
    } else {
      for key in others {
        guard let other = objects[key]?.toOnes[move.relationship], sources.contains(other) else { continue }
        for pair in names {
          let value = objects[other]?.values[pair.name]
          objects[key]?.values["\(pair.new)+"] = value
        }
      }
    }
    // A destination without a value gets the default of a required attribute.
    for key in keys(of: move.destination, model) {
      for pair in names {
        let former = model.flattenedEntity(named: move.source)?.attribute(named: pair.name)
        let value =
          objects[key]?.values["\(pair.new)+"]
          ?? (former?.isOptional == false ? former?.defaultValue?.plain : nil)
        objects[key]?.values["\(pair.new)+"] = value
      }
    }
    for key in sources { for pair in names { objects[key]?.values[pair.name] = nil } }
    for key in objects.keys {
      for pair in names {
        if let value = objects[key]?.values.removeValue(forKey: "\(pair.new)+") {
          objects[key]?.values[pair.new] = value
        }
      }
    }
  }

  private mutating func apply(_ merge: EntityMerge, _ model: Schema) {
    guard let source = model.flattenedEntity(named: merge.source),
      let destination = model.flattenedEntity(named: merge.destination)
    else { return }
    let line = Set(model.names(above: merge.destination))
    let left = model.names(above: merge.source).filter { !line.contains($0) }
    let kept = Set(source.allNames).subtracting(
      left.flatMap { model.entity(named: $0)?.allNames ?? [] })
    var names = Dictionary(uniqueKeysWithValues: merge.pairs.map { ($0.name, $0.new) })
    for name in source.allNames where !kept.contains(name) && names[name] == nil {
      if destination.allNames.contains(name), !names.values.contains(name) { names[name] = name }
    }
    let branch = keys(of: merge.source, model)
    let before = self
    for key in branch {
      become(key, from: source, to: destination, renaming: names, keeping: kept, former: before.objects[key])
    }
    for key in branch where objects[key]?.entity == merge.source { objects[key]?.entity = merge.destination }
    carryLinks(of: branch, from: source, to: destination, renaming: names, in: model, before: before)
    release(branch, from: left.filter { $0 != merge.source }, in: model)
  }

  private mutating func become(
    _ key: Int, from source: EntityDescription, to destination: EntityDescription,
    renaming names: [String: String], keeping kept: Set<String>, former: Object?
  ) {
    guard let former else { return }
    for name in source.allNames where !kept.contains(name) {
      objects[key]?.values[name] = nil
      objects[key]?.toOnes[name] = nil
    }
    for attribute in destination.attributes where !kept.contains(attribute.name) {
      objects[key]?.values[attribute.name] = attribute.defaultValue?.plain
    }
    for (name, new) in names {
      if let attribute = destination.attribute(named: new) {
        let value = former.values[name].map { attribute.type == .double ? $0.asReal : $0 }
        let none =
          kept.contains(new) ? former.values[new] : attribute.isOptional ? nil : attribute.defaultValue?.plain
        objects[key]?.values[new] = value ?? none
      } else if destination.relationship(named: new)?.isToMany == false {
        objects[key]?.toOnes[new] = former.toOnes[name] ?? (kept.contains(new) ? former.toOnes[new] : nil)
      }
    }
  }

  private mutating func carryLinks(
    of branch: Set<Int>, from source: EntityDescription, to destination: EntityDescription,
    renaming names: [String: String], in model: Schema, before: PlainObjects
  ) {
    for (name, new) in names {
      guard let former = source.relationship(named: name), former.isToMany,
        let target = destination.relationship(named: new),
        let owner = model.declarer(of: name, in: source)?.name,
        let newOwner = model.declarer(of: new, in: destination)?.name
      else { continue }
      if let pairs = before.links["\(owner).\(name)"] {
        links["\(newOwner).\(new)", default: []].formUnion(pairs.filter { branch.contains($0[0]) })
      } else if let back = former.inverse, let to = target.inverse {
        for (key, object) in before.objects {
          guard let other = object.toOnes[back], branch.contains(other) else { continue }
          objects[key]?.toOnes[to] = other
        }
      }
    }
  }

  /// Removes references to the objects as entities that they no longer are, and their links as such.
  private mutating func release(_ branch: Set<Int>, from left: [String], in model: Schema) {
    for entity in model.entities {
      for relationship in entity.relationships {
        let name = "\(entity.name).\(relationship.name)"
        if left.contains(relationship.destination) {
          for key in keys(of: entity.name, model).union(branch) {
            guard let other = objects[key]?.toOnes[relationship.name], branch.contains(other) else {
              continue
            }
            objects[key]?.toOnes[relationship.name] = nil
          }
          links[name] = links[name]?.filter { !branch.contains($0[1]) }
        }
        if left.contains(entity.name) { links[name] = links[name]?.filter { !branch.contains($0[0]) } }
      }
    }
  }
}

extension DefaultValue {
  fileprivate var plain: SQLValue {
    switch self {
    case .integer(let value): .integer(value)
    case .real(let value): .real(value)
    case .text(let value): .text(value)
    }
  }
}

extension SQLValue {
  fileprivate var asReal: SQLValue { int64.map { .real(Double($0)) } ?? self }
}

extension Schema {
  fileprivate func defaults(of entity: String) -> [String: SQLValue] {
    let attributes = flattenedEntity(named: entity)?.attributes ?? []
    return attributes.reduce(into: [:]) { $0[$1.name] = $1.defaultValue?.plain }
  }

  /// The names of an entity and of its ancestors.
  fileprivate func names(above entity: String) -> [String] {
    self.entity(named: entity).map { ancestors(of: $0).map(\.name) + [entity] } ?? []
  }

  fileprivate func place(_ entity: String, isBelow other: String) -> Bool {
    names(above: entity).contains(other)
  }
}

extension EntityDescription {
  fileprivate var allNames: [String] { attributes.map(\.name) + relationships.map(\.name) }
}
