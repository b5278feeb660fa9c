// What the contexts of one store share: the pool, the mapping with its classes, and the plans of fetches.

internal import CipherSQLite
internal import Foundation

final class StoreCore: Sendable {
  let pool: ConnectionPool
  let mapping: SchemaMapping
  let classes: EntityClasses
  let path: String
  /// `vault_meta.generation` as it was at open; another value means that somebody migrated the store.
  let generation: Int64
  /// Which store it is.
  let mark: StoreMark
  /// The store's identity in the form of its text.
  let id: String?
  /// By the entity's index.
  let plans: [FetchPlans]
  /// Who listens to commits.
  let feed = ChangeFeed()

  init(
    pool: ConnectionPool, mapping: SchemaMapping, classes: EntityClasses, path: String,
    generation: Int64, id: UUID?
  ) {
    self.pool = pool
    self.mapping = mapping
    self.classes = classes
    self.path = path
    self.generation = generation
    self.id = id?.uuidString
    mark = StoreMark(id)
    plans = mapping.entities.map(FetchPlans.init)
  }

  func entity(of type: ManagedObject.Type) -> EntityMapping? {
    classes.index(of: type).map { mapping.entities[$0] }
  }

  /// - Throws: ``StoreError/storeMigratedElsewhere(file:)`` when the store's tables may have changed.
  func checkGeneration(_ connection: Connection) throws {
    let found = try connection.value("SELECT value FROM vault_meta WHERE key = 'generation'")?.int64
    guard found == generation else { throw StoreError.storeMigratedElsewhere(file: path) }
  }
}

// Safe to share: never changed after it was made.
/// The Swift class of each entity.
struct EntityClasses: @unchecked Sendable {
  /// By the entity's index.
  let types: [ManagedObject.Type]
  private let indexes: [ObjectIdentifier: Int]

  /// - Throws: ``StoreError/entityWithoutClass(entity:)``.
  init(_ mapping: SchemaMapping) throws {
    types = try mapping.entities.map { entity in
      guard let binding = mapping.schema.bindings[entity.name] as? ClassBinding else {
        throw StoreError.entityWithoutClass(entity: entity.name)
      }
      return binding.description.type
    }
    indexes = Dictionary(uniqueKeysWithValues: types.enumerated().map { (ObjectIdentifier($1), $0) })
  }

  func index(of type: ManagedObject.Type) -> Int? { indexes[ObjectIdentifier(type)] }
}
