// The attributes by which an object is found or inserted: one unique attribute, or several that are unique
// together.

/// Attributes whose values together identify one object.
final class UniqueKey {
  /// The entity that was named.
  let entity: EntityMapping
  /// The topmost entity that has the attributes. The unique index covers all of its rows, so an object with
  /// a key may also be of a parent or a sibling of ``entity``.
  let owner: EntityMapping
  let slots: [Int]
  let names: [String]

  /// Finds the unique key that consists of some attributes, in any order.
  /// - Throws: ``StoreError/noProperty(entity:property:similar:)``;
  ///   ``StoreError/propertyMisused(entity:property:reason:)`` for a relationship;
  ///   ``StoreError/notUnique(entity:properties:keys:)``.
  init(_ names: [String], of entity: EntityMapping) throws(StoreError) {
    var slots: [Int] = []
    for name in names {
      guard let slot = entity.slot(named: name) else {
        throw .noProperty(
          entity: entity.name, property: name, similar: nearest(name, among: entity.slots.map(\.name)))
      }
      guard entity.slots[slot].attribute != nil else {
        throw .propertyMisused(
          entity: entity.name, property: name,
          reason: "is a relationship, and objects are found by unique attributes")
      }
      slots.append(slot)
    }
    let all = Set(slots)
    guard !all.isEmpty, all.count == slots.count, entity.uniqueKeys.contains(where: { Set($0) == all }) else {
      let keys = entity.uniqueKeys.filter { $0.allSatisfy { entity.slots[$0].attribute != nil } }
      throw .notUnique(
        entity: entity.name, properties: names,
        keys: keys.map { $0.map { entity.slots[$0].name }.joined(separator: ", ") })
    }
    (self.entity, self.slots, self.names) = (entity, slots, names)
    // Inherited properties have the same slots as in the parent.
    var owner = entity
    while let parent = owner.parent, slots.allSatisfy({ $0 < parent.slotCount }) { owner = parent }
    self.owner = owner
  }

  /// The types of the attributes.
  var types: [AttributeType] { slots.compactMap { entity.slots[$0].attribute?.type } }
}
