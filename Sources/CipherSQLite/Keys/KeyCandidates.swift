// The cipher settings that a file may have, and the keys that are derived under them: each key is derived
// once, however often a file is checked.

/// The derived keys that are tried on a file, the likeliest first.
final class KeyCandidates {
  /// The inputs of PBKDF2 other than the passphrase.
  private struct Derivation: Hashable {
    let hash: CipherProfile.Hash
    let rounds: Int
    let salt: [UInt8]
  }

  private let key: Key
  private let known: CipherProfile?
  private var derived: [Derivation: UnlockedKey] = [:]

  /// Makes the candidates for a key.
  /// - Parameters:
  ///   - key: A passphrase or a raw key.
  ///   - known: The settings that the caller expects of the file; tried first.
  init(_ key: Key, known: CipherProfile?) {
    self.key = key
    self.known = known
  }

  /// The hashes and rounds of PBKDF2, in the order in which they are tried: the defaults of the engine in
  /// use; of the other major version; of SQLCipher's format 2; then the other hashes that a file of
  /// version 4 may have.
  static var derivations: [(hash: CipherProfile.Hash, rounds: Int)] {
    let (old, new) = ((CipherProfile.Hash.sha1, 64_000), (CipherProfile.Hash.sha512, 256_000))
    let own = Engine.current.cipherMajor >= 4 ? [new, old] : [old, new]
    return own + [(.sha1, 4_000), (.sha256, 256_000), (.sha1, 256_000)]
  }

  /// Tries one derivation after another: passes the derived key for a file with this salt to `body`,
  /// until `body` returns a result. PBKDF2 runs once for each derivation, when the derivation is first
  /// needed.
  /// - Parameters:
  ///   - salt: The salt of the file.
  ///   - body: Tries the key with every page size and HMAC; nil continues with the next derivation.
  /// - Returns: The result of `body`; nil if it returned none for any derivation.
  func first<Result>(salt: [UInt8], _ body: (UnlockedKey) throws -> Result?) throws -> Result? {
    let all = (known.map { [($0.derivationHash, $0.rounds)] } ?? []) + Self.derivations
    var seen: Set<Derivation> = []
    for (hash, rounds) in all {
      let derivation = Derivation(hash: hash, rounds: rounds, salt: salt)
      guard seen.insert(derivation).inserted else { continue }
      let candidate = try derived[derivation] ?? deriving(derivation)
      derived[derivation] = candidate
      if let result = try body(candidate) { return result }
    }
    return nil
  }

  private func deriving(_ derivation: Derivation) throws -> UnlockedKey {
    var profile = known ?? CipherProfile(pageBytes: 4096, hash: derivation.hash, rounds: derivation.rounds)
    profile.derivationHash = derivation.hash
    profile.rounds = derivation.rounds
    // A file whose header is in clear is not searched for here: its header identifies it.
    profile.clearHeaderBytes = 0
    return try UnlockedKey(deriving: key, salt: derivation.salt, profile: profile)
  }
}

extension UnlockedKey {
  /// Returns this key for each combination of the settings that are not part of its derivation: the hash
  /// of the page HMAC, and the page size.
  /// - Parameter largest: The largest page size to try, in bytes.
  func variants(largest: Int) -> [UnlockedKey] {
    // The derivation's own hash first: hardly any file has two different ones.
    let hashes = [profile.derivationHash] + [.sha1, .sha256, .sha512].filter { $0 != profile.derivationHash }
    return hashes.flatMap { hash in
      CipherProfile.pageSizes.filter { $0 <= largest }.map { with(pageBytes: $0, hash: hash) }
    }
  }
}
