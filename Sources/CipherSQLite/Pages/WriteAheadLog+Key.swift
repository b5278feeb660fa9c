// Which key a log is under.

extension WriteAheadLog {
  /// Whether the last commit was encrypted under `key`, whatever page size that was made for.
  func fits(_ key: UnlockedKey) -> Bool {
    key.with(pageBytes: pageBytes).verifies(page: lastPage.bytes, number: lastPage.number)
  }
}
