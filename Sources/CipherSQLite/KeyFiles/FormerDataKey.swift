// The data keys that a key file had before its present one. Each former key is encrypted under the
// present key, so that files that are under a former key still open with the slots that exist now.

private import Foundation

/// A former data key as the key file stores it.
struct FormerDataKey: Equatable {
  /// The number of the data key, counted from 1.
  var number: UInt64
  /// When another data key replaced it, in seconds since 1970.
  var retired: UInt64
  var nonce: [UInt8] = []
  /// The key, encrypted with AES-256-GCM, and the tag.
  var sealed: [UInt8] = []
  /// Paths of databases that were last seen under this key, the latest first.
  var files: [String] = []

  static let maximumCount = 64
  static let maximumFiles = 8
  static let maximumPathBytes = 1024
  /// The encoded size in bytes, without the paths.
  static let fixedBytes = 78
  /// The largest encoded size in bytes.
  static let maximumBytes = fixedBytes + maximumFiles * (maximumPathBytes + 1)

  // MARK: Bytes

  /// The part that the GCM tag authenticates.
  var head: [UInt8] { number.bytes + retired.bytes }

  var encoded: [UInt8] {
    var paths: [UInt8] = []
    for file in files {
      paths += file.utf8
      paths.append(0)
    }
    var bytes = head
    bytes += nonce
    bytes += sealed
    bytes += UInt16(paths.count).bytes
    return bytes + paths
  }

  /// Decodes one former key from the start of `bytes`; nil where they are malformed.
  init?(_ bytes: ArraySlice<UInt8>) {
    guard bytes.count >= Self.fixedBytes else { return nil }
    func part(_ range: Range<Int>) -> [UInt8] {
      Array(bytes[bytes.startIndex + range.lowerBound..<bytes.startIndex + range.upperBound])
    }
    number = UInt64(bigEndian: part(0..<8))
    retired = UInt64(bigEndian: part(8..<16))
    nonce = part(16..<28)
    sealed = part(28..<76)
    let pathBytes = Int(UInt16(bigEndian: part(76..<78)))
    guard number > 0, bytes.count >= Self.fixedBytes + pathBytes else { return nil }
    for path in part(78..<78 + pathBytes).split(separator: 0, omittingEmptySubsequences: true) {
      guard let text = String(validating: path, as: UTF8.self) else { return nil }
      files.append(text)
    }
  }

  init(number: UInt64, retired: UInt64, files: [String] = []) {
    self.number = number
    self.retired = retired
    self.files = files
  }

  /// Returns the error for a former key that the present data key does not decrypt.
  func undecryptableError(in path: String) -> SQLError {
    .keyFileDamaged(file: path, reason: "former data key \(number) is not encrypted with the present one")
  }

  /// Adds a path, or moves it, to the front of the list. A path that is empty, too long, or contains a
  /// NUL is not recorded.
  mutating func note(_ path: String) {
    guard (1...Self.maximumPathBytes).contains(path.utf8.count), !path.utf8.contains(0) else { return }
    files = Array(([path] + files.filter { $0 != path }).prefix(Self.maximumFiles))
  }

  /// Removes a path from the list.
  mutating func forget(_ path: String) { files.removeAll { $0 == path } }
}

extension KeyFileFormat {
  /// The next number that no data key of the file has yet.
  private var nextNumber: UInt64 { formerKeys.reduce(number) { max($0, $1.number) } + 1 }

  /// Derives the key that former data keys are encrypted with.
  private func formerKeyWrappingKey(_ dataKey: SecureBytes) throws -> SecureBytes {
    try unsafe dataKey.withBytes {
      try unsafe Primitives.hkdf($0, salt: identity, info: Array("ObjectVault key file former key 1".utf8))
    }
  }

  private func associated(_ former: FormerDataKey) -> [UInt8] { Self.sealedHead + identity + former.head }

  private func sealed(_ key: SecureBytes, as former: FormerDataKey, under dataKey: SecureBytes) throws
    -> FormerDataKey
  {
    var former = former
    former.nonce = try Primitives.random(12)
    former.sealed = try Primitives.seal(
      key, key: formerKeyWrappingKey(dataKey), nonce: former.nonce, associated: associated(former))
    return former
  }

  /// Decrypts a former data key with the present one.
  /// - Returns: nil when it was not encrypted under this file's present key.
  func opened(_ former: FormerDataKey, with dataKey: SecureBytes) throws -> SecureBytes? {
    try Primitives.open(
      former.sealed, key: formerKeyWrappingKey(dataKey), nonce: former.nonce, associated: associated(former))
  }

  /// Makes `fresh` the present data key, and `old` a former one. The caller replaces the slots.
  /// - Throws: ``SQLError/keyFileDamaged(file:reason:)`` when a former key does not open with `old`: it
  ///   would be lost.
  mutating func retire(_ old: SecureBytes, for fresh: SecureBytes, path: String) throws {
    var resealed: [FormerDataKey] = []
    for former in formerKeys {
      guard let key = try opened(former, with: old) else { throw former.undecryptableError(in: path) }
      resealed.append(try sealed(key, as: former, under: fresh))
    }
    resealed.append(try sealed(old, as: FormerDataKey(number: number, retired: .now), under: fresh))
    number = nextNumber
    formerKeys = resealed
  }

  /// Ends a pending rotation, and keeps its key as a former one: a database may be encrypted with it.
  mutating func keepPending(_ pending: SecureBytes, dataKey: SecureBytes) throws {
    rotation = .none
    let isFormer = try formerKeys.contains { try opened($0, with: dataKey)?.isEqual(to: pending) ?? false }
    guard !isFormer, !pending.isEqual(to: dataKey) else { return }
    formerKeys.append(
      try sealed(pending, as: FormerDataKey(number: nextNumber, retired: .now), under: dataKey))
  }
}

extension UInt64 {
  /// The current time in seconds since 1970.
  fileprivate static var now: UInt64 { UInt64(Swift.max(0, Date().timeIntervalSince1970)) }
}
