// What a store told its listeners, for a test to look at without waiting.

internal import CipherSQLite
public import ObjectVault

/// Records the commits of a store.
///
/// ```swift
/// let recorder = ChangeRecorder(store)
/// try await store.write { context in
///   _ = context.insert(User.self) { $0.name = "Binger" }
/// }
/// let commits = try recorder.take()
/// let inserted = commits.flatMap(\.inserted).map(\.entity)
/// ```
///
/// A commit is told before the call that made it returns, so that what a test waited for is there when it asks.
public final class ChangeRecorder: Sendable {
  private let changes: StoreChanges

  /// Records what is committed from now on. Commits of other processes are not told.
  public init(_ store: Store) { changes = store.changes(bufferingUpTo: Int.max >> 1) }

  /// The commits since the last call, in their order.
  /// - Throws: ``CheckFailure`` when the recorder was made while a write ran, whose commit nobody wrote down.
  public func take() throws -> [ChangeSet] {
    try changes.takeWaiting().map { change in
      switch change {
      case .committed(let changes): return changes
      case .missed(let commits):
        throw CheckFailure(
          "ChangeRecorder", "take", ["\(counted(commits, "commit was", "commits were")) not written down"],
          advice: "Make the recorder before the write begins.")
      }
    }
  }

  /// The commits since the last call, as one.
  /// - Throws: As ``take()``.
  public func takeMerged() throws -> ChangeSet {
    ChangeSet(merging: try take())
  }
}
