// What getters met and could not throw.

/// The errors of getters.
struct GetterErrors {
  /// Those that the next save throws: ``ObjectContext/faultErrors``.
  var failures: [any Error] = []
  /// Of values that could not be read: ``ObjectContext/unreadableValues``.
  var unreadable: [StoreError] = []
  /// Who hears of each: ``ObjectContext/onFaultError``.
  var listener: ((any Error) -> Void)?

  /// - Returns: Whether the listener is to hear of it.
  mutating func note(_ error: any Error) -> Bool {
    // Once is enough: the body of a cancelled write may go on for long.
    if error is CancellationError, failures.last is CancellationError { return false }
    failures.append(error)
    return true
  }

  /// - Returns: Whether the listener is to hear of it.
  mutating func noteUnreadable(_ error: StoreError) -> Bool {
    guard unreadable.count < 1000, !unreadable.contains(error) else { return false }
    unreadable.append(error)
    return true
  }
}
