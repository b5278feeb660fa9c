// The key of stores that nobody opens again.

internal import CipherSQLite

extension Key {
  /// A key of random bytes, which takes no time to derive.
  static var random: Key { .raw(randomBytes()) }

  /// The bytes of one.
  static func randomBytes() -> [UInt8] {
    var numbers = SystemRandomNumberGenerator()
    return (0..<32).map { _ in UInt8.random(in: 0...255, using: &numbers) }
  }
}
