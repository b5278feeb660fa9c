// Transactions and savepoints, by closure or by hand.

private import CSQLCipher

/// When a transaction takes its lock.
public enum TransactionKind: String, Sendable {
  /// At the first statement that needs it. The usual kind for reading.
  case deferred = "DEFERRED"
  /// At once, for writing; other connections can continue to read.
  case immediate = "IMMEDIATE"
  /// At once; without WAL, other connections cannot even read.
  case exclusive = "EXCLUSIVE"

  // Literals, because an interpolated text would be allocated for each transaction.
  fileprivate var beginning: String {
    switch self {
    case .deferred: "BEGIN DEFERRED"
    case .immediate: "BEGIN IMMEDIATE"
    case .exclusive: "BEGIN EXCLUSIVE"
    }
  }
}

/// How the transaction of ``Connection/inTransaction(_:_:)`` ends.
public enum TransactionEnd: Sendable, Hashable {
  /// Its changes are committed.
  case commit
  /// Its changes are rolled back.
  case rollback
}

extension Connection {
  /// Runs `body` in a transaction: committed when it returns, rolled back when it throws.
  ///
  /// Inside another transaction it becomes a savepoint.
  ///
  /// For some errors (a full disk, an I/O error, an interrupted change) the engine itself rolls back the
  /// whole transaction instead of the statement only. After that, every call that `body` or a nested closure
  /// makes on the connection throws this error again, and so does the end of the transaction. So nothing is
  /// written outside of the transaction, even if `body` ignores the error.
  /// - Parameters:
  ///   - kind: When the lock is taken.
  ///   - body: The statements.
  /// - Returns: What `body` returns.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)`` after the busy timeout; the errors of
  ///   ``commit()``, after which the transaction is rolled back; what `body` throws.
  public func transaction<Result>(
    _ kind: TransactionKind = .immediate, _ body: () throws -> Result
  ) throws -> Result {
    guard !isInTransaction else { return try savepoint(body) }
    stateBeforeTransaction = kind == .deferred ? sharedState : nil
    defer { stateBeforeTransaction = nil }
    try begin(kind)
    isClosureTransactionOpen = true
    do {
      let result = try body()
      try commit()
      return result
    } catch {
      rollback()
      throw error
    }
  }

  /// Runs `body` in a savepoint: released when it returns, rolled back when it
  /// throws. Savepoints can be nested.
  /// - Parameter body: The statements.
  /// - Returns: What `body` returns.
  /// - Throws: ``SQLError``; what `body` throws.
  public func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
    // Without a transaction, a savepoint would begin one.
    guard isInTransaction else { return try transaction(.deferred, body) }
    transactionDepth += 1
    let name = "vault_\(transactionDepth)"
    defer { transactionDepth -= 1 }
    try execute(sql: "SAVEPOINT \(name)")
    do {
      let result = try body()
      try execute(sql: "RELEASE \(name)")
      return result
    } catch {
      triggered = nil
      // If the engine has rolled back the transaction, the savepoint no longer exists
      // and these statements fail.
      _ = try? execute(sql: "ROLLBACK TO \(name)")
      _ = try? execute(sql: "RELEASE \(name)")
      throw error
    }
  }

  /// Whether a transaction is open.
  public var isInTransaction: Bool { unsafe handle != nil && sqlite3_get_autocommit(handle) == 0 }

  /// Rolls back the open transaction, if there is one.
  public func rollback() {
    let hook = hooks.rollback
    defer { hooks.rollback = hook }
    // The hook was already called when the engine rolled the transaction back. The rollback of the
    // placeholder transaction (see `noteLostTransaction`) must not call it again.
    if lostTransactionError != nil { hooks.rollback = nil }
    (isClosureTransactionOpen, isForWriting, lostTransactionError, triggered) = (false, false, nil, nil)
    // If ROLLBACK fails, there is nothing to roll back: SQLite ended the transaction itself.
    if isInTransaction { _ = try? execute("ROLLBACK") }
  }

  /// Whether the engine has rolled back the open transaction by itself. Until its closure ends,
  /// all calls of the engine fail.
  package var hasLostTransaction: Bool { lostTransactionError != nil }

  /// Records that the engine has rolled back the open transaction by itself, which it does for
  /// some errors. From then on every call of the engine throws this error, until the closure that
  /// began the transaction ends it.
  ///
  /// Must be called after every call of the engine that fails, and after no other.
  func noteLostTransaction(_ error: SQLError) {
    // Also needed for a transaction that was begun by hand, for which the guard below returns.
    triggered = nil
    guard isClosureTransactionOpen, lostTransactionError == nil, !isInTransaction, let handle = unsafe handle
    else {
      return
    }
    lostTransactionError = error
    // A placeholder transaction. Without it, a statement that the caller still has would be committed at
    // once when it is stepped again. `rollback()` ends the placeholder.
    unsafe sqlite3_exec(handle, "BEGIN", nil, nil, nil)
  }

  // MARK: By hand

  /// Runs `body` in a transaction that is committed or rolled back as `body` decides;
  /// an error rolls it back too.
  ///
  /// Inside another transaction it becomes a savepoint.
  /// - Parameters:
  ///   - kind: When the lock is taken.
  ///   - body: The statements; returns how the transaction ends.
  /// - Throws: ``SQLError``; what `body` throws.
  public func inTransaction(_ kind: TransactionKind = .immediate, _ body: () throws -> TransactionEnd) throws
  {
    struct RollbackRequested: Error {}
    do {
      try transaction(kind) { () throws -> Void in
        if try body() == .rollback { throw RollbackRequested() }
      }
    } catch is RollbackRequested {}
  }

  /// Begins a transaction that ``commit()`` or ``rollback()`` ends.
  ///
  /// The methods with closures are safer: they always end the transaction. And if the engine rolls it back
  /// by itself, such as on a full disk, they write nothing afterwards.
  /// - Parameter kind: When the lock is taken.
  /// - Throws: ``SQLError/engine(code:extendedCode:message:sql:)`` inside a transaction;
  ///   ``SQLError/busy(file:waitedSeconds:holders:)``.
  public func begin(_ kind: TransactionKind = .immediate) throws {
    try execute(sql: kind.beginning)
    isForWriting = kind != .deferred
  }

  /// Begins a transaction for writing that several calls share, as in ``WriteGroup``. After an error for
  /// which the engine rolls it back, each call throws that error until ``rollback()``, as in
  /// ``transaction(_:_:)``.
  func beginShared() throws {
    try begin(.immediate)
    isClosureTransactionOpen = true
  }

  /// Commits the open transaction.
  ///
  /// For a transaction that was begun for writing, it first checks that the file is still at its
  /// path: in WAL mode the engine would continue to write to a file that was deleted or replaced. The
  /// check costs one system call.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)``, ``SQLError/fileReplaced(file:)``,
  ///   ``SQLError/constraint(message:extendedCode:sql:)`` for references to rows that do not exist. The
  ///   transaction is then still open.
  public func commit() throws {
    try checkOpen()
    if isForWriting, isGone { throw SQLError.fileReplaced(file: path) }
    try execute(sql: "COMMIT")
    (isClosureTransactionOpen, isForWriting) = (false, false)
  }

  /// Begins a named savepoint; if there is no transaction, this begins one.
  /// - Parameter name: The savepoint's name.
  /// - Throws: ``SQLError``.
  public func beginSavepoint(_ name: String) throws { try execute(sql: "SAVEPOINT \(quoted(name))") }

  /// Releases a savepoint and the savepoints that were begun after it. Their changes become part of the
  /// surrounding transaction.
  /// - Parameter name: The savepoint's name.
  /// - Throws: ``SQLError``.
  public func releaseSavepoint(_ name: String) throws { try execute(sql: "RELEASE \(quoted(name))") }

  /// Rolls back to a savepoint, which stays open.
  /// - Parameter name: The savepoint's name.
  /// - Throws: ``SQLError``.
  public func rollBack(toSavepoint name: String) throws {
    triggered = nil
    try execute(sql: "ROLLBACK TO \(quoted(name))")
  }
}
