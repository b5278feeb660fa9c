// Which key a log is under.

extension WriteAheadLog {
  /// Whether the last commit was encrypted under `key`, whatever page size that was made for.
  func fits(_ key: UnlockedKey) -> Bool {
    key.with(pageBytes: pageBytes).verifies(page: lastPage.bytes, number: lastPage.number)
  }

  /// The first of the keys that the last commit is under.
  func fits(among keys: [UnlockedKey]) -> UnlockedKey? {
    keys.first { $0.profile.pageBytes == pageBytes && fits($0) }
  }
}
