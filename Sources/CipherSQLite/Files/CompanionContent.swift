// Whether what has the name of a database's log, index or journal was written by the engine. SQLite goes by names: it truncates,
// writes over and removes whatever is called so, be it somebody's notes.

enum CompanionContent {
  /// How an index grows: the engine makes one of 3 bytes first, and then writes the last byte of each page of it.
  private static let (newIndexBytes, indexBytes) = (3, 4096)

  /// Whether a file may be the engine's: it begins as one of its kind. The engine may write the beginning last, over zeros, and a
  /// crash may leave a part of it.
  static func isEngines(_ path: String, _ suffix: String, _ status: FileStatus) -> Bool {
    guard status.byteCount > 0 else { return true }
    switch suffix {
    case "-journal": return begins(path, [HotJournal.magic])
    case "-wal": return begins(path, WriteAheadLog.magics)
    // By its size alone: to close a descriptor of it would drop the locks that this process holds on it.
    default: return status.byteCount <= newIndexBytes || status.byteCount.isMultiple(of: indexBytes)
    }
  }

  private static func begins(_ path: String, _ magics: [[UInt8]]) -> Bool {
    // What cannot be read the engine will not read either, and what is gone is nobody's.
    guard let head = SideFile(path)?.readUp(to: magics[0].count, at: 0) else { return true }
    let written = head.prefix((head.lastIndex { $0 != 0 } ?? -1) + 1)
    return magics.contains { $0.starts(with: written) }
  }
}
