// Notifies the listeners of commits.

internal import CipherSQLite

extension ObjectContext {
  /// Whether saves record their changes for listeners.
  var records: Bool { access.isRecording ?? core.feed.isHeard }

  /// Notifies the listeners that the transaction is committed. Called before the next one begins.
  func publishTransaction() {
    guard written.hasAny else { return }
    publish(written.changes)
  }

  /// Notifies the listeners of a commit. Called before the next one. nil stands for the changes of a
  /// commit that was not recorded.
  func publish(_ collector: ChangeCollector?) {
    guard let collector else {
      return core.feed.skip(except: merging?.queue, isPartOfGroup: sharesTransaction)
    }
    guard !collector.isEmpty else { return }
    var changes = collector.changes
    (changes.author, changes.name) = (author, transactionName)
    core.feed.publish(
      changes, store: core.id, except: merging?.queue, isPartOfGroup: sharesTransaction)
  }
}
