// What a file is, and whether a key fits: decided by us, because the engine answers everything with code 26.

private import Foundation

/// What lies at a path, before any key is tried.
enum PathState {
  case absent
  case file(byteCount: Int)

  /// - Throws: ``SQLError/folderMissing(folder:)``, ``SQLError/isDirectory(file:)``,
  ///   ``SQLError/emptyFile(file:)``, ``SQLError/permissionDenied(file:)``.
  static func of(_ path: String) throws -> PathState {
    var status = stat()
    guard stat(path, &status) == 0 else {
      if errno == EACCES { throw SQLError.permissionDenied(file: path) }
      let folder = (path as NSString).deletingLastPathComponent
      var isDirectory: ObjCBool = false
      let exists = FileManager.default.fileExists(
        atPath: folder.isEmpty ? "." : folder, isDirectory: &isDirectory)
      guard exists, isDirectory.boolValue else { throw SQLError.folderMissing(folder: folder) }
      return .absent
    }
    guard status.st_mode & S_IFMT != S_IFDIR else { throw SQLError.isDirectory(file: path) }
    guard status.st_size > 0 else { throw SQLError.emptyFile(file: path) }
    guard access(path, R_OK) == 0 else { throw SQLError.permissionDenied(file: path) }
    return .file(byteCount: Int(status.st_size))
  }

  /// Whether the file may be written. Its mode bits count for the superuser too: who marked it read-only
  /// meant it.
  static func isWritable(_ path: String) -> Bool {
    var status = stat()
    guard stat(path, &status) == 0 else { return false }
    return status.st_mode & 0o222 != 0 && access(path, W_OK) == 0
  }
}

extension UnlockedKey {
  /// Derives the key for the file at `path` and finds the settings under which its pages verify.
  ///
  /// Costs one key derivation when the file has the engine's own settings, two when it has the other
  /// version's or the key is wrong.
  /// - Throws: ``SQLError/notEncrypted(file:)``, ``SQLError/notADatabase(file:reason:)``,
  ///   ``SQLError/wrongKey(file:)``, ``SQLError/corrupted(file:pages:)`` when page 1 is damaged but other
  ///   pages verify, ``SQLError/cipherSettingsMismatch(file:profile:)``.
  static func unlock(path: String, key: Key, profile: CipherProfile? = nil) throws -> UnlockedKey {
    guard case .keyFile(let keyPath, let secret) = key.material else {
      return try unlockPlainly(path, key, profile)
    }
    do {
      return try unlockPlainly(path, KeyFile.open(at: keyPath, unlock: secret).key.salted(as: key), profile)
    } catch SQLError
      .wrongKey
    {
      guard let pending = try KeyFile.pendingKey(at: keyPath, unlock: secret) else {
        throw SQLError.wrongKey(file: path)
      }
      return try unlockPlainly(path, Key.raw(pending).salted(as: key), profile)
    }
  }

  private static func unlockPlainly(_ path: String, _ key: Key, _ known: CipherProfile?) throws -> UnlockedKey
  {
    let file = try RawFile.open(path)
    guard file.byteCount >= 512, let header = file.read(512, at: 0) else {
      throw SQLError.notADatabase(file: path, reason: "it has only \(file.byteCount) bytes")
    }
    if header.starts(with: Array("SQLite format 3\0".utf8)) {
      return try unlockUnderClearHeader(path, file, header, key, known)
    }

    let former = HotJournal.firstPage(of: path)
    let salt = Array(header.prefix(16))
    if let given = key.salt, given != salt { throw SQLError.wrongKey(file: path) }
    let own = Engine.current.newFileProfile
    let other = own.hash == .sha1 ? CipherProfile.sqlcipher4 : .sqlcipher3
    var candidates: [UnlockedKey] = []
    if let known, !known.isUsable { throw SQLError.cipherSettingsMismatch(file: path, profile: known) }
    for base in (known.map { [$0] } ?? []) + [own, other] {
      let derived = try UnlockedKey(deriving: key, salt: salt, profile: base)
      let sized = CipherProfile.pageSizes.filter { $0 <= file.byteCount }.map { derived.with(pageBytes: $0) }
      if let found = sized.first(where: { $0.verifiesFirst(of: file, former) }) {
        guard found.profile.isUsable else {
          throw SQLError.cipherSettingsMismatch(file: path, profile: found.profile)
        }
        return found
      }
      candidates += sized
    }
    // The journal says under which key the file will be; what its pages are under now does not count.
    if former != nil { throw SQLError.wrongKey(file: path) }
    // Page 1 verifies under nothing. If another page does, the key is right and page 1 is damaged.
    for candidate in candidates where (2...6).contains(where: { candidate.verifies($0, of: file) }) {
      // Or a rekey died while its log was copied back, and the key is the one before it.
      if LogAudit.lastCommitFits(path, candidate) == false { throw SQLError.wrongKey(file: path) }
      throw SQLError.corrupted(file: path, pages: file.damagedPages(key: candidate))
    }
    // A rekey in WAL mode may have committed without being copied back yet: then page 1 is still under the
    // old key in the file, and only the engine, which reads the WAL, can tell.
    if let size = try? FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int, size > 32,
      let own = candidates.first
    {
      return own
    }
    guard file.byteCount % 512 == 0 else {
      throw SQLError.notADatabase(file: path, reason: "its \(file.byteCount) bytes are not whole pages")
    }
    throw SQLError.wrongKey(file: path)
  }

  /// A file that begins like a plain one: encrypted behind its header, or not at all.
  private static func unlockUnderClearHeader(
    _ path: String, _ file: borrowing RawFile, _ header: [UInt8], _ key: Key, _ known: CipherProfile?
  ) throws -> UnlockedKey {
    // SQLite's header: the page size, big-endian with 1 for 65536, at 16; the bytes reserved in each page at 20. The
    // engine reserves what IV and HMAC take, a plain file nothing.
    guard header[20] >= 32 else { throw SQLError.notEncrypted(file: path) }
    guard let salt = key.salt else { throw SQLError.saltMissing(file: path) }
    var profile = known ?? .sqlcipher4
    let size = Int(header[16]) << 8 + Int(header[17])
    profile.pageBytes = size == 1 ? 65_536 : size
    if profile.clearHeaderBytes == 0 { profile.clearHeaderBytes = 32 }
    guard profile.isUsable else { throw SQLError.cipherSettingsMismatch(file: path, profile: profile) }
    let derived = try UnlockedKey(deriving: key, salt: salt, profile: profile)
    let former = HotJournal.firstPage(of: path)
    if derived.verifiesFirst(of: file, former) { return derived }
    if former != nil { throw SQLError.wrongKey(file: path) }
    guard !(2...6).contains(where: { derived.verifies($0, of: file) }) else {
      if LogAudit.lastCommitFits(path, derived) == false { throw SQLError.wrongKey(file: path) }
      throw SQLError.corrupted(file: path, pages: file.damagedPages(key: derived))
    }
    // As above: the log may be under the key that the file is not yet under.
    guard PathState.hasLog(path) else { throw SQLError.wrongKey(file: path) }
    return derived
  }

  /// - Parameter former: What the journal will put in the place of the file's first page.
  private func verifiesFirst(of file: borrowing RawFile, _ former: [UInt8]?) -> Bool {
    guard let former else { return verifies(1, of: file) }
    return former.count == profile.pageBytes && verifies(page: former, number: 1)
  }

  private func verifies(_ number: Int, of file: borrowing RawFile) -> Bool {
    guard let page = file.read(profile.pageBytes, at: (number - 1) * profile.pageBytes) else { return false }
    return verifies(page: page, number: number)
  }
}
