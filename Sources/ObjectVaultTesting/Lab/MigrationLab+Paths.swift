// Checks migrations from every version to the last, and compares created stores with migrated ones.

internal import CipherSQLite
internal import Foundation
internal import ObjectVault

extension MigrationLab {
  /// Migrates stores with generated objects to the last version, and checks them. From each version there
  /// is one run, as the app does it. From the first version there is also one with a stop at each
  /// version, as for a user who installs every release.
  ///
  /// Afterwards, model and tables are those of a new store, every page authenticates, all references have
  /// targets, and the app's classes can read all values. No row and no link is missing, and attributes
  /// that no step computed anew have their former values. An entity may lose rows if it is in
  /// ``mayLoseRows``, or if a step drops it.
  /// - Throws: ``CheckFailure``, with the version that the migration began at.
  public func checkEveryPath() async throws {
    for version in versions { try await checkPath(from: version) }
    try await checkStops()
  }

  private func checkStops() async throws {
    let place = "version \(versions.lowerBound) to \(migrations.version), with a stop at each"
    try await run("checkEveryPath", at: place) {
      let first = try await filledStore(at: .number(versions.lowerBound))
      var store = first
      for version in versions { store = try await store.migrate(to: .number(version)) }
      try await requireKept(before: first.content(), after: store.content(), by: "checkEveryPath") {
        try await first.copiedFile()
      }
      let (stopped, direct) = (try store.content(), try await first.migrate().content())
      try require(
        stopped.rowDifferences(from: direct, called: "in one run", and: "with stops"), by: "checkEveryPath",
        at: place,
        advice: Self.determinismAdvice)
    }
  }

  /// Checks the migration of ``checkEveryPath()`` from one version.
  /// - Parameter version: The version that the migration begins at.
  /// - Throws: ``CheckFailure``.
  public func checkPath(from version: LabVersion) async throws {
    try await checkPath(from: number(of: version))
  }

  private func checkPath(from version: Int) async throws {
    try await run("checkEveryPath", at: "version \(version) to \(migrations.version)") {
      let old = try await filledStore(at: .number(version))
      let new = try await old.migrate()
      try await requireKept(before: old.content(), after: new.content(), by: "checkEveryPath") {
        try await old.copiedFile()
      }
    }
  }

  /// Checks that a new store equals a migrated one: tables, indexes, references, views and triggers are
  /// equal, and so is the number of rows that the steps make.
  ///
  /// Both have run the same steps: the new store in one run, the migrated one first up to the first
  /// version, and then the others. The check finds steps that make different rows each time, for example
  /// with `random()`, or with a function of the app that keeps a state.
  /// - Throws: ``CheckFailure`` with each difference, and the step after which it begins.
  public func checkCreatedEqualsMigrated() async throws { try await checkCreatedEqualsMigrated { _ in } }

  /// Checks migrated stores after a change to them; for tests of the check itself.
  package func checkCreatedEqualsMigrated(after change: (LabStore) throws -> Void) async throws {
    let place = "version \(migrations.version)"
    try await run("checkCreatedEqualsMigrated", at: place) {
      let first = try await store(at: .number(versions.lowerBound))
      let (tables, rows) = try await differences(of: .latest, from: first, change)
      guard !tables.isEmpty || !rows.isEmpty else { return }
      let number = try await firstVersion(apartFrom: first, change)
      throw CheckFailure(
        "checkCreatedEqualsMigrated", at: place, findings: tables + rows,
        advice: ([number.flatMap(step).map { "The difference begins after \(called($0)), \($0.fileName)." }]
          + [rows.isEmpty ? nil : Self.determinismAdvice]).compactMap { $0 }.joined(separator: " "))
    }
  }

  private static let determinismAdvice =
    "The same steps ran on both: everything that they call must return the same each time, unlike random() "
    + "and functions with a state."

  /// Returns what differs between a store that is created at a version and one that is migrated to it.
  private func differences(
    of version: LabVersion, from first: LabStore, _ change: (LabStore) throws -> Void
  ) async throws -> (tables: [String], rows: [String]) {
    let (created, migrated) = (try await store(at: version), try await first.migrate(to: version))
    try change(migrated)
    let tables = try physicalSchema(at: created.url).differences(
      from: physicalSchema(at: migrated.url), called: "a created store", and: "a migrated one")
    let rows = try migrated.content().rowDifferences(
      from: created.content(), called: "in a created store", and: "in a migrated one")
    return (tables, rows)
  }

  /// Returns the first version at which a created and a migrated store differ; nil when the difference
  /// does not occur again.
  private func firstVersion(apartFrom first: LabStore, _ change: (LabStore) throws -> Void) async throws
    -> Int?
  {
    for version in versions.dropFirst() {
      let (tables, rows) = try await differences(of: .number(version), from: first, change)
      if !tables.isEmpty || !rows.isEmpty { return version }
    }
    return nil
  }
}

extension StoreContent {
  /// Returns a sentence for each entity whose number of objects differs, with the ids that only one of the
  /// contents has.
  fileprivate func rowDifferences(from other: StoreContent, called name: String, and otherName: String)
    -> [String]
  {
    Set(objects.keys).union(other.objects.keys).sorted().compactMap { entity in
      let (now, then) = (count(of: entity), other.count(of: entity))
      guard now != then else { return nil }
      let ids = Set((objects[entity] ?? [:]).keys).symmetricDifference((other.objects[entity] ?? [:]).keys)
      let alone = ids.isEmpty ? "" : " (\(Self.listed(ids)) only in one of them)"
      return "\(entity): \(counted(then, "row")) \(name), \(now) \(otherName)\(alone)"
    }
  }
}
