// Determines the key that a log is encrypted under.

extension WriteAheadLog {
  /// Whether the last commit was encrypted under `key`, with the log's page size in place of the key's.
  func fits(_ key: UnlockedKey) -> Bool {
    key.with(pageBytes: pageBytes).verifies(page: lastPage.bytes, number: lastPage.number)
  }

  /// Returns the first key of the log's page size under which the last commit verifies; nil if there is
  /// none.
  func fits(among keys: [UnlockedKey]) -> UnlockedKey? {
    keys.first { $0.profile.pageBytes == pageBytes && fits($0) }
  }
}
