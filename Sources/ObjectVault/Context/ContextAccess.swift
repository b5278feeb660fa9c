// How a context reaches the file, and what follows from it.

internal import CipherSQLite

/// How a context reaches the file.
enum ContextAccess {
  /// Reads on any reader, each read for itself; saves in a transaction of its own.
  case pooled(ConnectionPool)
  /// Reads inside a transaction, of whose snapshot the readers of the pool may read a part.
  case reading(Connection, beside: ConnectionPool)
  /// Works inside a transaction that writes. The readers of `committed` see the last commit. Whether saves are written down is
  /// decided at the beginning: who begins to listen meanwhile is told of a gap, and not of a part of the changes.
  case writing(Connection, committed: ConnectionPool?, isRecording: Bool)

  /// The connection of the transaction; nil outside of one.
  var connection: Connection? {
    switch self {
    case .pooled: nil
    case .reading(let connection, _), .writing(let connection, _, _): connection
    }
  }

  /// The connection of a transaction that writes; else nil.
  var writer: Connection? { if case .writing(let connection, _, _) = self { connection } else { nil } }

  /// Whether the context belongs to a step of a migration.
  var isMigrating: Bool { if case .writing(_, nil, _) = self { true } else { false } }

  var canWrite: Bool { if case .reading = self { false } else { true } }

  /// Whose readers may read beside the context's own; nil where what it reads is not committed yet.
  var readers: ConnectionPool? {
    switch self {
    case .pooled(let pool), .reading(_, let pool): pool
    case .writing: nil
    }
  }

  /// Whose readers see the last commit, for a write.
  var committed: ConnectionPool? { if case .writing(_, let pool, _) = self { pool } else { nil } }

  /// Whether the saves of a transaction are written down; nil where each save decides it.
  var isRecording: Bool? {
    switch self {
    case .pooled: nil
    case .reading: false
    case .writing(_, _, let isRecording): isRecording
    }
  }
}
