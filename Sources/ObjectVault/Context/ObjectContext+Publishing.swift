// Telling those who listen what was committed.

internal import CipherSQLite

extension ObjectContext {
  /// Whether saves are written down.
  var records: Bool { access.isRecording ?? core.feed.isHeard }

  /// Tells the listeners that the transaction is committed. Called before the next one begins.
  func publishTransaction() {
    guard written.hasAny else { return }
    publish(written.changes)
  }

  /// Tells the listeners of a commit. Called before the next one.
  func publish(_ collector: ChangeCollector?) {
    guard let collector else { return core.feed.skip() }
    guard !collector.isEmpty else { return }
    var changes = collector.changes
    (changes.author, changes.name) = (author, transactionName)
    core.feed.publish(changes, store: core.id)
  }
}
