// From every version to the last, and the store of a new user against that of an old one.

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
      try requireKept(first.content(), store.content(), "checkEveryPath")
      let (stopped, direct) = (try store.content(), try await first.migrate().content())
      try require(
        stopped.rowDifferences(from: direct, called: "in one run", and: "with stops"), "checkEveryPath", place
      )
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
      try requireKept(old.content(), new.content(), "checkEveryPath")
    }
  }

  /// Compares what was in a store with what steps have made of it.
  func requireKept(
    _ before: StoreContent, _ after: StoreContent, _ check: String, showsValues: Bool = true
  ) throws {
    let names = try NameTrail(migrations, from: before.version, to: after.version)
    let comparison = ContentComparison(
      before, after, names: names, showsValues: showsValues, mayLose: mayLoseRows)
    let differences = comparison.differences
    // Other sentences speak of values.
    let hasLost = differences.contains { $0.contains(" gone") }
    try require(
      differences, check, "version \(before.version) to \(after.version)",
      advice: hasLost ? "What a step deletes on purpose is allowed by lab.mayLoseRows." : nil)
  }

  /// The store of a new user is that of an old one: tables, indexes, references, views and triggers are equal, and so are
  /// the rows that each has from the beginning.
  ///
  /// A step that inserts rows by `transform` is found by it: new stores do not get them. Rows that every store has belong
  /// into `seed`.
  /// - Throws: ``CheckFailure`` with each difference.
  public func checkCreatedEqualsMigrated() async throws {
    let place = "version \(migrations.version)"
    try await run("checkCreatedEqualsMigrated", place) {
      let created = try await store(at: .latest)
      let migrated = try await store(at: .number(versions.lowerBound)).migrate()
      let differences = try physicalSchema(at: created.url).differences(
        from: physicalSchema(at: migrated.url), called: "a created store", and: "a migrated one")
      let rows = try migrated.content().rowDifferences(
        from: created.content(), called: "in a created store", and: "in a migrated one")
      try require(
        differences + rows, "checkCreatedEqualsMigrated", place,
        advice: rows.isEmpty
          ? nil
          : "Rows that every store has are inserted by seed; what transform inserts is in old stores alone.")
    }
  }
}

extension StoreContent {
  /// The entities of which another content has more objects, or fewer.
  fileprivate func rowDifferences(from other: StoreContent, called name: String, and otherName: String)
    -> [String]
  {
    Set(objects.keys).union(other.objects.keys).sorted().compactMap { entity in
      let (now, then) = (count(of: entity), other.count(of: entity))
      return now == then ? nil : "\(entity): \(then) rows \(name), \(now) \(otherName)"
    }
  }
}
