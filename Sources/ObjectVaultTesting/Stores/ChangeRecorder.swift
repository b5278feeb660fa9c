// Records what a store reports to its observers, so that a test can examine it without waiting.

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
/// A commit is recorded before the call that made it returns, so a test finds it at once.
public final class ChangeRecorder: Sendable {
  private let changes: StoreChanges

  /// Records what this store commits from now on.
  /// - Parameter store: The store.
  public init(_ store: Store) { changes = store.changes(bufferingUpTo: Int.max >> 1) }

  /// Returns the commits since the last call, in their order.
  /// - Throws: ``CheckFailure`` when the recorder was created during a write, whose commit it missed, and
  ///   when others have committed to the file.
  public func take() throws -> [ChangeSet] {
    try changes.takeUndelivered().map { change in
      switch change {
      case .committed(let changes): return changes
      case .changedElsewhere:
        throw CheckFailure(
          "ChangeRecorder", at: "take",
          findings: ["another process, or another store on the file, has committed"],
          advice: "Use a store of its own for each test.")
      case .missed(let commits):
        throw CheckFailure(
          "ChangeRecorder", at: "take",
          findings: ["\(counted(commits, "commit was", plural: "commits were")) not recorded"],
          advice: "Create the recorder before the write begins.")
      }
    }
  }

  /// Returns the commits since the last call, merged into one.
  /// - Throws: The errors of ``take()``.
  public func takeMerged() throws -> ChangeSet {
    ChangeSet(merging: try take())
  }
}
