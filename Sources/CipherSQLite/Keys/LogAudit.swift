// Whose key a file's log is under. A rekey that died while its log was copied back leaves a file whose first pages are
// under the new key and whose other pages are under the old one: under the old key that looks like damage.
// The log's format is that of SQLite's "WAL-mode File Format": 32 bytes, then frames of 24 bytes and a page.

enum LogAudit {
  /// Whether the last commit in the log beside a file was encrypted under `key`; nil where there is no commit.
  static func lastCommitFits(_ path: String, _ key: UnlockedKey) -> Bool? {
    guard let log = SideFile(path + "-wal"), let header = log.read(32, at: 0) else { return nil }
    let frameBytes = 24 + key.profile.pageBytes
    // Frames of this log have its salts; behind them lie those of logs before it.
    let isCurrent = { (index: Int) in
      log.read(24, at: 32 + index * frameBytes).map { $0[8..<16].elementsEqual(header[16..<24]) } ?? false
    }
    var (low, high) = (0, max(0, (log.byteCount - 32) / frameBytes))
    while low < high {
      let middle = (low + high) / 2
      if isCurrent(middle) { low = middle + 1 } else { high = middle }
    }
    // What was not committed may be under any key; the last frame of a commit says how large the file then is.
    for index in stride(from: low - 1, through: 0, by: -1) {
      guard let frame = log.read(frameBytes, at: 32 + index * frameBytes) else { return nil }
      guard SideFile.number(frame[4..<8]) != 0 else { continue }
      return key.verifies(page: Array(frame.dropFirst(24)), number: SideFile.number(frame[0..<4]))
    }
    return nil
  }
}
