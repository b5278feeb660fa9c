// What is checked in every store after steps have migrated it.

internal import CipherSQLite
internal import Foundation
internal import ObjectVault

extension MigrationLab {
  /// Returns what is wrong with a store that should be at a version: its model, tables, pages, references
  /// and values.
  func findings(at url: URL, version: Int) async throws -> [String] {
    do {
      let store = try await Store.open(at: url, key: key)
      defer { store.close() }
      guard store.opening.version == version else {
        return ["the store is at version \(store.opening.version), not at \(version)"]
      }
      let expected = try migrations.model(at: version)
      guard store.schema == expected else { return ["the model in the store differs from that of the steps"] }
      let findings = try await store.verify() + tableFindings(at: url, version: version)
      guard findings.isEmpty, version == migrations.version, let model else { return findings }
      return try await classFindings(at: url, model)
    } catch StoreError.schemaDrift(_, let differences) { return differences }
  }

  /// Returns the tables, views and triggers that differ from those of a store that was created at the
  /// version.
  private func tableFindings(at url: URL, version: Int) async throws -> [String] {
    let folder = try TestFolder(isInMemory: true)
    let created = folder.file(LabStore.fileName)
    try await Store.create(at: created, key: key, migrations: migrations.upTo(version))
    return try physicalSchema(at: url).differences(
      from: physicalSchema(at: created), called: "the store",
      and: "a store created at version \(version)")
  }

  func physicalSchema(at url: URL) throws -> PhysicalSchema {
    let connection = try Connection.open(url.path, key: key)
    defer { connection.close() }
    return try PhysicalSchema(connection)
  }

  /// Returns what the app's own classes find wrong with the store.
  private func classFindings(at url: URL, _ model: Schema) async throws -> [String] {
    let store = try await Store.open(at: url, key: key, schema: model, migrations: .set(migrations))
    defer { store.close() }
    return try await store.verify()
  }

  static let generatedValuesAdvice =
    "The objects were generated. If objects of the app never have such values, restrict them: "
    + "lab.rules[\"User.name\"] = { $0 != \"\" }, or lab.values[\"User.name\"] = […]."

  /// Runs a part of a check, and adds the place to its errors.
  /// - Parameter refusal: What to do when a step rejects the data that it finds.
  func run<Result>(
    _ check: String, at place: String, refusal: String = generatedValuesAdvice,
    _ body: () async throws -> Result
  ) async throws -> Result {
    do {
      try requireKnownNames()
      return try await body()
    } catch let error as CheckFailure {
      // The place that this part reports is appended to the place of the whole check.
      let isSaid = error.place.isEmpty || place.hasSuffix(error.place)
      throw CheckFailure(
        check, at: isSaid ? place : "\(place), \(error.place)", findings: error.findings, advice: error.advice
      )
    } catch let error as StoreError {
      var advice: String?
      switch error {
      case .migrationFailed, .rowsRefused: advice = refusal
      default: break
      }
      throw CheckFailure(check, at: place, findings: ["\(error)"], advice: advice)
    } catch let error as SQLError {
      throw CheckFailure(check, at: place, findings: ["\(error)"])
    }
  }
}
