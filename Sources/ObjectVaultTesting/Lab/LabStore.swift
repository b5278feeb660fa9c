// A store of the lab at one version, whose objects are inserted and read by names.

internal import CipherSQLite
public import Foundation
public import ObjectVault

/// A store at one version of the steps, opened with the model of that version.
///
/// ```swift
/// let old = try await lab.store(at: 4)
/// let ada = try old.insert("User", ["name": "Ada", "town": nil])
/// let text = try old.insert("Status", [
///   "text": "Hello", "createdAt": Date.now, "user": ada,
/// ])
/// let new = try await old.migrate(to: 5)
/// let author = try new.object(text)[toOne: "user"]?.id
/// ```
///
/// Its synchronous calls block while they work. It may be used from any task. The file is removed when
/// the value is released.
public final class LabStore: Sendable {
  package static let fileName = "lab.store"

  /// The version: the number of steps that ran on the store.
  public let version: Int
  /// The store, opened with its own model: for what a lab store does not offer, such as fetches with
  /// conditions.
  public let store: Store
  let lab: MigrationLab
  let folder: TestFolder

  /// Opens the store in a folder.
  init(_ lab: MigrationLab, version: Int, folder: TestFolder) async throws {
    (self.lab, self.version, self.folder) = (lab, version, folder)
    store = try await Store.open(at: folder.file(Self.fileName), key: lab.key)
  }

  deinit { store.close() }

  private var names: VersionNames { VersionNames(migrations: lab.migrations, version: version) }
  /// The store's file.
  public var url: URL { store.url }
  /// The model of the version.
  public var model: Schema { store.schema }

  /// Returns everything that is committed.
  /// - Throws: `SQLError` when the file cannot be read.
  public func content() throws -> StoreContent { try StoreContent(at: url, key: lab.key) }

  /// Returns the number of objects of an entity.
  /// - Parameter entity: The name of the entity at this version.
  /// - Throws: ``CheckFailure`` for a name that no entity of the version has.
  public func count(of entity: String) throws -> Int {
    try names.told { try store.makeContext().fetch(entity: entity).count() }
  }

  // MARK: Objects

  /// Inserts an object and saves it.
  /// - Parameters:
  ///   - entity: The name of its entity at this version.
  ///   - values: Its values, by the names of its properties: for an attribute any
  ///     ``/ObjectVault/AttributeValue`` or nil, for a to-one the id of an object, for a to-many an array
  ///     of ids. A property that is omitted has its default, or is nil.
  /// - Returns: The id of the object.
  /// - Throws: ``CheckFailure`` for a name that the version does not have, with the names that it has;
  ///   `StoreError.propertyMisused`; `StoreError.objectGone` for an id without an object; the errors of a
  ///   save.
  @discardableResult
  public func insert(_ entity: String, _ values: [String: (any Sendable)?] = [:]) throws -> DynamicID {
    let context = store.makeContext()
    let object = try names.told {
      try context.insert(entity: entity) { object in
        for (name, value) in values { try Self.set(name, to: value, of: object, context) }
      }
    }
    try context.save()
    return object.id
  }

  private static func set(
    _ name: String, to value: (any Sendable)?, of object: DynamicObject, _ context: ObjectContext
  ) throws {
    func found(_ id: DynamicID) throws -> DynamicObject {
      guard let target = try context.existing(id) else {
        throw StoreError.objectGone(entity: id.entity, rowID: id.rowID)
      }
      return target
    }
    switch value {
    case nil:
      if object.entityDescription?.relationship(named: name) != nil {
        try object.set(name, toOne: nil)
      } else {
        try object.set(name, to: nil)
      }
    case let id as DynamicID: try object.set(name, toOne: found(id))
    case let ids as [DynamicID]: for id in ids { try object.add(found(id), to: name) }
    case let attribute as any AttributeValue: try object.set(name, to: attribute)
    case let other?:
      throw StoreError.propertyMisused(
        entity: object.entityName, property: name,
        reason: "was given a \(type(of: other)), which is neither an attribute value nor an id")
    }
  }

  /// Fills the store with generated objects, in addition to its own.
  ///
  /// A unique value of a generated object may already exist. If you insert objects of your own, fill the
  /// store first.
  /// - Parameter links: How many relationships have a target.
  /// - Returns: The ids of the generated objects.
  /// - Throws: The errors of ``MigrationLab/generated(at:links:)`` and of a save: `StoreError.validation`
  ///   for unique values that already exist.
  @discardableResult
  public func fill(links: GeneratedObjects.Links = .some) async throws -> [DynamicID] {
    try await lab.generated(at: .number(version), links: links).write(to: store)
  }

  /// Returns an object by its id. The id may come from another version of the store, in which the entity
  /// had another name.
  ///
  /// An id does not contain its version. If this version has an entity with the name in the id, that
  /// entity is used. If entities have exchanged names, or a name was given to another entity, state the
  /// present name: `DynamicID(entity: "Person", rowID: id.rowID)`.
  /// - Parameter id: The id of the object.
  /// - Throws: `StoreError.objectGone` when there is no such object; ``CheckFailure`` for an entity that
  ///   no version has.
  public func object(_ id: DynamicID) throws -> LabObject {
    let context = store.makeContext()
    let id = try current(id)
    guard let object = try names.told({ try context.existing(id) }) else {
      throw StoreError.objectGone(entity: id.entity, rowID: id.rowID)
    }
    return LabObject(object, in: context, names: names)
  }

  /// Returns all objects of an entity, sorted by their ids.
  /// - Parameter entity: The name of the entity at this version.
  /// - Throws: ``CheckFailure`` for a name that no entity of the version has.
  public func objects(_ entity: String) throws -> [LabObject] {
    let context = store.makeContext()
    return try names.told { try context.fetch(entity: entity).sorted(byPath: "id").all() }
      .map { LabObject($0, in: context, names: names) }
  }

  private func current(_ id: DynamicID) throws -> DynamicID {
    guard model.entity(named: id.entity) == nil else { return id }
    for former in (1..<version).reversed() {
      if let name = try NameHistory(lab.migrations, from: former, to: version).entities[id.entity] {
        return DynamicID(entity: name, rowID: id.rowID)
      }
    }
    // The id comes from a later version, before a rollback.
    for later in version..<lab.migrations.version {
      let names = try NameHistory(lab.migrations, from: version, to: later + 1).entities
      if let name = names.first(where: { $0.value == id.entity })?.key {
        return DynamicID(entity: name, rowID: id.rowID)
      }
    }
    return id
  }

  // MARK: Migrating

  /// Returns a copy of the store, migrated to another version as the app would do it, and verified: its
  /// model and tables are those of the version, every page authenticates, references have targets, and
  /// values have their types. This store does not change.
  ///
  /// An earlier version is reached by rolling back steps. Data that the earlier model has no property for
  /// is lost.
  /// - Parameter version: The version to migrate to.
  /// - Returns: The migrated copy.
  /// - Throws: ``CheckFailure`` with what is wrong; `StoreError` when a step refuses to run or to be
  ///   rolled back.
  public func migrate(to version: LabVersion = .latest) async throws -> LabStore {
    let number = try lab.number(of: version)
    let copy = try await copied()
    let file = copy.file(Self.fileName)
    if number >= self.version {
      try await Store.migrate(
        at: file, key: lab.key, migrations: lab.migrations.upTo(number), makesBackups: false)
    } else {
      let losses = try await Store.planDowngrade(
        at: file, key: lab.key, to: number, migrations: lab.migrations
      ).losses
      try await Store.downgrade(
        at: file, key: lab.key, to: number, migrations: lab.migrations, makesBackups: false,
        allowing: Set(losses))
    }
    try require(
      try await lab.findings(at: file, version: number), by: "migrate",
      at: "version \(self.version) to \(number)")
    return try await LabStore(lab, version: number, folder: copy)
  }

  func copiedFile() async throws -> FolderFile { try await copied().withFile(Self.fileName) }

  /// Returns a folder with a copy of the file.
  package func copied() async throws -> TestFolder {
    let copy = try TestFolder(isInMemory: true)
    try await store.backup(to: copy.file(Self.fileName))
    return copy
  }
}
