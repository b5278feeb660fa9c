// A read or a write of a store: from its body to the end of its transaction. The calls that suspend their
// task and those that block their thread share this code.

internal import CipherSQLite

/// A read on one snapshot.
struct ReadingWork: Sendable {
  let core: StoreCore
  let pool: ConnectionPool

  /// Runs the body of a read on a connection that has a transaction.
  func run<Result>(on connection: Connection, _ body: (ObjectContext) throws -> Result) throws -> Result {
    // Another model may use the same names for other data, which would then be misread.
    try core.checkGeneration(connection)
    let context = ObjectContext(core: core, access: .reading(connection, beside: pool))
    let result = try body(context)
    if let error = context.faultErrors.first { throw error }
    return result
  }
}

// Safe to share: `context` is set on the writer's queue while the body runs, read there after the commit,
// and then by the caller that waited for the end of the write.
/// A write in one transaction.
final class WritingWork: @unchecked Sendable {
  private let core: StoreCore
  private let pool: ConnectionPool
  private let sharesTransaction: Bool
  private var context: ObjectContext?

  /// - Parameter sharesTransaction: Whether other writes are part of the transaction.
  init(core: StoreCore, pool: ConnectionPool, sharesTransaction: Bool = false) {
    (self.core, self.pool, self.sharesTransaction) = (core, pool, sharesTransaction)
  }

  /// Runs the body of a write on the writer, which has a transaction, and saves the changes.
  func run<Result>(on connection: Connection, _ body: (ObjectContext) throws -> Result) throws -> Result {
    try core.beginWriting(connection)
    let context = ObjectContext(
      core: core, access: .writing(connection, committed: pool, isRecording: core.feed.isHeard),
      sharesTransaction: sharesTransaction)
    self.context = context
    let result = try body(context)
    try context.saveBeforeCommit()
    if let error = context.faultErrors.first { throw error }
    try context.endHistory(context.written.history, on: connection)
    return result
  }

  /// Notifies the listeners after the commit, before the next write begins.
  func publish() {
    core.reservedIDs.commit()
    context?.publishTransaction()
  }

  /// Releases the context after a commit.
  func end() { context = nil }

  /// Makes the objects invalid after a failure: saves inside the body have updated them, but the transaction
  /// was rolled back.
  func abandon() { context?.abandon() }
}
