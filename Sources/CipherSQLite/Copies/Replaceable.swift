// What may be a store, however damaged, and what is certainly none: one slip in a path shall not cost a key file.

private import Foundation

enum Replaceable {
  /// Goes on when a file may be a store, or has no bytes.
  /// - Throws: ``SQLError/notReplaceable(file:kind:)``; as ``PathState/existing(_:)``.
  static func check(_ file: DatabasePath) throws {
    if try PathState.of(file) == .empty { return }
    try PathState.existing(file)
    let start = try RawFile.open(file)
    let byteCount = min(512, start.byteCount)
    guard let bytes = start.read(byteCount, at: 0) else { return }
    let kind =
      if bytes.starts(with: KeyFileFormat.magic) {
        "a key file"
      } else if bytes.starts(with: Array("SQLite format 3\0".utf8)), bytes.count > 20, bytes[20] < 32 {
        "a plain database"
      } else if isText(bytes) {
        "a text"
      } else if byteCount < 512 {
        "a file of \(byteCount) bytes"
      } else {
        String?.none
      }
    if let kind { throw SQLError.notReplaceable(file: file.given, kind: kind) }
  }

  /// Whether bytes are nothing but text: those of an encrypted page are not, but once in 10^100 times.
  private static func isText(_ bytes: [UInt8]) -> Bool {
    // The end may lie within a character.
    (0...3).contains { cut in
      bytes.count > cut
        && String(validating: bytes.dropLast(cut), as: UTF8.self)?.unicodeScalars.allSatisfy {
          $0.value >= 32 || [9, 10, 12, 13].contains($0.value)
        } ?? false
    }
  }

  /// Whether a file may be one of the encrypted copies that are made beside a store: this user's, in whole pages.
  static func isCopy(_ path: String) -> Bool {
    guard let status = FileStatus(path), status.isRegular, status.isOwn else { return false }
    return status.byteCount > 0 && status.byteCount % 1024 == 0
  }
}

extension DatabasePath {
  /// What a file is to another one of the same folder.
  package enum CopyState: Sendable {
    /// An encrypted copy of it.
    case copy
    /// Something else.
    case other
    /// There is no such file.
    case absent
    /// It cannot be told at the moment: a file could not be read, or is somebody else's.
    case unknown
  }

  /// Whether a file of the same folder is an encrypted copy of this one, whatever its name says: copies begin with the 16
  /// bytes of chance that their original begins with.
  package func isOriginal(of name: String) -> Bool { copyState(of: name) == .copy }

  /// As ``isOriginal(of:)``, with what that cannot tell.
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

  /// Removes a file of the same folder that nobody has open, nor has left in the midst of a change.
  ///
  /// Who has a database in WAL mode open holds a lock for as long; in another mode, while reading or writing.
  /// - Returns: Whether it is gone.
  @discardableResult
  package func removeUnused(_ name: String) -> Bool {
    guard let file = try? DatabasePath(sibling(name)),
      let held = try? RawFile.open(file, holding: .exclusive, seconds: 0)
    else { return false }
    // Until then: who comes a moment later finds no file.
    defer { held.unlock() }
    let companions = [file.log, file.journal, file.sharedMemory]
    // What a process that died has not brought into the file yet. Who only reads may leave a log without a byte.
    guard companions.prefix(2).allSatisfy({ (FileStatus($0)?.byteCount ?? 0) == 0 }),
      unsafe unlink(file.path) == 0
    else { return false }
    for name in companions { unsafe unlink(name) }
    return true
  }

  /// The salt; of a file whose header stands in clear that header, with how much of each page is the cipher's.
  private static func head(_ file: DatabasePath) -> [UInt8]? {
    guard let bytes = try? RawFile.open(file).read(24, at: 0) else { return nil }
    return bytes.starts(with: Array("SQLite format 3\0".utf8)) ? bytes : Array(bytes.prefix(16))
  }
}
