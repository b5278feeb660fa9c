// Which files may be a store, however damaged, and which certainly are not: a mistyped path
// must not overwrite a key file.

private import Foundation

enum Replaceable {
  /// Checks that the file may be a store, or is empty.
  /// - Parameter isDeletion: Whether the file is to be deleted. Then it must also look random, as each page
  ///   of a store does; a store whose first page is damaged can only be replaced.
  /// - Throws: ``SQLError/notReplaceable(file:kind:)``; as ``PathState/existing(_:)``.
  static func check(_ file: DatabasePath, isDeletion: Bool = false) throws {
    if try PathState.of(file) == .empty { return }
    try PathState.existing(file)
    let start = try RawFile.open(file)
    let byteCount = min(512, start.byteCount)
    guard let bytes = start.read(byteCount, at: 0) else { return }
    let kind =
      if bytes.starts(with: KeyFileFormat.magic) {
        "a key file"
      } else if bytes.starts(with: Array("SQLite format 3\0".utf8)), bytes.count > 20, bytes[20] < 32 {
        "an unencrypted database"
      } else if isText(bytes) {
        "a text file"
      } else if byteCount < 512 {
        "a file of \(byteCount) bytes"
      } else if isDeletion, !bytes.starts(with: Array("SQLite format 3\0".utf8)) {
        contentKind(bytes)
      } else {
        String?.none
      }
    if let kind { throw SQLError.notReplaceable(file: file.given, kind: kind) }
  }

  /// The first bytes of common files whose contents look random. A store begins with one of them with a
  /// probability of 10^-6 at most.
  private static let beginnings: [(bytes: [UInt8], kind: String)] = [
    ([0x89, 0x50, 0x4E, 0x47], "a PNG image"), ([0xFF, 0xD8, 0xFF], "a JPEG image"),
    (Array("GIF8".utf8), "a GIF image"), ([0x50, 0x4B, 3, 4], "a ZIP archive or an office document"),
    ([0x1F, 0x8B, 8], "a gzip file"), ([0xFD, 0x37, 0x7A, 0x58], "an xz file"),
    ([0x28, 0xB5, 0x2F, 0xFD], "a zstd file"), (Array("BZh".utf8), "a bzip2 file"),
    ([0x37, 0x7A, 0xBC, 0xAF], "a 7z archive"), (Array("%PDF".utf8), "a PDF document"),
    ([0x7F, 0x45, 0x4C, 0x46], "a program"), (Array("RIFF".utf8), "a media file"),
    (Array("OggS".utf8), "a media file"), (Array("ID3".utf8), "a media file"),
  ]

  /// Returns what a file is whose first 512 bytes cannot be those of an encrypted page; nil if they can.
  private static func contentKind(_ bytes: [UInt8]) -> String? {
    if let known = beginnings.first(where: { bytes.starts(with: $0.bytes) }) { return known.kind }
    if bytes.dropFirst(4).starts(with: Array("ftyp".utf8)) { return "a media file" }
    // 512 random bytes have about 221 different values; fewer than 160 have a probability below 10^-20.
    return Set(bytes).count < 160 ? "a file without the random bytes of an encrypted page" : nil
  }

  /// Returns whether the bytes are text only. For an encrypted page the probability of that is 10^-100.
  private static func isText(_ bytes: [UInt8]) -> Bool {
    // The last character may be cut off, so up to 3 bytes are ignored.
    (0...3).contains { cut in
      bytes.count > cut
        && String(validating: bytes.dropLast(cut), as: UTF8.self)?.unicodeScalars.allSatisfy {
          $0.value >= 32 || [9, 10, 12, 13].contains($0.value)
        } ?? false
    }
  }

  /// Returns whether a file may be an encrypted copy made next to a store: it belongs to
  /// this user and has whole pages.
  static func isCopy(_ path: String) -> Bool {
    guard let status = FileStatus(path), status.isRegular, status.isOwn else { return false }
    return status.byteCount > 0 && status.byteCount % 1024 == 0
  }
}

extension DatabasePath {
  /// The relation of a file to another one in the same folder.
  package enum CopyState: Sendable {
    /// It is an encrypted copy of the file.
    case copy
    /// It is a different file.
    case other
    /// It does not exist.
    case absent
    /// It cannot be determined now: a file could not be read, or belongs to another user.
    case unknown
  }

  /// Returns whether a file in the same folder is an encrypted copy of this one, whatever its name.
  /// Copies begin with the same 16 random bytes as their original.
  package func isOriginal(of name: String) -> Bool { copyState(of: name) == .copy }

  /// Returns the relation of a file in the same folder to this one. Unlike ``isOriginal(of:)``, it reports
  /// the cases without a definite answer separately.
  package func copyState(of name: String) -> CopyState {
    guard let status = FileStatus(sibling(name)) else {
      return [ENOENT, ENOTDIR].contains(errno) ? .absent : .unknown
    }
    guard status.isRegular, status.byteCount > 0, status.byteCount % 1024 == 0 else { return .other }
    guard status.isOwn, let own = Self.head(self), let path = try? DatabasePath(sibling(name)),
      let other = Self.head(path)
    else { return .unknown }
    return own == other ? .copy : .other
  }

  /// Removes a file in the same folder, unless a process has it open or has left an unfinished change in it.
  ///
  /// A process that has a database open holds a lock: in WAL mode all the time, in other
  /// modes while it reads or writes.
  /// - Returns: Whether the file was removed.
  @discardableResult
  package func removeUnused(_ name: String) -> Bool {
    guard let file = try? DatabasePath(sibling(name)),
      let held = try? RawFile.open(file, holding: .exclusive, seconds: 0)
    else { return false }
    // The lock is released after the removal. A process that opens the path afterwards finds no file.
    defer { held.unlock() }
    let companions = [file.log, file.journal, file.sharedMemory]
    // A log or journal with content has changes of a process that died, which are not in the file yet. An
    // empty log may remain from a reader.
    guard companions.prefix(2).allSatisfy({ (FileStatus($0)?.byteCount ?? 0) == 0 }),
      unsafe unlink(file.path) == 0
    else { return false }
    for name in companions { unsafe unlink(name) }
    return true
  }

  /// Returns the bytes that a copy shares with its original: the salt, or for a file with a clear header its
  /// first 24 bytes, which include the number of reserved bytes in each page. nil if the file cannot be
  /// read.
  private static func head(_ file: DatabasePath) -> [UInt8]? {
    guard let bytes = try? RawFile.open(file).read(24, at: 0) else { return nil }
    return bytes.starts(with: Array("SQLite format 3\0".utf8)) ? bytes : Array(bytes.prefix(16))
  }
}
