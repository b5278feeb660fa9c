// The lab: an app's steps, and how stores of any version are filled. LabStore is a store at one version.
//
// The checks are in MigrationLab+Paths (from every version; created and migrated stores compared), +Steps
// (each step: cascades, rollback), +Kills (stopped at statements and writes), +Files (stores that were
// shipped) and +Processes (other processes that have the store open). +Findings, +Blame (the responsible
// step) and +Names (names in a test's settings) serve all of them.

public import CipherSQLite
internal import Foundation
public import ObjectVault

/// Tests an app's migration steps: makes stores at any version, and checks what the steps do to them.
///
/// ```swift
/// let lab = try MigrationLab(MicroblogMigrations.all, model: microblog)
/// let old = try await lab.store(at: 4)
/// let ada = try old.insert("User", ["name": "Ada", "town": "London"])
/// let new = try await old.migrate()
/// let city: String? = try new.object(ada)["city"]
/// ```
///
/// No code and no file of an old version is needed, because the model of any version follows from the
/// steps. Stores are encrypted, as the app's are, under a random key. They are in memory or in temporary
/// folders, and are removed with the values that represent them. A check throws what it finds as a
/// ``CheckFailure``, whose description explains it, so a test is one line in Swift Testing as in XCTest.
/// <doc:testing-migrations> describes all of it.
///
/// This is a value that opens nothing. Its functions may run concurrently.
public struct MigrationLab: Sendable {
  /// The app's steps.
  public let migrations: MigrationSet
  /// The app's classes; nil for a lab without classes.
  public let model: Schema?
  /// The key of all stores of the lab.
  public let key: Key

  /// The number of objects of each entity that the checks generate. Default 12.
  public var objectsPerEntity = 12
  /// The seed of the generated objects. Another seed gives other objects. Default 1.
  public var seed: UInt64 = 1
  /// The values of generated objects, by `Entity.attribute`, with the names of the version for which they
  /// are generated. Use it for values that the app never leaves to chance and that steps rely on.
  public var values: [String: [SQLValue]] = [:]
  /// The values that generated objects may have, by names as in ``values``, such as
  /// `lab.rules["User.name"] = { $0 != "" }`. Rules that the app's classes declare with
  /// ``/ObjectVault/Entity/check(_:_:)`` apply as well.
  public var rules: [String: GeneratedObjects.Rule] = [:]
  /// The entities whose objects steps delete on purpose, by their names before or after the steps.
  public var mayLoseRows: Set<String> = []

  /// Creates a lab of an app's steps and classes.
  /// - Parameters:
  ///   - migrations: The steps, as the app passes them when it opens its stores.
  ///   - model: The classes.
  /// - Throws: `StoreError.schemaMismatch` when the steps do not make the model of the classes, with the
  ///   missing lines; ``CheckFailure`` or `StoreError.migrationFailed` for a step that no store could
  ///   run; the errors of reading the steps.
  public init(_ migrations: Store.Migrations, model: Schema) throws {
    try self.init(migrations: migrations.loaded(for: model), model: model)
  }

  /// Creates a lab of steps, without classes.
  /// - Parameter migrations: The steps.
  /// - Throws: ``CheckFailure`` or `StoreError.migrationFailed` when there is no step, or one that no
  ///   store could run.
  public init(_ migrations: MigrationSet) throws { try self.init(migrations: migrations, model: nil) }

  /// Creates a copy of a lab for stores with another key.
  package init(_ lab: MigrationLab, key: Key) {
    (migrations, model, self.key) = (lab.migrations, lab.model, key)
    (objectsPerEntity, seed, values) = (lab.objectsPerEntity, lab.seed, lab.values)
    (rules, mayLoseRows) = (lab.rules, lab.mayLoseRows)
  }

  private init(migrations: MigrationSet, model: Schema?) throws {
    guard migrations.version > 0 else {
      throw CheckFailure("MigrationLab", at: "version 0", findings: ["there are no steps"])
    }
    try require(try migrations.compileFaults(), by: "MigrationLab", at: "the steps")
    (self.migrations, self.model, key) = (migrations, model, .random)
  }
}

/// A version of an app's stores: the number of steps that ran on them.
public enum LabVersion: Sendable, Hashable, ExpressibleByIntegerLiteral {
  /// The version after the step with this number.
  case number(Int)
  /// The version after the last step.
  case latest

  /// Creates the version after the step with this number.
  /// - Parameter value: The number of the step.
  public init(integerLiteral value: Int) { self = .number(value) }
}

extension MigrationLab {
  /// Creates an empty store at a version, as the app of that version created it: with the rows that the
  /// steps up to this version seed, and no others.
  /// - Parameter version: The version of the store.
  /// - Returns: The store.
  /// - Throws: ``CheckFailure`` for a version that the steps do not have; the errors of creating a store.
  public func store(at version: LabVersion) async throws -> LabStore {
    let number = try number(of: version)
    let folder = try TestFolder(isInMemory: true)
    try await Store.create(at: folder.file(LabStore.fileName), key: key, migrations: migrations.upTo(number))
    return try await LabStore(self, version: number, folder: folder)
  }

  /// Creates a store at a version, filled with generated objects.
  /// - Parameters:
  ///   - version: The version of the store.
  ///   - links: How many relationships have a target.
  /// - Returns: The store.
  /// - Throws: The errors of ``store(at:)`` and of ``generated(at:links:)``; what the store reports about
  ///   the objects.
  public func filledStore(at version: LabVersion, links: GeneratedObjects.Links = .some) async throws
    -> LabStore
  {
    let store = try await store(at: version)
    try await store.fill(links: links)
    return store
  }

  /// Generates the objects with which the checks fill a store of a version.
  /// - Parameters:
  ///   - version: The version of the store.
  ///   - links: How many relationships have a target.
  /// - Returns: The objects.
  /// - Throws: ``CheckFailure`` for a version that the steps do not have, when no version has a name in
  ///   ``values``, ``rules`` or ``mayLoseRows``, and when no value of a required attribute keeps its
  ///   rules.
  public func generated(
    at version: LabVersion, links: GeneratedObjects.Links = .some
  ) throws -> GeneratedObjects {
    let number = try number(of: version)
    try requireKnownNames()
    let (values, rules) = try classValuesAndRules(at: number)
    return try GeneratedObjects(
      checked: migrations.model(at: number), perEntity: objectsPerEntity, seed: seed, links: links,
      values: values.merging(self.values) { $1 }, rules: rules.merging(self.rules) { $1 })
  }

  /// The versions that stores can have: none below the step that earlier steps were folded into.
  var versions: ClosedRange<Int> {
    let first = max(1, migrations.foldedVersion)
    return first...max(first, migrations.version)
  }

  func number(of version: LabVersion) throws(CheckFailure) -> Int {
    switch version {
    case .latest: return migrations.version
    case .number(let number):
      guard versions.contains(number) else {
        throw CheckFailure(
          "MigrationLab", at: "version \(number)",
          findings: ["the steps have the versions \(versions.lowerBound) to \(migrations.version)"])
      }
      return number
    }
  }

  /// Returns the values and rules of the app's classes, by the names that their attributes have at an
  /// earlier version.
  private func classValuesAndRules(at number: Int) throws -> (
    [String: [SQLValue]], [String: GeneratedObjects.Rule]
  ) {
    guard let model else { return ([:], [:]) }
    let names = try NameHistory(migrations, from: number, to: migrations.version)
    var values: [String: [SQLValue]] = [:]
    var rules: [String: GeneratedObjects.Rule] = [:]
    for entity in try migrations.model(at: number).entities {
      guard let final = names.entities[entity.name] else { continue }
      for (name, finalName) in names.keptProperties(of: entity.name) {
        guard let attribute = entity.attribute(named: name) else { continue }
        let rule: GeneratedObjects.Rule = { model.keepsRules($0, attribute: finalName, in: final) }
        rules["\(entity.name).\(name)"] = rule
        let own = model.samples(of: finalName, in: final)?.filter(rule)
        // If only few values satisfy the rules, probably no edge case does.
        let few = model.ruleSamples(of: attribute, in: final).filter(rule)
        let edges = attribute.type.edgeValues.filter(rule)
        if let own, !own.isEmpty {
          values["\(entity.name).\(name)"] = own
        } else if edges.isEmpty, !few.isEmpty {
          values["\(entity.name).\(name)"] = few
        }
      }
    }
    return (values, rules)
  }

  /// Runs all checks that need only the steps, one after another: ``checkEveryPath()``,
  /// ``checkCreatedEqualsMigrated()``, ``checkCascades()``, ``checkUpDownUp()``,
  /// ``checkKilledAnywhere(from:moments:)`` and ``checkOtherProcess(from:)``.
  /// - Throws: ``CheckFailure``, from the first check that finds something.
  public func checkAll() async throws {
    try await checkEveryPath()
    try await checkCreatedEqualsMigrated()
    try await checkCascades()
    try await checkUpDownUp()
    try await checkKilledAnywhere()
    try await checkOtherProcess()
  }
}
