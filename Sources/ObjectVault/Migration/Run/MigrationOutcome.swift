// The result of a run of steps, for its caller.

public import Foundation

/// What running pending steps did.
public struct MigrationOutcome: Sendable, Hashable {
  /// The numbers of the steps that were rolled back, the last first; empty unless that was requested.
  public internal(set) var takenBack: [Int] = []
  /// The numbers of the steps that ran, in order; empty when there was nothing to do.
  public internal(set) var steps: [Int] = []
  /// The store's version before the steps. If steps ran, it was read under this run's lock, because other
  /// processes may have changed it while the run waited.
  public internal(set) var startVersion: Int = 0
  /// The store's version afterwards. Other processes may have changed it while this run waited for
  /// their lock.
  public internal(set) var version: Int = 0
  /// The encrypted copy that was made before the steps; nil if none of them requested one, or the caller
  /// disabled copies.
  public internal(set) var backup: URL?
}

extension MigrationOutcome {
  /// The outcome of a run that found a store at this version and did nothing.
  package init(unchangedAt version: Int) { (startVersion, self.version) = (version, version) }

  /// Returns the outcome with another final version, for a store that other processes have migrated since.
  package func ending(at version: Int) -> MigrationOutcome {
    var outcome = self
    outcome.version = version
    return outcome
  }
}
