// Which settings a file may have, and what a key becomes under each: derived once, however often a file is looked at.

/// The derived keys that are tried on a file, the likeliest first.
final class KeyCandidates {
  /// What PBKDF2 depends on.
  private struct Derivation: Hashable {
    let hash: CipherProfile.Hash
    let rounds: Int
    let salt: [UInt8]
  }

  private let key: Key
  private let known: CipherProfile?
  private var derived: [Derivation: UnlockedKey] = [:]

  /// - Parameters:
  ///   - key: A passphrase or a raw key.
  ///   - known: The settings that the file is said to have; tried first.
  init(_ key: Key, known: CipherProfile?) {
    self.key = key
    self.known = known
  }

  /// How PBKDF2 may have been used, in the order in which it is tried: as the engine in use does, as the other version
  /// does, as format 2 of SQLCipher did, and with the hashes that a file of version 4 may have instead of its own.
  static var derivations: [(hash: CipherProfile.Hash, rounds: Int)] {
    let (old, new) = ((CipherProfile.Hash.sha1, 64_000), (CipherProfile.Hash.sha512, 256_000))
    let own = Engine.current.cipherMajor >= 4 ? [new, old] : [old, new]
    return own + [(.sha1, 4_000), (.sha256, 256_000), (.sha1, 256_000)]
  }

  /// The key for a file with this salt, under each way to derive it. Each costs its PBKDF2, when it is asked for.
  /// - Parameter body: Gets the key, to be tried with every page size and HMAC; nil goes on to the next.
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
    // A file whose header is in clear is not looked for here: it is known by its header.
    profile.clearHeaderBytes = 0
    return try UnlockedKey(deriving: key, salt: derivation.salt, profile: profile)
  }
}

extension UnlockedKey {
  /// The same key for each setting that takes no part in its derivation.
  /// - Parameter largest: No page is larger than this, in bytes.
  func variants(largest: Int) -> [UnlockedKey] {
    // The own hash first: hardly any file has two.
    let hashes = [profile.derivationHash] + [.sha1, .sha256, .sha512].filter { $0 != profile.derivationHash }
    return hashes.flatMap { hash in
      CipherProfile.pageSizes.filter { $0 <= largest }.map { with(pageBytes: $0, hash: hash) }
    }
  }
}
