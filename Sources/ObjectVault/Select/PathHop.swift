// The steps of a path that lead from one object to others, as SQL conditions between two tables.

internal import CipherSQLite

/// One step from a table to the next: a relationship, an element of an ordered to-many, or a cast.
struct PathHop {
  /// The entity after the step.
  let entity: EntityMapping
  /// The relationship; nil for a cast.
  let relationship: RelationshipMapping?
  /// The element of an ordered to-many; nil for other steps.
  let index: PathStep.Index?

  /// Whether the step leads to any number of objects.
  var isToMany: Bool { relationship?.isToMany == true && index == nil }

  /// Returns the two equal sides of the connection between the tables: `link = owner`, where `link` is a
  /// column of the next table. Not for a join table without an index.
  func sides(from alias: Int, to next: Int) -> (link: SQL, owner: SQL) {
    let id: SQL = "\(alias: next).\"id\""
    guard let relationship else { return (id, "\(alias: alias).\"id\"") }
    if let index { return (id, element(relationship, index, of: alias)) }
    return switch relationship.storage {
    case .column(let column): (id, "\(alias: alias).\(column)")
    case .inverseColumn(let column): ("\(alias: next).\(column)", "\(alias: alias).\"id\"")
    case .join: (id, "NULL")
    }
  }

  /// The condition on the next table alone; nil where there is none.
  func membership(of next: Int) -> SQL? {
    relationship == nil ? entity.membership("\(alias: next).") : nil
  }

  /// Returns the condition that connects the tables.
  func condition(from alias: Int, to next: Int) -> SQL {
    let (link, owner) = sides(from: alias, to: next)
    return membership(of: next).map { "\(link) = \(owner) AND \($0)" } ?? "\(link) = \(owner)"
  }

  /// Returns the query for the id of the element.
  private func element(_ relationship: RelationshipMapping, _ index: PathStep.Index, of alias: Int) -> SQL {
    switch index {
    case .number(let number):
      relationship.elementSQL(of: "\(alias: alias).\"id\"", at: number, isFromEnd: false)
    case .last: relationship.elementSQL(of: "\(alias: alias).\"id\"", at: 0, isFromEnd: true)
    }
  }
}

extension PredicateCompiler {
  typealias Hop = PathHop

  /// Returns the step that a name means; nil for an attribute, an element of one, and an unknown name.
  /// - Throws: ``StoreError/predicate(_:)`` for an element of something that is no ordered to-many, and for
  ///   a cast to an entity that the object cannot be of.
  func hop(_ name: String, from entity: EntityMapping, at place: Int?) throws -> Hop? {
    switch PathStep(name) {
    case .property(let name):
      guard let slot = entity.slot(named: name), let relationship = entity.slots[slot].relationship else {
        return nil
      }
      return Hop(entity: relationship.destination, relationship: relationship, index: nil)
    case .element(let name, let index):
      guard let slot = entity.slot(named: name) else { throw unknown(name, in: entity, at: place) }
      if entity.isJSON(name) { return nil }
      guard let relationship = entity.slots[slot].relationship, relationship.isOrdered else {
        throw failure(
          "\(entity.name).\(name) is not an ordered to-many, declared as an array, and has no elements",
          at: place)
      }
      return Hop(entity: relationship.destination, relationship: relationship, index: index)
    case .cast(let child):
      guard let target = entity.relatives.first(where: { $0.name == child }),
        entity.includes(target) || target.includes(entity)
      else {
        let known = entity.branch.map(\.name).filter { $0 != entity.name }
        throw failure(
          "\(entity.name) has no child entity \"\(shortened(child))\""
            + (known.isEmpty ? "" : "; its child entities are \(known.joined(separator: ", "))"), at: place)
      }
      return Hop(entity: target, relationship: nil, index: nil)
    case .type: return nil
    }
  }
}
