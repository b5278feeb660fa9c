// How names map from one version of a set of steps to another.

internal import CipherSQLite

extension NameHistory {
  /// Follows the names through the steps between two versions.
  /// - Throws: ``StoreError/migrationFailed(step:name:operation:reason:)`` when an operation does not fit
  ///   the model.
  package init(_ set: MigrationSet, from version: Int, to later: Int) throws {
    var model = try set.model(at: version)
    var mapping = SegmentMapping(model)
    self.init(from: model)
    let trial = SQLTrial(set)
    for step in set.steps.prefix(later).dropFirst(version) {
      var blocks = try Self.writes(of: step, model, trial)[...]
      for operation in step.operations {
        do {
          try mapping.follow(operation, model)
          let written = operation.isData ? blocks.popFirst() : nil
          note(operation, mapping: mapping, in: model, writing: written ?? TouchedColumns())
          try operation.apply(to: &model)
        } catch { throw step.failed(operation, because: error.reason) }
      }
    }
    end(mapping)
  }

  /// Returns the columns that each data block of a step writes to, in the order of the blocks.
  private static func writes(of step: MigrationStep, _ model: Schema, _ trial: SQLTrial) throws
    -> [TouchedColumns]
  {
    guard step.operations.contains(where: \.isData) else { return [] }
    let compiled = try step.compiled(from: model, engine: .current)
    let touched = try trial.touched(by: compiled)
    return compiled.parts.indices.filter { compiled.parts[$0].isData }.map { touched[$0] ?? TouchedColumns() }
  }
}
