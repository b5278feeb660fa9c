// What opening a key file may cost: whoever can write the file writes the costs, too.

/// A bound of what all the slots together that a secret is tried on may cost.
///
/// A file that was planted with great costs would else keep a program busy for minutes and take its memory. Files that
/// are made here with ``ScryptWork/calibrated()``, or within the bound of their secret's
/// ``KeyFile/Unlock/allowing(_:)``, open within it, however many slots they have.
public struct ScryptBudget: Sendable, Hashable {
  /// Seconds on a usual core, as ``ScryptWork/seconds`` counts them.
  public var seconds: Double
  /// Bytes of memory, which one derivation after the other takes.
  public var memoryBytes: Int

  /// A bound of the caller's own.
  public init(seconds: Double, memoryBytes: Int) {
    self.seconds = seconds
    self.memoryBytes = memoryBytes
  }

  /// 2 seconds and 256 MiB: what holds where nothing else is said. The memory is what the first key files asked for on a
  /// fast machine; those that are made now take half of it.
  public static let standard = ScryptBudget(seconds: 2, memoryBytes: 256 << 20)
  /// Whatever the file asks for, at most 1 GiB at a time: for a file that is known to be one's own.
  public static let unlimited = ScryptBudget(seconds: .infinity, memoryBytes: 1 << 30)

  /// Whether work fits into what is left after so many seconds were spent.
  func allows(_ work: ScryptWork, after spent: Double) -> Bool {
    work.memoryBytes <= memoryBytes && spent + work.seconds <= seconds
  }
}
