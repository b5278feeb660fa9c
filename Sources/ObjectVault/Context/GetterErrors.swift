// Errors of calls that cannot throw: getters, setters, insertions, deletions.

/// The errors of a context that its getters, setters and other calls could not throw.
struct GetterErrors {
  /// The errors of which the next save throws the first: ``ObjectContext/faultErrors``.
  var failures: [any Error] = []
  /// The errors of values that could not be read: ``ObjectContext/unreadableValues``.
  var unreadable: [StoreError] = []
  /// The closure that is called with each error: ``ObjectContext/onFaultError``.
  var listener: ((any Error) -> Void)?

  /// Adds an error.
  /// - Returns: Whether to notify the listener.
  mutating func note(_ error: any Error) -> Bool {
    // One cancellation error is enough: the body of a cancelled write may run on for long.
    if error is CancellationError, failures.last is CancellationError { return false }
    failures.append(error)
    return true
  }

  /// Adds the error of an unreadable value, unless it is in the list already or the list has a thousand
  /// errors.
  /// - Returns: Whether to notify the listener.
  mutating func noteUnreadable(_ error: StoreError) -> Bool {
    guard unreadable.count < 1000, !unreadable.contains(error) else { return false }
    unreadable.append(error)
    return true
  }
}
