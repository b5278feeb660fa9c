// The lines that one would write to make one model of another: what a mismatch shows, ready to be reviewed.

extension SchemaDifference {
  /// Operations from one model to another. What may be a renaming is one where the class says so (`.renamed(from:)`), else
  /// a dropping and an adding: nobody can tell them apart but who made the change, so the lines are for reading and
  /// never run by themselves.
  static func operations(from old: Schema, to new: Schema) -> [MigrationOperation] {
    var present = old
    let renamings = renamings(from: old, to: new).filter { (try? $0.apply(to: &present)) != nil }
    return renamings + changes(from: present, to: new)
  }

  /// The renamings that classes tell of, where the former name is there and the new one is not yet.
  private static func renamings(from old: Schema, to new: Schema) -> [MigrationOperation] {
    new.entities.flatMap { entity -> [MigrationOperation] in
      guard let former = old.entity(named: entity.name), let binding = new.bindings[entity.name] else {
        return []
      }
      return entity.propertyNames.compactMap { name in
        guard let oldName = binding.formerName(of: name), !former.propertyNames.contains(name),
          former.propertyNames.contains(oldName), !entity.propertyNames.contains(oldName)
        else { return nil }
        return entity.attribute(named: name) == nil
          ? .renameRelationship(entity.name, oldName, to: name)
          : .renameAttribute(entity.name, oldName, to: name)
      }
    }
  }

  private static func changes(from old: Schema, to new: Schema) -> [MigrationOperation] {
    var changes: [MigrationOperation] = []
    var created: [MigrationOperation] = []
    var dropped: [MigrationOperation] = []
    for entity in new.entities {
      guard let former = old.entity(named: entity.name) else {
        created.append(.createEntity(entity))
        continue
      }
      dropped += former.indexes.filter { !entity.indexes.contains($0) }
        .map { .dropIndex(entity.name, $0.properties) }
      dropped += former.relationships.filter { entity.relationship(named: $0.name) == nil }
        .map { .dropRelationship(entity.name, $0.name) }
      dropped += former.attributes.filter { entity.attribute(named: $0.name) == nil }
        .map { .dropAttribute(entity.name, $0.name) }
      for attribute in entity.attributes {
        changes +=
          former.attribute(named: attribute.name).map { operations(entity.name, from: $0, to: attribute) }
          ?? [.addAttribute(entity.name, attribute)]
      }
      for relationship in entity.relationships {
        changes +=
          former.relationship(named: relationship.name)
          .map { operations(entity.name, from: $0, to: relationship) }
          ?? [.addRelationship(entity.name, relationship)]
      }
      changes += entity.indexes.filter { !former.indexes.contains($0) }.map { .addIndex(entity.name, $0) }
    }
    dropped += old.entities.filter { new.entity(named: $0.name) == nil }.map { .dropEntity($0.name) }
    return created + dropped + changes
  }

  private static func operations(
    _ entity: String, from old: AttributeDescription, to new: AttributeDescription
  ) -> [MigrationOperation] {
    var operations: [MigrationOperation] = []
    let name = new.name
    let (wasIndexed, isIndexed) = (old.isUnique || old.isIndexed, new.isUnique || new.isIndexed)
    let isOtherIndex = old.isUnique != new.isUnique || wasIndexed != isIndexed
    if isOtherIndex && wasIndexed { operations.append(.dropIndex(entity, [name])) }
    if old.type != new.type { operations.append(.retype(entity, name, to: new.type, using: nil)) }
    if old.isOptional && !new.isOptional {
      operations.append(.makeRequired(entity, name, filling: new.defaultValue))
    }
    if !old.isOptional && new.isOptional { operations.append(.makeOptional(entity, name)) }
    if old.defaultValue != new.defaultValue { operations.append(.setDefault(entity, name, new.defaultValue)) }
    if isOtherIndex && isIndexed {
      operations.append(.addIndex(entity, IndexDescription(properties: [name], isUnique: new.isUnique)))
    }
    return operations
  }

  private static func operations(
    _ entity: String, from old: RelationshipDescription, to new: RelationshipDescription
  ) -> [MigrationOperation] {
    var rest = old
    var operations: [MigrationOperation] = []
    if old.isToMany != new.isToMany {
      operations.append(
        new.isToMany ? .makeMany(entity, new.name) : .makeOne(entity, new.name, picking: nil))
      (rest.isToMany, rest.isRequired) = (new.isToMany, false)
    }
    if rest.isRequired != new.isRequired {
      operations.append(
        new.isRequired ? .makeRequired(entity, new.name, filling: nil) : .makeOptional(entity, new.name))
    }
    if old.deleteRule != new.deleteRule {
      operations.append(.setDeleteRule(entity, new.name, new.deleteRule))
    }
    (rest.isRequired, rest.deleteRule) = (new.isRequired, new.deleteRule)
    guard rest == new else {
      return [.dropRelationship(entity, new.name), .addRelationship(entity, new)]
    }
    return operations
  }
}
