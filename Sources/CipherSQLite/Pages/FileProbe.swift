// Reads a file to determine its state under a key (`FileState`).

private import Foundation

/// A file as it is at one moment, with a shared lock, so that the file is not replaced meanwhile.
final class FileProbe {
  private let path: DatabasePath
  private let file: RawFile
  /// The first 512 bytes; nil when the file is shorter.
  private let header: [UInt8]?
  /// The first page as the journal will restore it; nil when there is no journal that contains it.
  private let former: [UInt8]?
  // Read only if page 1 does not verify, which is rare.
  private lazy var log = WriteAheadLog(beside: path)

  /// Opens the file, and takes a shared lock on it.
  /// - Parameters:
  ///   - path: The file.
  ///   - seconds: How long to wait for a process that is replacing it; nil takes no lock.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)``; ``SQLError/journalNamesAnother(file:)``;
  ///   as ``RawFile/open(_:forWriting:)``.
  init(_ path: DatabasePath, seconds: Double?) throws {
    self.path = path
    try HotJournal.checkSuperJournal(of: path)
    if let seconds { try RenamedLogs.recover(path, seconds: seconds) }
    file = try seconds.map { try RawFile.open(path, holding: .shared, seconds: $0) } ?? RawFile.open(path)
    header = file.byteCount >= 512 ? file.read(512, at: 0) : nil
    former = HotJournal.firstPage(of: path)
  }

  /// Releases the lock, so that others can replace the file again.
  func release() { file.unlock() }

  /// Whether the file was replaced by another one.
  var isOutdated: Bool { file.hasMoved }

  /// Determines the state of the file under a key, and the settings under which its pages, or its log,
  /// verify.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - candidates: The keys that are derived from `key` under the possible settings.
  ///   - known: The settings that the caller expects of the file.
  ///   - isThorough: Whether pages from all over the file are checked before a key is reported as wrong.
  /// - Throws: What deriving the key throws.
  func state(_ key: Key, _ candidates: KeyCandidates, known: CipherProfile?, isThorough: Bool) throws
    -> FileState
  {
    // The size comes from the engine's VFS, which reports a file of one byte as 0, because on some
    // systems it writes one byte into an empty file. The caller has refused empty files already, so 0
    // means one byte here.
    guard let header else {
      return .foreign(reason: "it has only \(counted(max(1, file.byteCount), "byte"))")
    }
    if let known, !known.isUsable { return .unusable(known) }
    if header.starts(with: Array("SQLite format 3\0".utf8)) {
      return try stateUnderClearHeader(header, key: key, known: known)
    }
    let salt = Array(header.prefix(16))
    if let given = key.salt, given != salt { return .locked }
    let largest = file.byteCount
    let found = try candidates.first(salt: salt) { derived in
      let variants = derived.variants(largest: largest)
      if let fitting = variants.first(where: { verifiesFirst($0) }) { return fitting }
      // A rekey that was committed to the log and not copied into the file yet: the file's first page is
      // still under the old key.
      return former == nil ? log?.fits(among: variants) : nil
    }
    if let found { return found.profile.isUsable ? .open(found) : .unusable(found.profile) }
    // The journal decides which key the file will be under; the key of its present pages does not count.
    guard former == nil, isThorough else { return .locked }
    let isUnauthenticated = try candidates.first(salt: salt) { derived in
      CipherProfile.pageSizes.contains {
        PageHeader(of: file, derived.with(pageBytes: $0), reserved: 16) != nil
      }
        ? true : nil
    }
    if isUnauthenticated ?? false { return .unauthenticated }
    // The log is valid and verifies under no candidate: the file's own pages do not count.
    if log != nil { return .locked }
    // Page 1 verifies under no key. If another page does, the key is right and page 1 is damaged.
    let damaged = try candidates.first(salt: salt) { derived in
      // Only the page sizes that divide the file's size; all of them if none does, as for a truncated
      // file.
      let variants = derived.variants(largest: largest)
      let fitting = variants.filter { largest % $0.profile.pageBytes == 0 }
      return (fitting.isEmpty ? variants : fitting).first { $0.verifiesSample(of: file) }
    }
    if let damaged { return .damaged(pages: file.damagedPages(key: damaged)) }
    return largest % 512 == 0 ? .locked : .foreign(reason: "its \(largest) bytes are not whole pages")
  }

  /// Determines the state of a file whose first bytes are those of a plain database: either only its
  /// header is in clear text, or the whole file is.
  private func stateUnderClearHeader(
    _ header: [UInt8], key: Key, known: CipherProfile?
  ) throws -> FileState {
    // SQLite's header: the page size, big-endian with 1 for 65536, at 16; the bytes reserved in each page
    // at 20. The engine reserves room for IV and HMAC; a plain file reserves nothing.
    guard header[20] >= 32 else { return .plain }
    guard let salt = key.salt else { return .saltMissing }
    var profile = known ?? .sqlcipher4
    let size = Int(header[16]) << 8 + Int(header[17])
    profile.pageBytes = size == 1 ? 65_536 : size
    if profile.clearHeaderBytes == 0 { profile.clearHeaderBytes = 32 }
    guard profile.isUsable else { return .unusable(profile) }
    let derived = try UnlockedKey(deriving: key, salt: salt, profile: profile)
    if verifiesFirst(derived) { return .open(derived) }
    if former != nil { return .locked }
    if let log { return log.fits(derived) ? .open(derived) : .locked }
    return derived.verifiesSample(of: file) ? .damaged(pages: file.damagedPages(key: derived)) : .locked
  }

  private func verifiesFirst(_ key: UnlockedKey) -> Bool {
    guard let former else { return verifies(1, key) }
    return former.count == key.profile.pageBytes && key.verifies(page: former, number: 1)
  }

  private func verifies(_ number: Int, _ key: UnlockedKey) -> Bool {
    let size = key.profile.pageBytes
    guard let page = file.read(size, at: (number - 1) * size) else { return false }
    return key.verifies(page: page, number: number)
  }
}

extension UnlockedKey {
  /// Whether any page of a sample has the correct HMAC under this key. The sample is up to 64 pages from
  /// all over a file, without the first page.
  func verifiesSample(of file: borrowing RawFile) -> Bool {
    let size = profile.pageBytes
    let last = file.byteCount / size
    guard last >= 2 else { return false }
    let spread = (0..<58).map { 2 + (last - 2) * $0 / 57 }
    let verifier = PageVerifier(self)
    for number in Set(Array(2...min(last, 7)) + spread) {
      guard var page = file.read(size, at: (number - 1) * size) else { continue }
      if unsafe page.withUnsafeMutableBytes({ unsafe verifier.verifies($0, number: number) }) { return true }
    }
    return false
  }
}

extension FileState {
  /// Determines the state of a file under a key, thoroughly.
  ///
  /// A passphrase costs one derivation when the file has the engine's own settings, two when it has the
  /// settings of the other major version, and up to five when the passphrase is wrong. If none of these
  /// five has the hash and rounds of `profile`, there is one derivation more, and it is tried first.
  /// - Parameters:
  ///   - path: The file.
  ///   - key: The key; not one that is stored in a key file.
  ///   - profile: The settings that the caller expects of the file.
  ///   - seconds: How long to wait for a process that is replacing the file; nil takes no lock.
  /// - Throws: What deriving the key throws; as ``FileProbe/init(_:seconds:)``.
  package static func of(
    _ path: DatabasePath, key: Key, profile: CipherProfile? = nil, seconds: Double?
  ) throws -> FileState {
    try FileProbe(path, seconds: seconds).state(
      key, KeyCandidates(key, known: profile), known: profile, isThorough: true)
  }
}

extension UnlockedKey {
  /// Derives the key for the file at `path` and determines the settings under which its pages verify.
  /// - Throws: As ``FileState/of(_:key:profile:seconds:)`` and ``FileState/key(of:)``.
  static func unlock(path: DatabasePath, key: Key, profile: CipherProfile? = nil, seconds: Double?) throws
    -> UnlockedKey
  {
    guard case .kept(let keeper) = key.material else {
      return try FileState.of(path, key: key, profile: profile, seconds: seconds).key(of: path)
    }
    return try keeper.unlock(path.path, settling: nil) {
      try unlock(path: path, key: $0.salted(as: key), profile: profile, seconds: seconds)
    }
  }
}
