// What a run of steps did, for those who asked for it.

public import Foundation

/// What running pending steps did.
public struct MigrationOutcome: Sendable, Hashable {
  /// The numbers of the steps that were taken back, the last first; empty unless that was asked for.
  public internal(set) var takenBack: [Int] = []
  /// The numbers of the steps that ran, in order; empty when there was nothing to do.
  public internal(set) var steps: [Int] = []
  /// The store's version before them, when this run had its lock: others may have changed it while it waited.
  public internal(set) var startVersion: Int = 0
  /// The store's version afterwards. Others may have changed it while this run waited for their lock.
  public internal(set) var version: Int = 0
  /// The encrypted copy that was made before them, when one of them asked for it.
  public internal(set) var backup: URL?
}

extension MigrationOutcome {
  /// Of a run that found a store at this version, and did nothing.
  package init(unchangedAt version: Int) { (startVersion, self.version) = (version, version) }

  /// The same, of a store that others have led on since.
  package func ending(at version: Int) -> MigrationOutcome {
    var outcome = self
    outcome.version = version
    return outcome
  }
}
