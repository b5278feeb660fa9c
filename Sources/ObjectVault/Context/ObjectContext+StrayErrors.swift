// Where the errors of objects without a context go, for whoever wants them.

internal import CipherSQLite

extension ObjectContext {
  /// Called with the errors of objects that belong to no context: made by their own initializer, or left over
  /// when their context was released.
  ///
  /// A getter of such an object cannot throw, and there is no ``faultErrors`` to keep its error. By default each
  /// different error is written to standard error, once.
  public static var onStrayError: (@Sendable (any Error) -> Void)? {
    get { StrayErrors.handler.withLock { $0.custom } }
    set { StrayErrors.handler.withLock { $0.custom = newValue } }
  }
}
