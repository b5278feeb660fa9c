// What the contexts of one store share: the mapping with its classes, and the plans of fetches.

internal import CipherSQLite
internal import Foundation

final class StoreCore: Sendable {
  let mapping: SchemaMapping
  let classes: EntityClasses
  let path: String
  /// ``MetaTable/Entry/generation`` as it was at open; another value means that somebody migrated the store. Nil in a
  /// store that is being made.
  let generation: Int64?
  /// Which store it is.
  let mark: StoreMark
  /// The store's identity in the form of its text.
  let id: String?
  /// By the entity's index.
  let plans: [FetchPlans]
  /// By the entity's index: how many rows the last fetch of all has found; nil when there was none.
  let lastCounts: [Locked<Int?>]
  /// Who listens to commits.
  let feed = ChangeFeed()
  /// The ids that this store has reserved in the file.
  let reservedIDs = ReservedIDs()

  init(
    mapping: SchemaMapping, classes: EntityClasses, path: String, generation: Int64?, id: UUID?
  ) {
    self.mapping = mapping
    self.classes = classes
    self.path = path
    self.generation = generation
    self.id = id?.uuidString
    mark = StoreMark(id)
    plans = mapping.entities.map(FetchPlans.init)
    lastCounts = mapping.entities.map { _ in Locked(nil) }
  }

  deinit { feed.end() }

  /// Has fetches planned by what the file's statistics say.
  func learn(nilColumns: TableStatistics.NilColumns) {
    for entity in mapping.entities {
      entity.nilColumns.withLock { $0 = nilColumns[entity.table] ?? [] }
    }
    // All of them: a plan goes into other tables, too.
    for plans in plans { plans.planAnew() }
  }

  func entity(of type: ManagedObject.Type) -> EntityMapping? {
    classes.index(of: type).map { mapping.entities[$0] }
  }

  /// The entity of a name, in a store that was opened without classes.
  /// - Throws: ``StoreError/noEntity(name:similar:)``, ``StoreError/openedWithClasses(entity:)``.
  func entity(named name: String) throws(StoreError) -> EntityMapping {
    guard classes.isDynamic else { throw .openedWithClasses(entity: name) }
    return try mapping.known(name)
  }

  /// Begins a transaction that writes.
  /// - Throws: ``StoreError/storeMigratedElsewhere(file:)``.
  func beginWriting(_ connection: Connection) throws {
    reservedIDs.begin()
    try checkGeneration(connection)
  }

  /// - Throws: ``StoreError/storeMigratedElsewhere(file:)`` when the store's tables may have changed.
  func checkGeneration(_ connection: Connection) throws {
    let found = try MetaTable(connection: connection).value(.generation)?.int64
    guard found == generation else { throw StoreError.storeMigratedElsewhere(file: path) }
  }
}

// Safe to share: never changed after it was made.
/// The Swift class of each entity; or none, where all are dynamic objects.
struct EntityClasses: @unchecked Sendable {
  /// By the entity's index; empty where there are none.
  private let types: [ManagedObject.Type]
  private let indexes: [ObjectIdentifier: Int]
  let isDynamic: Bool

  /// Of a store that is opened without classes.
  static let none = EntityClasses(types: [], isDynamic: true)

  /// - Throws: ``StoreError/entityWithoutClass(entity:)``.
  init(_ mapping: SchemaMapping) throws {
    let types = try mapping.entities.map { entity in
      guard let binding = mapping.schema.bindings[entity.name] as? ClassBinding else {
        throw StoreError.entityWithoutClass(entity: entity.name)
      }
      return binding.description.type
    }
    self.init(types: types, isDynamic: false)
  }

  private init(types: [ManagedObject.Type], isDynamic: Bool) {
    self.types = types
    self.isDynamic = isDynamic
    indexes = Dictionary(uniqueKeysWithValues: types.enumerated().map { (ObjectIdentifier($1), $0) })
  }

  func index(of type: ManagedObject.Type) -> Int? { indexes[ObjectIdentifier(type)] }

  /// The class of an entity's objects.
  func type(of entity: EntityMapping) -> ManagedObject.Type {
    isDynamic ? DynamicObject.self : types[entity.index]
  }

  /// A new identity map of an entity.
  /// - Parameter root: The map of the entity's root; nil for an entity that is its own root.
  func map(of entity: EntityMapping, sharing root: IdentityMap?) -> IdentityMap {
    let (type, make) = (type(of: entity), maker(of: entity))
    return root.map { IdentityMap(entity, of: type, sharing: $0, make: make) }
      ?? IdentityMap(entity, of: type, make: make)
  }

  /// What makes an object of an entity.
  private func maker(of entity: EntityMapping) -> () -> ManagedObject {
    if isDynamic { return { DynamicObject.make(entity) } }
    return ClassDescription.of(types[entity.index]).maker
  }
}
