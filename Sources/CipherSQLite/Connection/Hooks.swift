// The values that a connection's hooks report, and the closures that receive them.

/// A row that a statement of this connection inserted, updated or deleted.
public struct RowChange: Sendable, Hashable {
  /// The kind of change.
  public enum Kind: Sendable, Hashable {
    /// The row was inserted.
    case insert
    /// The row was updated.
    case update
    /// The row was deleted.
    case delete
  }
  /// The kind of change.
  public let kind: Kind
  /// The database: `main`, or the name of an attached one.
  public let database: String
  /// The table.
  public let table: String
  /// The row's id; after an update the new one.
  public let rowID: Int64
}

/// A statement that has ended: it ran to its end, failed, or was reset before.
public struct TraceEvent: Sendable, Hashable {
  /// The SQL text, with `?` for each value, or with the values if they were requested. It never contains a
  /// key.
  public let sql: String
  /// The time from the first step of the statement until it ended, in seconds.
  public let seconds: Double
  /// The number of rows that the statement returned, or else the number that it changed, with those that
  /// triggers and delete rules changed.
  public let rows: Int
}

/// What is counted while a statement runs.
struct RunningStatement {
  /// The numbers of changed and of received rows when the statement began.
  let changes: Int
  let received: Int
  /// The number of rows that it returned.
  var rows = 0
}

/// The closures that the engine's hooks call.
struct Hooks {
  var commit: (() -> Bool)?
  var rollback: (() -> Void)?
  var update: ((RowChange) -> Void)?
  var trace: ((TraceEvent) -> Void)?
  var showsValues = false
  /// The statements that run while `trace` is set, by their address.
  var running: [UInt: RunningStatement] = [:]
  var busy: ((Int) -> Bool)?
  var progress: (() -> Bool)?
  /// Whether the progress handler checks for cancellation.
  var isWatching = false
}
