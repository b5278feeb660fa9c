// What leads back from a step, or why nothing does.

/// What takes a step back.
public enum MigrationWayBack: Sendable, Hashable {
  /// These operations, on the model after the step.
  case operations([MigrationOperation])
  /// Nothing does, for this reason.
  case none(reason: String)

  /// The lines of a `[down]` section that say so.
  var text: String {
    switch self {
    case .operations(let operations): operations.map(\.description).joined(separator: "\n")
    case .none(let reason): "irreversible \(MigrationOperation.quoted(reason))"
    }
  }
}
