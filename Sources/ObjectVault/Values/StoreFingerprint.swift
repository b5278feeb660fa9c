// A short identity of a store that every object id carries.

internal import Foundation
private import Synchronization

/// The store that an ``ObjectID`` belongs to, if known.
@usableFromInline struct StoreFingerprint: Sendable, Hashable {
  /// The bits of the fingerprint; 0 when the store is not known.
  @usableFromInline let word: UInt64

  /// The fingerprint of ids made from a plain number, and of a store without an identity.
  static let unknown = StoreFingerprint(word: 0)

  @inlinable init(word: UInt64) { self.word = word }

  /// Creates the fingerprint of a store.
  /// - Parameter id: The store's ``Store/id``. Two stores have the same fingerprint by chance once in
  ///   2^64 pairs.
  init(_ id: UUID?) {
    guard let bytes = id?.uuid else {
      word = 0
      return
    }
    let all = [
      bytes.0, bytes.1, bytes.2, bytes.3, bytes.4, bytes.5, bytes.6, bytes.7, bytes.8, bytes.9, bytes.10,
      bytes.11, bytes.12, bytes.13, bytes.14, bytes.15,
    ]
    let (high, low) = (all[..<8], all[8...])
    let sum = zip(high, low).reduce(into: UInt64(0)) { $0 = $0 << 8 | UInt64($1.0 ^ $1.1) }
    word = max(1, sum)
  }

  private static let contexts = Atomic<UInt64>(1)

  /// Returns a fingerprint for the temporary ids of a new context. No other context of the process has
  /// it, and a store has it only by chance.
  static func ofNewContext() -> StoreFingerprint {
    StoreFingerprint(word: ~contexts.wrappingAdd(1, ordering: .relaxed).oldValue)
  }

  var isKnown: Bool { word != 0 }

  /// The number of hexadecimal digits of a fingerprint.
  static let digits = 16

  /// The fingerprint as hexadecimal digits.
  var hexadecimal: String {
    let text = String(word, radix: 16)
    return String(repeating: "0", count: Self.digits - text.utf8.count) + text
  }

  // @inlinable for the reason given at ObjectContext.existing(_:).
  /// Returns whether an id with the other fingerprint may belong to this store: both are equal, or one is
  /// not known.
  @inlinable @inline(__always) func admits(_ other: StoreFingerprint) -> Bool {
    word == 0 || other.word == 0 || word == other.word
  }
}
