// Finds the data that a segment loses. It compares the tables before and after, and does not depend on
// the kind of operation.

internal import CipherSQLite

extension Schema {
  /// Returns the optional relationships of other entities to an ancestor of an entity. They may refer to
  /// the entity's objects, and are stored in the referring rows or in tables of links.
  func leading(
    toInheritedOf entity: EntityDescription
  ) -> [(owner: EntityDescription, relationship: RelationshipDescription)] {
    guard entity.parent != nil else { return [] }
    let above = Set(ancestors(of: entity).map(\.name))
    return entities.filter { $0.name != entity.name }.flatMap { owner in
      owner.relationships.filter { relationship in
        // A required relationship to a removed object makes the step fail, so it is no loss.
        guard above.contains(relationship.destination), !relationship.isRequired else { return false }
        let back = relationship.inverse.flatMap {
          self.entity(named: relationship.destination)?.relationship(named: $0)
        }
        return relationship.hasColumn || back?.isToMany != false
      }.map { (owner, $0) }
    }
  }
}

extension MigrationCompiler {
  /// Returns what is lost: tables, columns, links and orders, such as `User.city`, under their names at
  /// the drop.
  func losses() -> [String] {
    if let change = mapping.parentChange { return change.losses(in: before) }
    let finals = Dictionary(mapping.entities.map { ($0.value, $0.key) }) { first, _ in first }
    var losses: [String] = []
    for entity in before.entities where !untouched.contains(entity.name) {
      guard let final = finals[entity.name] else {
        losses.append(mapping.dropped.entities[entity.name] ?? entity.name)
        losses += before.leading(toInheritedOf: entity).compactMap { owner, relationship in
          guard let owner = finals[owner.name],
            let name = mapping.formerNames(of: owner).first(where: { $0.value == relationship.name })?.key
          else { return nil }
          return "\(owner).\(name)"
        }.filter { !losses.contains($0) }
        continue
      }
      let kept = Set(mapping.formerNames(of: final).values)
      let toOnes = entity.relationships.filter { $0.hasColumn && !isKeptAtOtherEnd($0, finals) }
      let columns = entity.attributes.map(\.name) + toOnes.map(\.name)
      losses += columns.filter { !kept.contains($0) }.map {
        droppedName(entity.name, property: $0) ?? "\(entity.name).\($0)"
      }
    }
    losses += mapping.moves.compactMap(\.loss)
    var links = keptLinks()
    for move in mapping.moves {
      if case .links(let table, _, _) = move.from { links.insert(table) }
    }
    for entity in before.entities where !untouched.contains(entity.name) {
      for relationship in entity.relationships {
        guard let (join, isSource) = before.joinName(of: relationship, in: entity), isSource,
          !links.contains(join)
        else { continue }
        let other = relationship.inverse.flatMap { droppedName(relationship.destination, property: $0) }
        if let name = droppedName(entity.name, property: relationship.name) ?? other {
          losses.append(name)
        } else if finals[entity.name] != nil {
          // No operation dropped the relationship, but its new inverse replaces the table of links, whose
          // rows are not carried over.
          losses.append("\(entity.name).\(relationship.name)")
        }
      }
    }
    for name in lostOrders(finals) where !losses.contains(name) { losses.append(name) }
    return losses
  }

  /// Returns, for each lost to-one, the to-manys that become empty because the to-one was their inverse.
  /// The name of the to-one alone does not show that.
  func emptied() -> [String: [String]] {
    guard mapping.parentChange == nil else { return [:] }
    let finals = Dictionary(mapping.entities.map { ($0.value, $0.key) }) { first, _ in first }
    var emptied: [String: [String]] = [:]
    for entity in before.entities where !untouched.contains(entity.name) {
      guard let kept = finals[entity.name].map({ Set(mapping.formerNames(of: $0).values) }) else { continue }
      for toOne in entity.relationships where toOne.hasColumn && !kept.contains(toOne.name) {
        guard let owner = finals[toOne.destination],
          let name = mapping.formerNames(of: owner).first(where: { $0.value == toOne.inverse })?.key,
          after.entity(named: owner)?.relationship(named: name)?.isToMany == true
        else { continue }
        let loss = droppedName(entity.name, property: toOne.name) ?? "\(entity.name).\(toOne.name)"
        emptied[loss, default: []].append("\(owner).\(name)")
      }
    }
    return emptied
  }

  /// Whether the inverse of a one-to-one has the column after the segment, with all of the links.
  private func isKeptAtOtherEnd(_ relationship: RelationshipDescription, _ finals: [String: String]) -> Bool {
    guard let inverse = relationship.inverse, let final = finals[relationship.destination],
      relationship.isOneToOne
    else { return false }
    return mapping.formerNames(of: final).contains { name, former in
      former == inverse && after.entity(named: final)?.relationship(named: name)?.hasColumn == true
    }
  }

  /// Returns the relationships whose members lose their order.
  private func lostOrders(_ finals: [String: String]) -> [String] {
    before.entities.filter { !untouched.contains($0.name) }.flatMap { entity -> [String] in
      guard let final = finals[entity.name] else { return [] }
      let names = mapping.formerNames(of: final)
      return entity.relationships.filter { $0.isOrdered && before.hasMembers($0, of: entity) }.compactMap {
        relationship in
        let name = names.first { $0.value == relationship.name }?.key
        if let name, let new = after.entity(named: final)?.relationship(named: name),
          !new.isToMany || keepsOrder(of: new, final)
        {
          return nil
        }
        return mapping.dropped.orders[entity.name]?[relationship.name]
          ?? droppedName(entity.name, property: relationship.name) ?? "\(final).\(name ?? relationship.name)"
      }
    }
  }

  /// Whether the members of a relationship keep the positions that they had before the segment.
  private func keepsOrder(of relationship: RelationshipDescription, _ entity: String) -> Bool {
    guard relationship.isOrdered else { return false }
    // In a segment that moves links, no operation removes an order, and the positions move with the
    // links.
    if !mapping.moves.isEmpty { return true }
    return orderOrigin(of: relationship, in: entity) != nil
  }

  /// Returns the tables of links before the segment whose rows are in a table after it. If both ends of a
  /// table give an origin, the first one found is used.
  private func keptLinks() -> Set<String> {
    var origins: [String: String] = [:]
    for entity in after.entities where !untouched.contains(entity.name) {
      for relationship in entity.relationships {
        guard let join = after.joinName(of: relationship, in: entity)?.name, origins[join] == nil,
          let former = mapping.entities[entity.name].flatMap({ before.entity(named: $0) }),
          let name = mapping.former(entity.name, property: relationship.name)
        else { continue }
        origins[join] = former.relationship(named: name).flatMap { before.joinName(of: $0, in: former)?.name }
      }
    }
    return Set(origins.values)
  }

  /// Returns the name of a property at its drop; nil if no operation dropped it.
  private func droppedName(_ entity: String, property: String) -> String? {
    mapping.dropped.properties[entity]?[property]
  }
}
