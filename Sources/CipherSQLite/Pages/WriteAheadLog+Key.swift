// Determines the key that a log is encrypted under.

extension WriteAheadLog {
  /// Whether the last commit was encrypted under `key`, with the log's page size in place of the key's.
  func fits(_ key: UnlockedKey) -> Bool {
    key.with(pageBytes: pageBytes).verifies(page: lastPage.bytes, number: lastPage.number)
  }

  /// Whether the log beside a file verifies under `key`. Checked before the first read, because the engine
  /// applies a log without checking to which file it belongs.
  ///
  /// A change of the key may have begun in the log: the first page is under the old key then, and the last
  /// one under the new key. Reads one page in nearly all cases.
  static func mayBelong(beside file: DatabasePath, to key: UnlockedKey) -> Bool {
    guard let first = firstPage(beside: file) else { return true }
    if key.with(pageBytes: first.bytes.count).verifies(page: first.bytes, number: first.number) {
      return true
    }
    return WriteAheadLog(beside: file)?.fits(key) ?? true
  }

  /// Returns the first key of the log's page size under which the last commit verifies; nil if there is
  /// none.
  func fits(among keys: [UnlockedKey]) -> UnlockedKey? {
    keys.first { $0.profile.pageBytes == pageBytes && fits($0) }
  }
}
