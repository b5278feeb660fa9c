// Random keys for the stores of tests.

internal import CipherSQLite

extension Key {
  /// A key of random bytes. It is raw, so that no time is spent on its derivation.
  static var random: Key { .raw(randomBytes()) }

  /// Returns the bytes of a random key.
  static func randomBytes() -> [UInt8] {
    var numbers = SystemRandomNumberGenerator()
    return (0..<32).map { _ in UInt8.random(in: 0...255, using: &numbers) }
  }
}
