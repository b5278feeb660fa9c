// The names of two versions of a set of steps.

extension NameTrail {
  /// - Throws: ``StoreError/migrationFailed(step:name:operation:reason:)`` when an operation does not fit the model.
  package init(_ set: MigrationSet, from version: Int, to later: Int) throws {
    var model = try set.model(at: version)
    var mapping = SegmentMapping(model)
    self.init(from: model)
    for step in set.steps.prefix(later).dropFirst(version) {
      for operation in step.operations {
        do {
          try mapping.follow(operation, model)
          note(operation, mapping, model)
          try operation.apply(to: &model)
        } catch { throw step.failed(operation, error.reason) }
      }
    }
    end(mapping)
  }
}
