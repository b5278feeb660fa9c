// A run of steps on a copy of the store, for what a plan cannot know: what the steps make of the rows, and how long they take.

/// What running steps on a copy of a store came to: see ``Store/rehearse(at:key:migrations:profile:busyTimeout:progress:)``.
public struct MigrationRehearsal: Sendable {
  /// A step that ran to its end.
  public struct Step: Sendable, Hashable {
    /// Its number.
    public let number: Int
    /// Its name.
    public let name: String
    /// Whether it was taken back.
    public let leadsBack: Bool
    /// How long it took, in seconds.
    public let seconds: Double
  }

  /// The steps that ran to their ends, in order; where one failed, those before it.
  public let steps: [Step]
  /// How long the run took with its commit, and without the copying, in seconds.
  public let seconds: Double
  /// What running the steps on the store would throw, mostly a ``StoreError``; nil where they would run to their end.
  public let failure: (any Error)?
}
