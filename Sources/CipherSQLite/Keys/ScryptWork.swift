// What one guess at a passphrase costs.

/// The costs of scrypt (RFC 7914) for a passphrase slot of a ``KeyFile``.
///
/// They are stored with the slot, so that a file opens on a machine that would have chosen others.
public struct ScryptWork: Sendable, Hashable {
  /// The binary logarithm of N, the number of blocks; from 10 to 22.
  public let logN: Int
  /// The size of a block, in units of 128 bytes; from 1 to 32.
  public let r: Int
  /// How often the whole is done; from 1 to 16.
  public let p: Int

  /// The memory that one derivation takes, in bytes: 128 · N · r.
  public var memoryBytes: Int { 128 * r << logN }

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

  private init(unchecked logN: Int) {
    self.logN = logN
    r = 8
    p = 1
  }

  /// The least that is taken when a machine is slow: 16 MiB.
  public static let least = ScryptWork(unchecked: 14)

  /// Costs that take about half a second on this machine: from 16 MiB of memory to 256 MiB. Measured anew at
  /// each call, which takes a tenth of a second.
  public static func calibrated() throws -> ScryptWork {
    let clock = ContinuousClock()
    let secret = try SecureBytes(copying: Array("calibration".utf8))
    let taken = try clock.measure {
      _ = try secret.withBytes { try Primitives.scrypt($0, salt: [0], work: least) }
    }
    // Time doubles with N; the first doubling that comes within a third of the aim is taken.
    var logN = least.logN
    var time = taken
    while logN < 18, time * 2 <= .milliseconds(670) {
      logN += 1
      time *= 2
    }
    return ScryptWork(unchecked: logN)
  }
}

extension ScryptWork: CustomStringConvertible {
  /// Such as `scrypt N=2^17 r=8 p=1 (128 MiB)`.
  public var description: String { "scrypt N=2^\(logN) r=\(r) p=\(p) (\(memoryBytes >> 20) MiB)" }
}
