// How a context accesses the file: on pooled connections, or inside a transaction.

internal import CipherSQLite

/// How a context accesses the file.
enum ContextAccess {
  /// Each read uses any pooled reader; each save has a transaction of its own.
  case pooled(ConnectionPool)
  /// Reads inside a transaction. The pool's readers may read parts of the snapshot at the same time.
  case reading(Connection, beside: ConnectionPool)
  /// Works inside a writing transaction. The readers of `committed` see the last commit. Whether saves
  /// record their changes is decided at the beginning: a listener that is added later gets a gap, not a
  /// part of the changes.
  case writing(Connection, committed: ConnectionPool?, isRecording: Bool)

  /// The connection of the transaction; nil outside of one.
  var connection: Connection? {
    switch self {
    case .pooled: nil
    case .reading(let connection, _), .writing(let connection, _, _): connection
    }
  }

  /// The connection of a writing transaction; nil otherwise.
  var writer: Connection? { if case .writing(let connection, _, _) = self { connection } else { nil } }

  /// Whether the context belongs to a step of a migration.
  var isMigrating: Bool { if case .writing(_, nil, _) = self { true } else { false } }

  var canWrite: Bool { if case .reading = self { false } else { true } }

  /// The pool whose readers may read at the same time as the context; nil in a write, whose changes other
  /// connections cannot see.
  var readers: ConnectionPool? {
    switch self {
    case .pooled(let pool), .reading(_, let pool): pool
    case .writing: nil
    }
  }

  /// The pool whose readers see the last commit, in a write.
  var committed: ConnectionPool? { if case .writing(_, let pool, _) = self { pool } else { nil } }

  /// Whether the transaction's saves record their changes; nil if each save decides.
  var isRecording: Bool? {
    switch self {
    case .pooled: nil
    case .reading: false
    case .writing(_, _, let isRecording): isRecording
    }
  }
}
