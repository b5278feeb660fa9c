// Checks the names that a test uses in the settings of a lab. Without the check, a mistyped name would
// have no effect, and no error.

internal import CipherSQLite
internal import ObjectVault

extension MigrationLab {
  /// Checks the names in ``values``, ``rules`` and ``mayLoseRows``.
  /// - Throws: ``CheckFailure`` when no version of the model has one of them.
  func requireKnownNames() throws {
    guard !values.isEmpty || !rules.isEmpty || !mayLoseRows.isEmpty else { return }
    let models = try migrations.models()
    let entities = Set(models.flatMap { $0.entities.map(\.name) })
    let losses = mayLoseRows.sorted().filter { !entities.contains($0) }.map { name in
      "lab.mayLoseRows: no version of the model has an entity \"\(name)\"\(AttributeNames.meant(by: name, among: entities))"
    }
    let attributes = AttributeNames(models)
    let faults = attributes.faults(values.keys, "lab.values") + attributes.faults(rules.keys, "lab.rules")
    try require(
      faults + losses, by: "MigrationLab", at: "the names in its settings",
      advice: faults.isEmpty ? nil : AttributeNames.advice)
  }
}
