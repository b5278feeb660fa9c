// The triggers that a connection has found in its schema.

/// The tables that have triggers.
struct TriggeredTables {
  struct Versions: Equatable {
    let file: Int64?
    let temporary: Int64?
  }

  /// The versions of the file's schema and of the temporary schema, which change with each change of that
  /// schema. A rollback restores the old number, so the next change gets a number that was used before.
  /// Therefore the cached result is discarded after a rollback.
  let versions: Versions
  /// The names of the tables in lower case (ASCII letters only, as SQLite compares them).
  let names: Set<String>
}
