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
  /// Whether a file of the same folder may be one of the encrypted copies that are made of this one.
  package func mayBeCopy(_ name: String) -> Bool { Replaceable.isCopy(sibling(name)) }

  /// Whether a file of the same folder is an encrypted copy of this one, whatever its name says: copies begin with the 16
  /// bytes of chance that their original begins with.
  package func isOriginal(of name: String) -> Bool {
    guard mayBeCopy(name), let own = Self.head(self), let path = try? DatabasePath(sibling(name)),
      let other = Self.head(path)
    else { return false }
    return own == other
  }

  /// The salt; of a file whose header stands in clear that header, with how much of each page is the cipher's.
  private static func head(_ file: DatabasePath) -> [UInt8]? {
    guard let bytes = try? RawFile.open(file).read(24, at: 0) else { return nil }
    return bytes.starts(with: Array("SQLite format 3\0".utf8)) ? bytes : Array(bytes.prefix(16))
  }
}
