// The lab: an app's steps, and what stores of any version are filled with. The checks:
//   MigrationLab+Paths      from every version, and created against migrated     +Steps   step by step: cascades, up and down
//   MigrationLab+Kills      stopped at every statement                           +Files   stores that were shipped
//   MigrationLab+Processes  others that have the store open
// What they say: +Findings, +Blame (the step that did it), +Names (those that a test writes down).
// LabStore is a store at one version.

public import CipherSQLite
internal import Foundation
public import ObjectVault

/// Tests an app's migration steps: stores at any version, and checks of what the steps make of them.
///
/// ```swift
/// let lab = try MigrationLab(MicroblogMigrations.all, model: microblog)
/// let old = try await lab.store(at: 4)
/// let ada = try old.insert("User", ["name": "Ada", "town": "London"])
/// let new = try await old.migrate()
/// let city: String? = try new.object(ada)["city"]
/// ```
///
/// No code and no file of an old version is needed: the model at any version follows from the steps. Stores are encrypted,
/// as the app's are, under a random key; they lie in memory or in temporary folders, and go with the values that stand
/// for them. Whatever a check finds it throws as ``CheckFailure``, whose description says it, so that a test is one line
/// in Swift Testing as in XCTest. <doc:testing-migrations> leads through all of it.
///
/// A value, with nothing open; its functions may run side by side.
public struct MigrationLab: Sendable {
  /// The steps.
  public let migrations: MigrationSet
  /// The classes; nil for a lab of steps alone.
  public let model: Schema?
  /// The key of all stores of the lab.
  public let key: Key

  /// How many objects of each entity the checks make up. Default 12.
  public var objectsPerEntity = 12
  /// Another number makes up others. Default 1.
  public var seed: UInt64 = 1
  /// What made-up objects hold, by `Entity.attribute` as the version calls it that they are made at: for values that the app
  /// never leaves to chance, and steps rely on.
  public var values: [String: [SQLValue]] = [:]
  /// What made-up objects may hold, by names as in ``values``, such as `lab.rules["User.name"] = { $0 != "" }`. What the app's
  /// classes declare with ``/ObjectVault/Entity/check(_:_:)`` is known.
  public var rules: [String: GeneratedObjects.Rule] = [:]
  /// Entities of which steps delete objects on purpose, by the name before or after.
  public var mayLoseRows: Set<String> = []

  /// A lab of an app's steps and classes.
  /// - Parameters:
  ///   - migrations: The steps, as the app opens its stores with.
  ///   - model: The classes.
  /// - Throws: `StoreError.schemaMismatch` when the steps do not lead to the classes, with the lines
  ///   that are missing; for a step that no store could run ``CheckFailure`` or
  ///   `StoreError.migrationFailed`; what reading the steps throws.
  public init(_ migrations: Store.Migrations, model: Schema) throws {
    try self.init(migrations: migrations.loaded(for: model), model: model)
  }

  /// A lab of steps, without classes.
  /// - Throws: ``CheckFailure`` or `StoreError.migrationFailed` when there is no step, or one
  ///   that no store could run.
  public init(_ migrations: MigrationSet) throws { try self.init(migrations: migrations, model: nil) }

  /// The same lab for stores of another key.
  package init(_ lab: MigrationLab, key: Key) {
    (migrations, model, self.key) = (lab.migrations, lab.model, key)
    (objectsPerEntity, seed, values) = (lab.objectsPerEntity, lab.seed, lab.values)
    (rules, mayLoseRows) = (lab.rules, lab.mayLoseRows)
  }

  private init(migrations: MigrationSet, model: Schema?) throws {
    guard migrations.version > 0 else {
      throw CheckFailure("MigrationLab", "version 0", ["there are no steps"])
    }
    try require(try migrations.compileFaults(), "MigrationLab", "the steps")
    (self.migrations, self.model, key) = (migrations, model, .random)
  }
}

/// A version of an app's stores: the number of steps behind them.
public enum LabVersion: Sendable, Hashable, ExpressibleByIntegerLiteral {
  /// The version after the step of this number.
  case number(Int)
  /// The version after the last step.
  case latest

  /// The version after the step of this number.
  public init(integerLiteral value: Int) { self = .number(value) }
}

extension MigrationLab {
  /// An empty store at a version, as the app of that time made it: with what steps up to there seed, and nothing else.
  /// - Throws: ``CheckFailure`` for a version that no step leads to; what creating a store throws.
  public func store(at version: LabVersion) async throws -> LabStore {
    let number = try number(of: version)
    let folder = try TestFolder(isInMemory: true)
    try await Store.create(at: folder.file(LabStore.fileName), key: key, migrations: migrations.upTo(number))
    return try await LabStore(self, number, folder)
  }

  /// A store at a version, filled with made-up objects.
  /// - Parameters:
  ///   - version: The version.
  ///   - links: How many relationships lead somewhere.
  /// - Throws: As ``store(at:)``; what the store says of the objects.
  public func filledStore(at version: LabVersion, links: GeneratedObjects.Links = .some) async throws
    -> LabStore
  {
    let store = try await store(at: version)
    try await store.fill(links: links)
    return store
  }

  /// The objects that the checks fill a store of a version with.
  /// - Throws: As ``store(at:)``; ``CheckFailure`` when ``values``, ``rules`` or ``mayLoseRows`` name what no version has.
  public func generated(
    at version: LabVersion, links: GeneratedObjects.Links = .some
  ) throws -> GeneratedObjects {
    let number = try number(of: version)
    try requireKnownNames()
    let (values, rules) = try swiftSide(at: number)
    return try GeneratedObjects(
      checked: migrations.model(at: number), perEntity: objectsPerEntity, seed: seed, links: links,
      values: values.merging(self.values) { $1 }, rules: rules.merging(self.rules) { $1 })
  }

  /// The versions that stores can have: none below a step that others were folded into.
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
          "MigrationLab", "version \(number)",
          ["the steps lead to versions \(versions.lowerBound) to \(migrations.version)"])
      }
      return number
    }
  }

  /// What the app's classes take, by the names that an earlier version has for their attributes.
  private func swiftSide(at number: Int) throws -> ([String: [SQLValue]], [String: GeneratedObjects.Rule]) {
    guard let model else { return ([:], [:]) }
    let names = try NameTrail(migrations, from: number, to: migrations.version)
    var values: [String: [SQLValue]] = [:]
    var rules: [String: GeneratedObjects.Rule] = [:]
    for entity in try migrations.model(at: number).entities {
      guard let final = names.entities[entity.name] else { continue }
      for (name, finalName) in names.keptProperties(of: entity.name) {
        guard let attribute = entity.attribute(named: name) else { continue }
        let rule: GeneratedObjects.Rule = { model.keepsRules($0, attribute: finalName, in: final) }
        rules["\(entity.name).\(name)"] = rule
        let own = model.samples(of: finalName, in: final)?.filter(rule)
        // Where the rules are about few values, none of the others is likely to keep them.
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

  /// All checks that need nothing but the steps, one after another: ``checkEveryPath()``,
  /// ``checkCreatedEqualsMigrated()``, ``checkCascades()``, ``checkUpDownUp()``, ``checkKilledAnywhere(from:moments:)``
  /// and ``checkOtherProcess(from:)``.
  /// - Throws: ``CheckFailure``, of the first that finds something.
  public func checkAll() async throws {
    try await checkEveryPath()
    try await checkCreatedEqualsMigrated()
    try await checkCascades()
    try await checkUpDownUp()
    try await checkKilledAnywhere()
    try await checkOtherProcess()
  }
}
