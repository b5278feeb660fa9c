// How a step is rolled back, or why it cannot be.

/// The rollback of a step.
public enum MigrationRollback: Sendable, Hashable {
  /// The step is undone by these operations, on the model after the step.
  case operations([MigrationOperation])
  /// The step cannot be undone, for this reason.
  case none(reason: String)

  /// The beginning of a `[down]` line that excludes a rollback.
  static let refusal = "irreversible "

  /// The lines of a `[down]` section with this meaning.
  var text: String {
    switch self {
    case .operations(let operations): operations.map(\.description).joined(separator: "\n")
    case .none(let reason): Self.refusal + MigrationOperation.quoted(reason)
    }
  }
}

extension AppliedStep {
  /// Whether the store has operations that undo the step.
  package var carriesRollback: Bool {
    guard let down else { return false }
    return !down.split(separator: "\n").contains { $0.hasPrefix(MigrationRollback.refusal) }
  }
}
