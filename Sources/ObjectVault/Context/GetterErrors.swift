// What getters met and could not throw.

/// The errors of getters.
struct GetterErrors {
  /// ``ObjectContext/faultErrors``.
  var failures: [any Error] = []
  /// ``ObjectContext/unreadableValues``.
  var unreadable: [StoreError] = []
  /// ``ObjectContext/onFaultError``.
  var listener: ((any Error) -> Void)?

  /// - Returns: Whether it is told.
  mutating func note(_ error: any Error) -> Bool {
    // Once is enough: the body of a cancelled write may go on for long.
    if error is CancellationError, failures.last is CancellationError { return false }
    failures.append(error)
    return true
  }

  /// - Returns: Whether it is told.
  mutating func noteUnreadable(_ error: StoreError) -> Bool {
    guard unreadable.count < 1000, !unreadable.contains(error) else { return false }
    unreadable.append(error)
    return true
  }
}
