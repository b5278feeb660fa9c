// The error for a name that a store's version does not have: it lists the existing names, and the
// versions that have the name.

internal import ObjectVault

/// The names at the version of a store, for errors about a name that it does not have.
struct VersionNames: Sendable {
  let migrations: MigrationSet
  let version: Int

  /// Runs a lookup by name.
  /// - Throws: ``CheckFailure`` for a name that does not exist, with the existing names; the errors of
  ///   `body`.
  func told<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let error as StoreError {
      switch error {
      case .noProperty(let entity, let name, _):
        throw missing(
          "\(error)", verb: "The properties of \(entity) are", among: names(of: entity, version), name: name
        ) {
          version in
          names(of: entity, version).contains(name)
        }
      case .noEntity(let name, _):
        throw missing("\(error)", verb: "The entities are", among: entities(version), name: name) {
          entities($0).contains(name)
        }
      default: throw error
      }
    }
  }

  private func missing(
    _ finding: String, verb: String, among names: [String], name: String, isKnown: (Int) -> Bool
  ) -> CheckFailure {
    let known = (1...migrations.version).filter(isKnown).map(String.init).joined(separator: ", ")
    let there = names.isEmpty ? "" : " \(verb) \(names.joined(separator: ", "))."
    return CheckFailure(
      "LabStore", at: "version \(version)", findings: [finding],
      advice: known.isEmpty
        ? "No version has this name.\(there)"
        : "\"\(name)\" exists at version \(known).\(there)")
  }

  private func entities(_ version: Int) -> [String] {
    (try? migrations.model(at: version))?.entities.map(\.name).sorted() ?? []
  }

  private func names(of entity: String, _ version: Int) -> [String] {
    let found = (try? migrations.model(at: version))?.flattenedEntity(named: entity)
    return found.map { ($0.attributes.map(\.name) + $0.relationships.map(\.name)).sorted() } ?? []
  }
}
