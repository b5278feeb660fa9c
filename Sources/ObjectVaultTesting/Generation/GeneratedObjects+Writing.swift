// Writes generated objects into a store.

internal import CipherSQLite
public import ObjectVault

extension GeneratedObjects {
  /// Inserts the objects into a context of a store that was opened without classes. The caller saves.
  /// - Parameter context: The context.
  /// - Returns: The objects, in the order of ``all``.
  /// - Throws: `StoreError.noEntity`, `StoreError.noProperty` or `StoreError.propertyMisused` when the
  ///   store has another model; `StoreError.openedWithClasses`.
  @discardableResult
  public func insert(into context: ObjectContext) throws -> [DynamicObject] {
    var places: [String: [Int]] = [:]
    for (place, object) in all.enumerated() { places[object.entity, default: []].append(place) }
    let objects = try all.map { object in
      try context.insert(entity: object.entity) { new in
        guard let entity = schema.flattenedEntity(named: object.entity) else { return }
        let unique = Set(entity.uniqueKeys.joined())
        for attribute in entity.attributes {
          // Some objects keep the default value of new objects.
          if attribute.defaultValue != nil, !unique.contains(attribute.name), object.number % 5 == 3 {
            continue
          }
          try new.set(attribute.name, toStored: object.values[attribute.name] ?? .null)
        }
      }
    }
    for (object, made) in zip(all, objects) {
      for (name, number) in object.toOne {
        guard let place = place(of: number, from: object.entity, by: name, in: places) else { continue }
        try made.set(name, toOne: objects[place])
      }
      for (name, numbers) in object.toMany {
        for number in numbers {
          guard let place = place(of: number, from: object.entity, by: name, in: places) else { continue }
          try made.add(objects[place], to: name)
        }
      }
    }
    return objects
  }

  private func place(
    of number: Int, from entity: String, by name: String, in places: [String: [Int]]
  ) -> Int? {
    let destination = schema.flattenedEntity(named: entity)?.relationship(named: name)?.destination
    let found = destination.map { schema.kinds(of: $0).flatMap { places[$0] ?? [] } } ?? []
    return found.indices.contains(number) ? found[number] : nil
  }

  /// Writes the objects to a store that was opened without classes, in one transaction.
  /// - Parameter store: The store.
  /// - Returns: The ids of the objects, in the order of ``all``.
  /// - Throws: The errors of ``insert(into:)`` and of ``/ObjectVault/Store/write(_:)``.
  @discardableResult
  public func write(to store: Store) async throws -> [DynamicID] {
    let generated = self
    return try await store.write { context in
      let objects = try generated.insert(into: context)
      try context.save()
      return objects.map(\.id)
    }
  }
}
