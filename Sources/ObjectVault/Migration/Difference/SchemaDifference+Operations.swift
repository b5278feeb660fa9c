// Proposes the operations that change one model into another. The error for a mismatch prints them and
// `new --from-model` writes them; a person reviews them. AutomaticStep runs them if nothing is lost and
// nothing is in doubt.

extension SchemaDifference {
  /// Returns the operations that change one model into another.
  ///
  /// A possible renaming becomes a renaming only if `renaming` or the schema's `.renamed(from:)` states
  /// it; otherwise it becomes a drop and an addition. Only the author of the change can decide this. So
  /// operations with a possible renaming or a loss do not run without a review.
  package static func operations(
    from old: Schema, to new: Schema, renaming: [MigrationRenaming] = []
  ) -> [MigrationOperation] {
    var proposer = OperationProposer(old, to: new)
    proposer.propose(renaming)
    return proposer.operations
  }
}

/// Collects operations, and applies each to a model. OperationProposer+Parents proposes the changes of
/// parents.
struct OperationProposer {
  private(set) var present: Schema
  let new: Schema
  private(set) var operations: [MigrationOperation] = []

  init(_ old: Schema, to new: Schema) {
    // Sorted, so that a change always gives the lines in one order.
    present = old.canonical
    self.new = new
  }

  mutating func propose(_ renaming: [MigrationRenaming]) {
    rename(renaming)
    dropRawObjects()
    dropIndexes()
    setParents()
    dropRelationships()
    dropAttributes()
    dropEntities()
    for entity in new.canonical.parentsFirst where present.entity(named: entity.name) == nil {
      add(.createEntity(new.written(entity, isThere: isUnpaired)))
    }
    // New relationships are added only now, because an attribute with the same name may have to be
    // dropped first.
    for (entity, former) in kept { changeAttributes(of: entity, from: former) }
    for (entity, _) in kept {
      for relationship in entity.relationships
      where present.entity(named: entity.name)?.relationship(named: relationship.name) == nil {
        add(.addRelationship(entity.name, new.written(relationship, isThere: isUnpaired)))
      }
    }
    // Whether each end is a to-one or a to-many determines where links are stored. This is settled before
    // an end of a one-to-one is created again.
    for (entity, _) in kept {
      for relationship in entity.relationships { changeNumber(entity.name, to: relationship) }
    }
    // The ends of one-to-ones that have no column come last, and name the other ends as inverses. After
    // that it is settled which end can be required.
    for looksUp in [false, true] {
      for (entity, _) in kept {
        for relationship in entity.relationships where relationship.isLookedUp == looksUp {
          changeInverse(entity.name, to: relationship)
        }
      }
    }
    for (entity, _) in kept {
      for relationship in entity.relationships { changeOptions(entity.name, to: relationship) }
    }
    for (entity, former) in kept {
      for index in entity.indexes where !former.indexes.contains(index) { add(.addIndex(entity.name, index)) }
      if entity.history != former.history { add(.setHistory(entity.name, entity.history)) }
    }
    for object in new.rawObjects where present.rawObject(named: object.name) == nil {
      add(.createRawObject(object))
    }
  }

  /// Whether a relationship exists without an inverse. The added relationship then names it as its
  /// inverse.
  func isUnpaired(_ entity: String, _ name: String) -> Bool {
    guard let relationship = present.entity(named: entity)?.relationship(named: name) else { return false }
    return relationship.inverse == nil
  }

  /// The entities that are in both models, each with its new and its present description.
  private var kept: [(new: EntityDescription, present: EntityDescription)] {
    new.canonical.entities.compactMap { entity in
      present.entity(named: entity.name).map { (entity, $0) }
    }
  }

  mutating func add(_ operation: MigrationOperation) {
    operations.append(operation)
    // An impossible operation is listed as well, so that the reader sees what was intended.
    try? operation.apply(to: &present)
  }

  /// Adds an operation if the present model accepts it.
  private mutating func addFitting(_ operation: MigrationOperation) {
    if (try? operation.apply(to: &present)) != nil { operations.append(operation) }
  }

  // MARK: Names

  private mutating func rename(_ renaming: [MigrationRenaming]) {
    let told = new.renamings(renaming, from: present)
    for renaming in MigrationRenaming.inOrder(told, beside: present.allNames.union(new.allNames)) {
      if let operation = renaming.operation(in: present) { addFitting(operation) }
    }
    for (entity, former) in kept {
      guard let binding = new.bindings[entity.name] else { continue }
      for renaming in RenamingHints(entity, binding, former: former.propertyNames).renamings {
        if let operation = renaming.operation(in: present) { addFitting(operation) }
      }
    }
  }

  // MARK: Drops

  /// Drops raw objects that differ, and those that name a table or column which is replaced by another of
  /// an equal name.
  private mutating func dropRawObjects() {
    for object in present.rawObjects
    where new.rawObject(named: object.name) != object || !SQLTemplate.names(object.sql).allSatisfy(isKept) {
      add(.dropRawObject(object.kind, object.name))
    }
  }

  /// Whether a name after `$` is one table or column in both models, and not replaced.
  private func isKept(_ name: String) -> Bool {
    let names = name.split(separator: ".").map(String.init)
    guard let entity = names.first.flatMap({ new.entity(named: $0) }),
      let former = present.entity(named: entity.name)
    else { return false }
    guard names.count > 1, names[1] != "id" else { return true }
    guard isKept(names[1], in: entity, from: former) else { return false }
    let (old, relationship) = (former.relationship(named: names[1]), entity.relationship(named: names[1]))
    return old?.isToMany == relationship?.isToMany && old?.isLookedUp == relationship?.isLookedUp
      && old?.inverse == relationship?.inverse
  }

  private mutating func dropIndexes() {
    for (entity, former) in kept {
      let (all, allFormer) = (new.flattened(entity), present.flattened(former))
      // Also drops unchanged indexes if one of their properties is replaced by another of an equal name.
      for index in former.indexes
      where !entity.indexes.contains(index)
        || !index.properties.allSatisfy({ isKept($0, in: all, from: allFormer) })
      {
        add(.dropIndex(entity.name, index.properties, index.comparing))
      }
    }
  }

  /// Whether a property is an attribute in both models, or in both a relationship to the same entity.
  private func isKept(_ name: String, in entity: EntityDescription, from former: EntityDescription) -> Bool {
    guard let old = former.relationship(named: name) else { return entity.attribute(named: name) != nil }
    return entity.relationship(named: name)?.destination == old.destination
  }

  private mutating func dropRelationships() {
    for (entity, former) in kept {
      for relationship in former.relationships where !isKept(relationship.name, in: entity, from: former) {
        add(.dropRelationship(entity.name, relationship.name))
      }
    }
  }

  private mutating func dropAttributes() {
    for (entity, former) in kept {
      for attribute in former.attributes where entity.attribute(named: attribute.name) == nil {
        add(.dropAttribute(entity.name, attribute.name))
      }
    }
  }

  private mutating func dropEntities() {
    let dropped = present.entities.filter { new.entity(named: $0.name) == nil }
    let names = Set(dropped.map(\.name))
    // Relationships between dropped entities are dropped first.
    for entity in dropped {
      let cut = entity.relationships.filter {
        names.contains($0.destination) && $0.destination != entity.name
      }
      for index in entity.indexes where cut.contains(where: { index.properties.contains($0.name) }) {
        add(.dropIndex(entity.name, index.properties, index.comparing))
      }
      for relationship in cut { add(.dropRelationship(entity.name, relationship.name)) }
    }
    for entity in present.parentsFirst.reversed() where names.contains(entity.name) {
      add(.dropEntity(entity.name))
    }
  }

  // MARK: Changes

  private mutating func changeAttributes(of entity: EntityDescription, from former: EntityDescription) {
    for attribute in entity.attributes {
      if let old = former.attribute(named: attribute.name) {
        change(entity.name, from: old, to: attribute)
      } else {
        add(.addAttribute(entity.name, attribute))
      }
    }
  }

  private mutating func change(
    _ entity: String, from old: AttributeDescription, to new: AttributeDescription
  ) {
    let name = new.name
    let (wasIndexed, isIndexed) = (old.isUnique || old.isIndexed, new.isUnique || new.isIndexed)
    let indexChanges = old.isUnique != new.isUnique || wasIndexed != isIndexed
    if indexChanges && wasIndexed { add(.dropIndex(entity, [name])) }
    if old.type != new.type {
      let draft = old.type.converts(to: new.type) ? nil : old.type.draft(to: new.type, of: entity, name)
      add(.retype(entity, name, to: new.type, using: draft))
    }
    if old.isOptional && !new.isOptional { add(.makeRequired(entity, name, filling: new.defaultValue)) }
    if !old.isOptional && new.isOptional { add(.makeOptional(entity, name)) }
    if old.isLazy != new.isLazy { add(.setLazy(entity, name, new.isLazy)) }
    if present.entity(named: entity)?.attribute(named: name)?.defaultValue != new.defaultValue {
      add(.setDefault(entity, name, new.defaultValue))
    }
    if indexChanges && isIndexed {
      add(.addIndex(entity, IndexDescription(properties: [name], isUnique: new.isUnique)))
    }
  }

  private mutating func changeNumber(_ entity: String, to new: RelationshipDescription) {
    guard let old = present.entity(named: entity)?.relationship(named: new.name), old.inverse == new.inverse,
      old.isToMany != new.isToMany
    else { return }
    add(new.isToMany ? .makeMany(entity, new.name) : .makeOne(entity, new.name, picking: nil))
  }

  private mutating func changeInverse(_ entity: String, to new: RelationshipDescription) {
    // The present description, because an operation on the other end may have changed the inverse.
    let old = present.entity(named: entity)?.relationship(named: new.name)
    // The other end, which has no column, is added later with this one as its inverse.
    let isNamedByOtherEnd = new.isOneToOne && old?.hasColumn == true && old?.inverse == nil
    if !isNamedByOtherEnd, old?.inverse != new.inverse || (new.isLookedUp && old?.hasColumn == true) {
      for index in present.entity(named: entity)?.indexes ?? [] where index.properties.contains(new.name) {
        add(.dropIndex(entity, index.properties, index.comparing))
      }
      add(.dropRelationship(entity, new.name))
      add(.addRelationship(entity, self.new.written(new)))
      return
    }
    changeNumber(entity, to: new)
  }

  private mutating func changeOptions(_ entity: String, to new: RelationshipDescription) {
    let old = present.entity(named: entity)?.relationship(named: new.name)
    if old?.isOrdered != new.isOrdered {
      add(new.isOrdered ? .makeOrdered(entity, new.name) : .makeUnordered(entity, new.name))
    }
    if old?.isRequired != new.isRequired {
      add(new.isRequired ? .makeRequired(entity, new.name, filling: nil) : .makeOptional(entity, new.name))
    }
    if old?.deleteRule != new.deleteRule { add(.setDeleteRule(entity, new.name, new.deleteRule)) }
  }
}

extension AttributeType {
  /// Returns a draft of an expression that converts values. A person has to review it: without an error,
  /// SQLite converts text that is not a number to 0, and truncates numbers.
  fileprivate func draft(to type: AttributeType, of entity: String, _ name: String) -> String {
    let value = "$\(entity).\(name)"
    switch type.traits.storage {
    case .integer: return "CAST(\(value) AS INTEGER)"
    case .real: return "CAST(\(value) AS REAL)"
    case .text: return "CAST(\(value) AS TEXT)"
    case .blob: return "CAST(\(value) AS BLOB)"
    }
  }
}
