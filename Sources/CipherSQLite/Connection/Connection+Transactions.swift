// Transactions and savepoints by closure.

private import CSQLCipher

/// When a transaction takes its lock.
public enum TransactionKind: String, Sendable {
  /// At the first statement that needs it. The default for reading.
  case deferred = "DEFERRED"
  /// At once, for writing; others may go on reading.
  case immediate = "IMMEDIATE"
  /// At once; without WAL nobody else may read.
  case exclusive = "EXCLUSIVE"

  // Literals: an interpolated text would be allocated for each transaction.
  fileprivate var beginning: String {
    switch self {
    case .deferred: "BEGIN DEFERRED"
    case .immediate: "BEGIN IMMEDIATE"
    case .exclusive: "BEGIN EXCLUSIVE"
    }
  }
}

/// How a transaction that was asked ends.
public enum TransactionEnd: Sendable, Hashable {
  /// Its changes stay.
  case commit
  /// Its changes go.
  case rollback
}

extension Connection {
  /// Runs `body` in a transaction: committed when it returns, rolled back when it throws.
  ///
  /// Inside another transaction it becomes a savepoint.
  ///
  /// A full disk, an error of input or output, an interrupted change: for some errors the engine itself takes back the whole
  /// transaction, and not the statement alone. Whatever `body` runs afterwards throws that error again, in whichever of its
  /// closures, and so does the end of the transaction: nothing is written outside of it, also where `body` takes no notice.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)`` after the busy timeout, and what `body` throws.
  public func transaction<Result>(
    _ kind: TransactionKind = .immediate, _ body: () throws -> Result
  ) throws -> Result {
    guard !isInTransaction else { return try savepoint(body) }
    stateBeforeTransaction = kind == .deferred ? sharedState : nil
    defer { stateBeforeTransaction = nil }
    try begin(kind)
    isTransactionOwed = true
    do {
      let result = try body()
      try commit()
      return result
    } catch {
      rollback()
      throw error
    }
  }

  /// Runs `body` in a savepoint: released when it returns, undone when it throws. May be nested.
  public func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
    // Outside of a transaction it is one.
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
      // With the transaction the savepoint is gone, too: then these are refused.
      _ = try? execute(sql: "ROLLBACK TO \(name)")
      _ = try? execute(sql: "RELEASE \(name)")
      throw error
    }
  }

  /// Whether a transaction is open.
  public var isInTransaction: Bool { unsafe handle != nil && sqlite3_get_autocommit(handle) == 0 }

  /// Undoes the open transaction, if there is one.
  public func rollback() {
    let hook = hooks.rollback
    defer { hooks.rollback = hook }
    // It was called when the engine took the transaction back; what stands in its place is nobody's.
    if transactionLoss != nil { hooks.rollback = nil }
    (isTransactionOwed, isForWriting, transactionLoss, triggered) = (false, false, nil, nil)
    // A failed ROLLBACK leaves nothing to roll back: SQLite ended the transaction itself.
    if isInTransaction { _ = try? execute("ROLLBACK") }
  }

  /// Whether the engine has taken back the transaction that is open for whoever began it: all that asks for it fails.
  package var hasLostTransaction: Bool { transactionLoss != nil }

  /// Notes where the engine has taken back the open transaction by itself, which it does for some errors. From then on all that
  /// asks for the engine throws this error, until whoever began the transaction ends it.
  ///
  /// Asked by every call that fails, and by none that does not.
  func noteLostTransaction(_ error: SQLError) {
    // Also where nobody owes anything, having begun by hand.
    triggered = nil
    guard isTransactionOwed, transactionLoss == nil, !isInTransaction, let handle = unsafe handle else {
      return
    }
    transactionLoss = error
    // What asks for nothing more, a statement that somebody keeps and steps, would else be committed at once, by itself. It is taken
    // back with this one.
    unsafe sqlite3_exec(handle, "BEGIN", nil, nil, nil)
  }

  // MARK: By hand

  /// Runs `body` in a transaction that ends as it says; an error rolls it back too.
  ///
  /// Inside another transaction it becomes a savepoint.
  public func inTransaction(_ kind: TransactionKind = .immediate, _ body: () throws -> TransactionEnd) throws
  {
    struct Asked: Error {}
    do {
      try transaction(kind) { () throws -> Void in
        if try body() == .rollback { throw Asked() }
      }
    } catch is Asked {}
  }

  /// Begins a transaction that ``commit()`` or ``rollback()`` ends. Closures are safer: they end what they began, and where the engine
  /// takes the transaction back by itself, as it does where the disk is full, nothing is written behind it.
  /// - Throws: ``SQLError/engine(code:extendedCode:message:sql:)`` inside a transaction;
  ///   ``SQLError/busy(file:waitedSeconds:holders:)``.
  public func begin(_ kind: TransactionKind = .immediate) throws {
    try execute(sql: kind.beginning)
    isForWriting = kind != .deferred
  }

  /// Makes the open transaction's changes stay.
  ///
  /// Of a transaction that was begun for writing it is asked first whether the file still lies at its path: in WAL mode the engine
  /// would go on to write into one that was deleted, or that another has replaced. Costs one call of the system.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)``, ``SQLError/fileReplaced(file:)``,
  ///   ``SQLError/constraint(message:extendedCode:sql:)`` for references that lead nowhere: the transaction is then still open.
  public func commit() throws {
    try checkOpen()
    if isForWriting, isGone { throw SQLError.fileReplaced(file: path) }
    try execute(sql: "COMMIT")
    (isTransactionOwed, isForWriting) = (false, false)
  }

  /// Begins a savepoint of this name; begins a transaction too when there is none.
  public func beginSavepoint(_ name: String) throws { try execute(sql: "SAVEPOINT \(quoted(name))") }

  /// Ends a savepoint, and those begun after it; the changes stay as far as the transaction does.
  public func releaseSavepoint(_ name: String) throws { try execute(sql: "RELEASE \(quoted(name))") }

  /// Undoes what was done since the savepoint, which stays open.
  public func rollBack(toSavepoint name: String) throws {
    triggered = nil
    try execute(sql: "ROLLBACK TO \(quoted(name))")
  }
}
