// What a store says that is asked for a name which its version does not have: those that it has, and where the name is known.

internal import ObjectVault

/// The names at the version of a store, for who asks it for one that it does not have.
struct VersionNames: Sendable {
  let migrations: MigrationSet
  let version: Int

  /// Runs what looks something up by its name.
  /// - Throws: ``CheckFailure`` for a name that is not there, with those that are; what `body` throws.
  func told<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let error as StoreError {
      switch error {
      case .noProperty(let entity, let name, _):
        throw missing("\(error)", "\(entity) has", at: names(of: entity, version), name) { version in
          names(of: entity, version).contains(name)
        }
      case .noEntity(let name, _):
        throw missing("\(error)", "There are", at: entities(version), name) { entities($0).contains(name) }
      default: throw error
      }
    }
  }

  private func missing(
    _ finding: String, _ verb: String, at names: [String], _ name: String, isKnown: (Int) -> Bool
  ) -> CheckFailure {
    let known = (1...migrations.version).filter(isKnown).map(String.init).joined(separator: ", ")
    let there = names.isEmpty ? "" : " \(verb) \(names.joined(separator: ", "))."
    return CheckFailure(
      "LabStore", "version \(version)", [finding],
      advice: known.isEmpty
        ? "No version has this name.\(there)"
        : "\"\(name)\" is there at version \(known).\(there)")
  }

  private func entities(_ version: Int) -> [String] {
    (try? migrations.model(at: version))?.entities.map(\.name).sorted() ?? []
  }

  private func names(of entity: String, _ version: Int) -> [String] {
    let found = (try? migrations.model(at: version))?.flattenedEntity(named: entity)
    return found.map { ($0.attributes.map(\.name) + $0.relationships.map(\.name)).sorted() } ?? []
  }
}
