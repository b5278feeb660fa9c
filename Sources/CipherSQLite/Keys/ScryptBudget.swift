// A bound on the cost of opening a key file: a user who can write the file also controls the costs in
// it.

/// An upper bound on the total cost of the slots that a secret is tried on.
///
/// Without a bound, a planted file with high costs would keep a program busy for minutes and take its
/// memory. Files that this library creates open within the budget of their secret
/// (``KeyFile/Unlock/allowing(_:)``), which is ``standard`` by default, however many slots they have.
public struct ScryptBudget: Sendable, Hashable {
  /// Seconds on a typical core, as ``ScryptWork/seconds`` computes them.
  public var seconds: Double
  /// Bytes of memory. Derivations run one after another, so this is a bound on each.
  public var memoryBytes: Int

  /// Creates a budget.
  /// - Parameters:
  ///   - seconds: Seconds on a typical core, for all derivations together.
  ///   - memoryBytes: Bytes of memory for each derivation.
  public init(seconds: Double, memoryBytes: Int) {
    self.seconds = seconds
    self.memoryBytes = memoryBytes
  }

  /// The default: 2 seconds and 256 MiB. The first key files needed this memory on a fast machine; new
  /// ones need half of it.
  public static let standard = ScryptBudget(seconds: 2, memoryBytes: 256 << 20)
  /// No bound on time, and 1 GiB of memory at a time: only for a file that is known to be trustworthy.
  public static let unlimited = ScryptBudget(seconds: .infinity, memoryBytes: 1 << 30)

  /// Whether work fits into the rest of the budget after `spent` seconds were used.
  func allows(_ work: ScryptWork, after spent: Double) -> Bool {
    work.memoryBytes <= memoryBytes && spent + work.seconds <= seconds
  }
}
