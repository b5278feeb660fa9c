// From every version to the last, and the store of a new user against that of an old one.

internal import CipherSQLite
internal import Foundation
internal import ObjectVault

extension MigrationLab {
  /// From each version: a store is filled with made-up objects and migrated to the last one, in one run as the app does it;
  /// and once from the first, with a stop at each version, as a user comes there who installs every release.
  ///
  /// Afterwards model and tables are those of a store that was created new, every page authenticates, all references lead
  /// somewhere, the app's classes read all values; no row and no link is gone, and attributes that no step computed
  /// anew hold what they held. An entity may lose rows that is in ``mayLoseRows``, or that a step drops.
  /// - Throws: ``CheckFailure``, with the version that it began at.
  public func checkEveryPath() async throws {
    for version in versions { try await checkPath(from: version) }
    try await checkStops()
  }

  private func checkStops() async throws {
    let place = "version \(versions.lowerBound) to \(migrations.version), with a stop at each"
    try await run("checkEveryPath", place) {
      let first = try await filledStore(at: .number(versions.lowerBound))
      var store = first
      for version in versions { store = try await store.migrate(to: .number(version)) }
      try await requireKept(first.content(), store.content(), "checkEveryPath") {
        try await first.copiedFile()
      }
      let (stopped, direct) = (try store.content(), try await first.migrate().content())
      try require(
        stopped.rowDifferences(from: direct, called: "in one run", and: "with stops"), "checkEveryPath",
        place,
        advice: Self.sameAgain)
    }
  }

  /// The path of ``checkEveryPath()`` from one version.
  /// - Throws: ``CheckFailure``.
  public func checkPath(from version: LabVersion) async throws {
    try await checkPath(from: number(of: version))
  }

  private func checkPath(from version: Int) async throws {
    try await run("checkEveryPath", "version \(version) to \(migrations.version)") {
      let old = try await filledStore(at: .number(version))
      let new = try await old.migrate()
      try await requireKept(old.content(), new.content(), "checkEveryPath") { try await old.copiedFile() }
    }
  }

  /// The store of a new user is that of an old one: tables, indexes, references, views and triggers are equal, and so are
  /// the rows that each has from the beginning.
  ///
  /// Both have run the same steps, the one in one run and the other beginning at the first version. What is found by it makes
  /// other rows each time, as of `random()`, or a function of the app that remembers.
  /// - Throws: ``CheckFailure`` with each difference, and the step behind which it begins.
  public func checkCreatedEqualsMigrated() async throws { try await checkCreatedEqualsMigrated { _ in } }

  /// The same of migrated stores to which something was done: the check is checked by it.
  package func checkCreatedEqualsMigrated(after change: (LabStore) throws -> Void) async throws {
    let place = "version \(migrations.version)"
    try await run("checkCreatedEqualsMigrated", place) {
      let first = try await store(at: .number(versions.lowerBound))
      let (tables, rows) = try await differences(of: .latest, from: first, change)
      guard !tables.isEmpty || !rows.isEmpty else { return }
      let number = try await firstVersion(apartFrom: first, change)
      throw CheckFailure(
        "checkCreatedEqualsMigrated", place, tables + rows,
        advice: ([number.flatMap(step).map { "It begins behind \(called($0)), \($0.fileName)." }]
          + [rows.isEmpty ? nil : Self.sameAgain]).compactMap { $0 }.joined(separator: " "))
    }
  }

  private static let sameAgain =
    "The same steps ran on both: what they call has to do the same each time, unlike random() and functions that remember."

  /// What a store that is created at a version has and one that was migrated to it has not, and the reverse.
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

  /// The first version at which both differ; nil where they do so at the last one alone sometimes.
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
  /// The entities of which another content has more objects, or fewer, with those that one of both has alone.
  fileprivate func rowDifferences(from other: StoreContent, called name: String, and otherName: String)
    -> [String]
  {
    Set(objects.keys).union(other.objects.keys).sorted().compactMap { entity in
      let (now, then) = (count(of: entity), other.count(of: entity))
      guard now != then else { return nil }
      let ids = Set((objects[entity] ?? [:]).keys).symmetricDifference((other.objects[entity] ?? [:]).keys)
      let alone = ids.isEmpty ? "" : " (\(Self.listed(ids)) in one of them alone)"
      return "\(entity): \(counted(then, "row")) \(name), \(now) \(otherName)\(alone)"
    }
  }
}
