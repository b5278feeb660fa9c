// The handler for errors of objects without a context.

internal import CipherSQLite

extension ObjectContext {
  /// The closure that is called with errors of objects that belong to no context: objects made by their
  /// own initializer, or left over when their context was released; and of reads of objects that are deleted.
  ///
  /// A getter of such an object cannot throw, and there is no ``faultErrors`` for its error. By default
  /// each distinct error is written to standard error once, up to a hundred errors.
  public static var onStrayError: (@Sendable (any Error) -> Void)? {
    get { ContextlessErrors.handler.withLock { $0.custom } }
    set { ContextlessErrors.handler.withLock { $0.custom = newValue } }
  }
}
