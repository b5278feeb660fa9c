// Shared state of all contexts of one store: the mapping, the classes, the plans of fetches, the
// listeners, and the reserved ids.

internal import CipherSQLite
internal import Foundation

final class StoreCore: Sendable {
  let mapping: SchemaMapping
  let classes: EntityClasses
  /// The hooks that any of the classes overrides.
  let hooks: ClassHooks
  let path: String
  /// The value of ``MetaTable/Entry/generation`` when the store was opened; another value in the file
  /// means that the store was migrated elsewhere. nil in a store that is being created.
  let generation: Int64?
  /// The fingerprint by which ids of other stores are recognized.
  let mark: StoreFingerprint
  /// The text of the store's id.
  let id: String?
  /// The version of the store's model when it was opened.
  let version: Int
  private let numbers = Locked<HistoryNumbers?>(nil)
  /// Plans of fetches, by the entity's index.
  let plans: [FetchPlans]
  /// The number of rows that the last fetch of all rows found, by the entity's index; nil when there was
  /// none.
  let lastCounts: [Locked<Int?>]
  /// The listeners of commits.
  let feed = ChangeFeed()
  /// The queries in SQL that were checked.
  let checkedQueries = CheckedTexts()
  /// The ids that this store has reserved in the file.
  let reservedIDs = ReservedIDs()

  /// The time that a MATCHES may take for one text, in seconds.
  let matchLimit: Double
  /// Whether the texts of objects have values.
  let describesValues: Bool

  init(
    mapping: SchemaMapping, classes: EntityClasses, path: String, generation: Int64?, id: UUID?,
    version: Int = 0, matchLimit: Double = MatchPattern.defaultLimit, describesValues: Bool = false
  ) {
    (self.matchLimit, self.version, self.describesValues) = (matchLimit, version, describesValues)
    self.mapping = mapping
    self.classes = classes
    hooks = classes.hooks
    self.path = path
    self.generation = generation
    self.id = id?.uuidString
    mark = StoreFingerprint(id)
    plans = mapping.entities.map(FetchPlans.init)
    lastCounts = mapping.entities.map { _ in Locked(nil) }
  }

  deinit { feed.end() }

  /// Updates the statistics by which fetches are planned.
  func learn(nilColumns: TableStatistics.NilColumns) {
    for entity in mapping.entities {
      entity.nilColumns.withLock { $0 = nilColumns[entity.table] }
    }
    // All fetches are planned anew: a plan may use the tables of other entities.
    for plans in plans { plans.discardPlans() }
  }

  func entity(of type: ManagedObject.Type) -> EntityMapping? {
    classes.index(of: type).map { mapping.entities[$0] }
  }

  /// Returns the entity with a name, in a store that was opened without classes.
  /// - Throws: ``StoreError/noEntity(name:similar:)``, ``StoreError/openedWithClasses(entity:)``.
  func entity(named name: String) throws(StoreError) -> EntityMapping {
    guard classes.isDynamic else { throw .openedWithClasses(entity: name) }
    return try mapping.known(name)
  }

  /// Begins a transaction that writes.
  /// - Throws: ``StoreError/storeMigratedElsewhere(file:)``.
  func beginWriting(_ connection: Connection) throws {
    reservedIDs.begin()
    feed.findOthersCommits(connection)
    try checkGeneration(connection)
  }

  /// Returns a recorder for the history of a transaction; nil in a store without a history. Called after
  /// the generation was checked.
  func recorder(_ connection: Connection) throws -> TransactionRecorder? {
    guard mapping.hasHistory else { return nil }
    if let numbers = numbers.withLock({ $0 }) { return TransactionRecorder(numbers) }
    let read = try HistoryNumbers(mapping, connection)
    numbers.withLock { $0 = read }
    return TransactionRecorder(read)
  }

  /// Checks that the store was not migrated since it was opened.
  /// - Throws: ``StoreError/storeMigratedElsewhere(file:)`` when the store's tables may have changed.
  func checkGeneration(_ connection: Connection) throws {
    let found = try MetaTable(connection: connection).value(.generation)?.int64
    guard found == generation else { throw StoreError.storeMigratedElsewhere(file: path) }
  }
}

// Safe to share: never changed after it was made.
/// The Swift class of each entity; none where all objects are dynamic.
struct EntityClasses: @unchecked Sendable {
  /// The classes by the entity's index; empty where there are none.
  private let types: [ManagedObject.Type]
  private let indexes: [ObjectIdentifier: Int]
  let isDynamic: Bool

  /// The classes of a store that was opened without classes.
  static let none = EntityClasses(types: [], isDynamic: true)

  /// Collects the classes of a mapping.
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

  /// The hooks that any of the classes overrides.
  var hooks: ClassHooks {
    types.reduce(into: []) { $0.formUnion(ClassDescription.of($1).hooks) }
  }

  func index(of type: ManagedObject.Type) -> Int? { indexes[ObjectIdentifier(type)] }

  /// Returns the class of an entity's objects.
  func type(of entity: EntityMapping) -> ManagedObject.Type {
    isDynamic ? DynamicObject.self : types[entity.index]
  }

  /// Makes a new identity map for an entity.
  /// - Parameter root: The map of the root entity; nil for an entity that is its own root.
  func map(of entity: EntityMapping, sharing root: IdentityMap?) -> IdentityMap {
    let (type, make) = (type(of: entity), maker(of: entity))
    let hooks = isDynamic ? [] : ClassDescription.of(type).hooks
    return root.map { IdentityMap(entity, of: type, hooks: hooks, sharing: $0, make: make) }
      ?? IdentityMap(entity, of: type, hooks: hooks, make: make)
  }

  /// Returns the function that makes an object of an entity.
  private func maker(of entity: EntityMapping) -> () -> ManagedObject {
    if isDynamic { return { DynamicObject.make(entity) } }
    return ClassDescription.of(types[entity.index]).maker
  }
}
