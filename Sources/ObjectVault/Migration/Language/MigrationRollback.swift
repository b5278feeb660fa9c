// The rollback of a step, or the reason why it has none.

/// The rollback of a step.
public enum MigrationRollback: Sendable, Hashable {
  /// These operations, on the model after the step, undo the step.
  case operations([MigrationOperation])
  /// The step cannot be undone, for a reason.
  case none(reason: String)

  /// The beginning of a `[down]` line which states that there is no rollback.
  static let refusal = "irreversible "

  /// The rollback as lines of a `[down]` section.
  var text: String {
    switch self {
    case .operations(let operations): operations.map(\.description).joined(separator: "\n")
    case .none(let reason): Self.refusal + MigrationOperation.quoted(reason)
    }
  }
}

extension AppliedStep {
  /// Whether the store has operations that roll the step back.
  package var carriesRollback: Bool {
    guard let down else { return false }
    return !down.split(separator: "\n").contains { $0.hasPrefix(MigrationRollback.refusal) }
  }
}
