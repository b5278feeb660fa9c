// What the engine tells of its work, as values; and the closures that want to hear of it.

/// A row that a statement of this connection inserted, updated or deleted.
public struct RowChange: Sendable, Hashable {
  /// What happened to it.
  public enum Kind: Sendable, Hashable {
    /// It is new.
    case insert
    /// It was changed.
    case update
    /// It is gone.
    case delete
  }
  /// What happened to it.
  public let kind: Kind
  /// `main`, or the name of an attached file.
  public let database: String
  /// Its table.
  public let table: String
  /// Its id; after an update the new one.
  public let rowID: Int64
}

/// A statement that ran to its end.
public struct TraceEvent: Sendable, Hashable {
  /// Its text: `?` for each value, or the values themselves when they were asked for.
  public let sql: String
  /// How long it took, in seconds, from its first step to its reset.
  public let seconds: Double
}

/// The closures that the engine's hooks call.
struct Hooks {
  var commit: (() -> Bool)?
  var rollback: (() -> Void)?
  var update: ((RowChange) -> Void)?
  var trace: ((TraceEvent) -> Void)?
  var showsValues = false
  var busy: ((Int) -> Bool)?
  var progress: (() -> Bool)?
  /// Whether the engine asks now and then whether the call was cancelled.
  var isWatching = false
}
