// The result of a rehearsal: a run of steps on a copy of the store, which shows effects on rows and
// durations that a plan cannot determine.

/// The result of running steps on a copy of a store: see
/// ``Store/rehearse(at:key:migrations:profile:busyTimeout:progress:)``.
public struct MigrationRehearsal: Sendable {
  /// A step that ran to its end.
  public struct Step: Sendable, Hashable {
    /// The number of the step.
    public let number: Int
    /// The name of the step.
    public let name: String
    /// Whether the step was rolled back.
    public let isRollback: Bool
    /// The duration of the step, in seconds.
    public let seconds: Double
  }

  /// The steps that ran to their ends, in order; when one failed, those before it.
  public let steps: [Step]
  /// The duration of the run with its commit but without the copying, in seconds.
  public let seconds: Double
  /// The error that running the steps on the store would throw, usually a ``StoreError``; nil when they
  /// would succeed.
  public let failure: (any Error)?
}
