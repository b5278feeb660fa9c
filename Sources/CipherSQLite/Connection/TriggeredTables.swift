// The tables with triggers that a connection has found in its schema.

/// The tables that have triggers.
struct TriggeredTables {
  struct Versions: Equatable {
    let file: Int64?
    let temporary: Int64?
  }

  /// The versions of the file's schema and of the temporary schema. Each change of a schema increments
  /// its version. A rollback restores the old version, so the next change gets a version that was used
  /// before. Therefore the cached result is discarded after a rollback.
  let versions: Versions
  /// The names of the tables in lower case (ASCII letters only, as SQLite compares them).
  let names: Set<String>
}
