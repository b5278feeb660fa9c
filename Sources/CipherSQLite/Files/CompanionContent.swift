// Checks whether a file that has the name of a database's log, index or journal was written by the
// engine. SQLite decides by the name alone: it truncates, overwrites and deletes any file of that name,
// even a user's notes.

enum CompanionContent {
  /// Sizes of an index: the engine creates it with 3 bytes, and then extends it by whole pages, of which
  /// it writes the last byte.
  private static let (newIndexBytes, indexBytes) = (3, 4096)

  /// The first bytes of an index: the version of its format, in native byte order.
  private static let indexMagic: [UInt8] = unsafe withUnsafeBytes(of: UInt32(3_007_000)) { unsafe Array($0) }

  /// Whether a file may have been written by the engine: it is empty, or its first bytes are those of its
  /// kind. The engine may write the first bytes last, over zeros, and a crash may leave a part of them.
  static func isEngines(_ path: String, suffix: String, status: FileStatus) -> Bool {
    guard status.byteCount > 0 else { return true }
    switch suffix {
    case "-journal": return begins(path, [HotJournal.magic])
    case "-wal": return begins(path, WriteAheadLog.magics)
    default:
      guard status.byteCount <= newIndexBytes || status.byteCount.isMultiple(of: indexBytes) else {
        return false
      }
      let file = String(path.dropLast(suffix.count))
      // The content is read only if no connection of this process has the file open, and there is no log.
      // Otherwise a library in this process may have locks on the index, and closing a descriptor would drop
      // them: the size must do.
      return OpenFiles.ifUnused(file) { FileStatus(file + "-wal") != nil || begins(path, [indexMagic]) }
        ?? true
    }
  }

  private static func begins(_ path: String, _ magics: [[UInt8]]) -> Bool {
    // A file that cannot be read counts as the engine's: the engine cannot read it either, or it was
    // deleted meanwhile and is not in use.
    guard let head = CompanionFile(path)?.readUp(to: magics[0].count, at: 0) else { return true }
    let written = head.prefix((head.lastIndex { $0 != 0 } ?? -1) + 1)
    return magics.contains { $0.starts(with: written) }
  }
}
