// A store of the lab at one version: objects go in and come out by names.

internal import CipherSQLite
public import Foundation
public import ObjectVault

/// A store at one version of its steps, open by its own model.
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
/// Its calls block while they work; it may be used from any task. The file is removed when nobody holds the value any more.
public final class LabStore: Sendable {
  package static let fileName = "lab.store"

  /// The number of steps behind it.
  public let version: Int
  /// The store, open by its own model: for what is not offered here, such as fetches with conditions.
  public let store: Store
  let lab: MigrationLab
  let folder: TestFolder

  /// Opens the store of a folder.
  init(_ lab: MigrationLab, _ version: Int, _ folder: TestFolder) async throws {
    (self.lab, self.version, self.folder) = (lab, version, folder)
    store = try await Store.open(at: folder.file(Self.fileName), key: lab.key)
  }

  deinit { store.close() }

  private var names: VersionNames { VersionNames(migrations: lab.migrations, version: version) }
  /// The file.
  public var url: URL { store.url }
  /// The model of the version.
  public var model: Schema { store.schema }

  /// All that is committed.
  /// - Throws: `SQLError`, as reading the file does.
  public func content() throws -> StoreContent { try StoreContent(at: url, key: lab.key) }

  /// How many objects an entity has.
  /// - Throws: ``CheckFailure`` for a name that no entity of the version has.
  public func count(of entity: String) throws -> Int {
    try names.told { try store.makeContext().fetch(entity: entity).count() }
  }

  // MARK: Objects

  /// Makes an object and saves it.
  /// - Parameters:
  ///   - entity: Its entity.
  ///   - values: What it holds, by the names of its properties: an attribute any ``/ObjectVault/AttributeValue`` or nil, a
  ///     to-one the id of an object, a to-many an array of ids. What is left out has its default, or is nil.
  /// - Throws: ``CheckFailure`` for a name that the version does not have, with those that it has;
  ///   `StoreError.propertyMisused`; what a save throws.
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
        reason: "was given a \(type(of: other)), which is no value of an attribute and no id")
    }
  }

  /// Fills the store with made-up objects, beside those that it has.
  ///
  /// What is unique among them may be there already: into a store with objects of one's own they go first.
  /// - Parameter links: How many relationships lead somewhere.
  /// - Returns: Their ids.
  /// - Throws: As ``MigrationLab/generated(at:links:)``; what a save throws: `StoreError.validation` for what is there already.
  @discardableResult
  public func fill(links: GeneratedObjects.Links = .some) async throws -> [DynamicID] {
    try await lab.generated(at: .number(version), links: links).write(to: store)
  }

  /// An object by its id, which another version of the store may have given: its entity may be called otherwise now.
  ///
  /// An id does not say which version it is of: where this version has an entity of its name, it is taken for one of that. Of
  /// entities that exchange their names, or leave them to others, say how the object's is called now:
  /// `DynamicID(entity: "Person", rowID: id.rowID)`.
  /// - Throws: `StoreError.objectGone` when it is not there; ``CheckFailure`` for an entity that no version has.
  public func object(_ id: DynamicID) throws -> LabObject {
    let context = store.makeContext()
    let id = try current(id)
    guard let object = try names.told({ try context.existing(id) }) else {
      throw StoreError.objectGone(entity: id.entity, rowID: id.rowID)
    }
    return LabObject(object, context, names)
  }

  /// All objects of an entity, by their ids.
  /// - Throws: ``CheckFailure`` for a name that no entity of the version has.
  public func objects(_ entity: String) throws -> [LabObject] {
    let context = store.makeContext()
    return try names.told { try context.fetch(entity: entity).sorted(byPath: "id").all() }
      .map { LabObject($0, context, names) }
  }

  private func current(_ id: DynamicID) throws -> DynamicID {
    guard model.entity(named: id.entity) == nil else { return id }
    for former in (1..<version).reversed() {
      if let name = try NameTrail(lab.migrations, from: former, to: version).entities[id.entity] {
        return DynamicID(entity: name, rowID: id.rowID)
      }
    }
    // From a later version, on the way back.
    for later in version..<lab.migrations.version {
      let names = try NameTrail(lab.migrations, from: version, to: later + 1).entities
      if let name = names.first(where: { $0.value == id.entity })?.key {
        return DynamicID(entity: name, rowID: id.rowID)
      }
    }
    return id
  }

  // MARK: Migrating

  /// A copy of the store at another version, brought there as the app does it, and examined: its model and tables are those
  /// of the version, every page authenticates, references lead somewhere, values are of their types. This store stays.
  ///
  /// On the way to an earlier version steps are taken back, and what nobody but they have a place for is lost.
  /// - Throws: ``CheckFailure`` with what is wrong; `StoreError` when a step refuses to run, or to be taken back.
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
      try await lab.findings(at: file, version: number), "migrate", "version \(self.version) to \(number)")
    return try await LabStore(lab, number, copy)
  }

  func copiedFile() async throws -> FolderFile { try await copied().withFile(Self.fileName) }

  /// A folder with a copy of the file.
  package func copied() async throws -> TestFolder {
    let copy = try TestFolder(isInMemory: true)
    try await store.backup(to: copy.file(Self.fileName))
    return copy
  }
}
