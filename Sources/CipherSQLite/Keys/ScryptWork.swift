// The cost of one guess at a passphrase.

/// The cost parameters of scrypt (RFC 7914) for a passphrase slot of a ``KeyFile``.
///
/// They are stored with the slot, so that the file also opens on a machine that would choose others. A
/// ``ScryptBudget`` limits the cost of opening a file.
public struct ScryptWork: Sendable, Hashable {
  /// The binary logarithm of N, the number of blocks; from 10 to 22.
  public let logN: Int
  /// The size of a block, in units of 128 bytes; from 1 to 32.
  public let r: Int
  /// The number of passes; from 1 to 16.
  public let p: Int

  /// The memory that one derivation takes, in bytes: 128 · N · r.
  public var memoryBytes: Int { 128 * r << logN }

  /// The time that one derivation takes on a typical core, in seconds: a quarter of a second for
  /// ``least``. Computed and not measured, so that a file opens on every machine or on none.
  public var seconds: Double { Double(p * r << logN) / Double(1 << 22) }

  /// Creates cost parameters.
  /// - Parameters:
  ///   - logN: From 10 to 22.
  ///   - r: From 1 to 32.
  ///   - p: From 1 to 16.
  /// - Returns: nil for values out of these ranges, or for more than 1 GiB of memory.
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

  /// The minimum of ``calibrated()``, for a machine that is slow, or busy during calibration: 128 MiB,
  /// one pass.
  public static let least = ScryptWork(passes: 1)

  /// Returns parameters that take about half a second on this machine: 128 MiB of memory, one or two
  /// passes. Each call measures again, which takes a few hundredths of a second.
  /// - Throws: ``SQLError/system(file:operation:code:)`` when there is not enough memory.
  public static func calibrated() throws -> ScryptWork {
    let secret = try SecureBytes(copying: Array("calibration".utf8))
    let sample = ScryptWork(logN: 14) ?? least
    let taken = try ContinuousClock().measure {
      _ = try unsafe secret.withBytes { try unsafe Primitives.scrypt($0, salt: [0], work: sample) }
    }
    // The time doubles with N, and with p. A busy machine measures too long a time; the result is never
    // below the minimum.
    return taken * 16 <= .milliseconds(670) ? ScryptWork(passes: 2) : least
  }
}

extension ScryptWork: CustomStringConvertible {
  /// Such as `scrypt N=2^17 r=8 p=1 (128 MiB)`.
  public var description: String { "scrypt N=2^\(logN) r=\(r) p=\(p) (\(memoryBytes >> 20) MiB)" }
}
