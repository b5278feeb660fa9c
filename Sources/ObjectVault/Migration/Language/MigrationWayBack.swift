// What leads back from a step, or why nothing does.

/// What takes a step back.
public enum MigrationWayBack: Sendable, Hashable {
  /// These operations, on the model after the step.
  case operations([MigrationOperation])
  /// Nothing does, for this reason.
  case none(reason: String)

  /// What a line begins with that says that nothing does.
  static let refusal = "irreversible "

  /// The lines of a `[down]` section that say so.
  var text: String {
    switch self {
    case .operations(let operations): operations.map(\.description).joined(separator: "\n")
    case .none(let reason): Self.refusal + MigrationOperation.quoted(reason)
    }
  }
}

extension AppliedStep {
  /// Whether the store carries what takes the step back.
  package var carriesWayBack: Bool {
    guard let down else { return false }
    return !down.split(separator: "\n").contains { $0.hasPrefix(MigrationWayBack.refusal) }
  }
}
