// Names that tests write down, held against those that the model has at any version: a mistyped one would do nothing, and
// nobody would be told.

internal import CipherSQLite
internal import ObjectVault

extension MigrationLab {
  /// - Throws: ``CheckFailure`` when ``values``, ``rules`` or ``mayLoseRows`` name what no version of the model has.
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
      faults + losses, "MigrationLab", "the names in its settings",
      advice: faults.isEmpty ? nil : AttributeNames.advice)
  }
}
