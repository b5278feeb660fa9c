// What one guess at a passphrase costs.

/// The costs of scrypt (RFC 7914) for a passphrase slot of a ``KeyFile``.
///
/// They are stored with the slot, so that a file opens on a machine that would have chosen others. What opening may
/// cost is bounded by a ``ScryptBudget``.
public struct ScryptWork: Sendable, Hashable {
  /// The binary logarithm of N, the number of blocks; from 10 to 22.
  public let logN: Int
  /// The size of a block, in units of 128 bytes; from 1 to 32.
  public let r: Int
  /// How often the whole is done; from 1 to 16.
  public let p: Int

  /// The memory that one derivation takes, in bytes: 128 · N · r.
  public var memoryBytes: Int { 128 * r << logN }

  /// What one derivation takes on a usual core, in seconds: a quarter for ``least``. Computed and not measured, so
  /// that a file opens everywhere or nowhere.
  public var seconds: Double { Double(p * r << logN) / Double(1 << 22) }

  /// Costs of the caller's own.
  /// - Returns: nil outside of the ranges above, or above 1 GiB of memory.
  public init?(logN: Int, r: Int = 8, p: Int = 1) {
    guard (10...22).contains(logN), (1...32).contains(r), (1...16).contains(p), 128 * r << logN <= 1 << 30
    else {
      return nil
    }
    self.logN = logN
    self.r = r
    self.p = p
  }

  private init(passes p: Int) {
    logN = 17
    r = 8
    self.p = p
  }

  /// The least that is taken when a machine is slow, or busy while it is measured: 128 MiB.
  public static let least = ScryptWork(passes: 1)

  /// Costs that take about half a second on this machine: 128 MiB of memory, done once or twice. Measured anew at
  /// each call, which takes some hundredths of a second.
  public static func calibrated() throws -> ScryptWork {
    let secret = try SecureBytes(copying: Array("calibration".utf8))
    let sample = ScryptWork(logN: 14) ?? least
    let taken = try ContinuousClock().measure {
      _ = try unsafe secret.withBytes { try unsafe Primitives.scrypt($0, salt: [0], work: sample) }
    }
    // Time doubles with N, and again with p. A busy machine measures too much; below the least it does not go.
    return taken * 16 <= .milliseconds(670) ? ScryptWork(passes: 2) : least
  }
}

extension ScryptWork: CustomStringConvertible {
  /// Such as `scrypt N=2^17 r=8 p=1 (128 MiB)`.
  public var description: String { "scrypt N=2^\(logN) r=\(r) p=\(p) (\(memoryBytes >> 20) MiB)" }
}
