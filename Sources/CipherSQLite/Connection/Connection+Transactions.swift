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
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)`` after the busy timeout, and what `body` throws.
  public func transaction<Result>(
    _ kind: TransactionKind = .immediate, _ body: () throws -> Result
  ) throws -> Result {
    guard !isInTransaction else { return try savepoint(body) }
    stateBeforeTransaction = kind == .deferred ? sharedState : nil
    defer { stateBeforeTransaction = nil }
    try execute(sql: "BEGIN \(kind.rawValue)")
    do {
      let result = try body()
      try execute("COMMIT")
      return result
    } catch {
      rollback()
      throw error
    }
  }

  /// Runs `body` in a savepoint: released when it returns, undone when it throws. May be nested.
  public func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
    transactionDepth += 1
    let name = "vault_\(transactionDepth)"
    defer { transactionDepth -= 1 }
    try execute(sql: "SAVEPOINT \(name)")
    do {
      let result = try body()
      try execute(sql: "RELEASE \(name)")
      return result
    } catch {
      // An I/O error or a full disk may have rolled everything back already; then there is no savepoint.
      if isInTransaction {
        _ = try? execute(sql: "ROLLBACK TO \(name)")
        _ = try? execute(sql: "RELEASE \(name)")
      }
      throw error
    }
  }

  /// Whether a transaction is open.
  public var isInTransaction: Bool { unsafe handle != nil && sqlite3_get_autocommit(handle) == 0 }

  /// Undoes the open transaction, if there is one.
  public func rollback() {
    // A failed ROLLBACK leaves nothing to roll back: SQLite ended the transaction itself.
    if isInTransaction { _ = try? execute("ROLLBACK") }
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

  /// Begins a transaction that ``commit()`` or ``rollback()`` ends. Closures are safer: they end what they began.
  /// - Throws: ``SQLError/engine(code:extendedCode:message:sql:)`` inside a transaction;
  ///   ``SQLError/busy(file:waitedSeconds:holders:)``.
  public func begin(_ kind: TransactionKind = .immediate) throws {
    try execute(sql: "BEGIN \(kind.rawValue)")
  }

  /// Makes the open transaction's changes stay.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)``, ``SQLError/constraint(message:extendedCode:sql:)`` for
  ///   references that lead nowhere: the transaction is then still open.
  public func commit() throws { try execute("COMMIT") }

  /// Begins a savepoint of this name; begins a transaction too when there is none.
  public func beginSavepoint(_ name: String) throws { try execute(sql: "SAVEPOINT \(quoted(name))") }

  /// Ends a savepoint, and those begun after it; the changes stay as far as the transaction does.
  public func releaseSavepoint(_ name: String) throws { try execute(sql: "RELEASE \(quoted(name))") }

  /// Undoes what was done since the savepoint, which stays open.
  public func rollBack(toSavepoint name: String) throws { try execute(sql: "ROLLBACK TO \(quoted(name))") }
}
