// Determines which tables have triggers. The conflict clause of a statement overrides the conflict clauses
// in the triggers that it fires (lang_createtrigger.html). So callers check for triggers before they use
// such a clause.

extension Connection {
  /// Returns whether a write to a table of the file may fire triggers.
  ///
  /// Reads two version numbers. The whole schema is only read if one of them has changed, or after a
  /// rollback.
  package func firesTriggers(table: String) throws -> Bool {
    let versions = TriggeredTables.Versions(
      file: try value(sql: "PRAGMA main.schema_version")?.int64,
      temporary: try value(sql: "PRAGMA temp.schema_version")?.int64)
    if let triggered, triggered.versions == versions {
      return !triggered.names.isEmpty && triggered.names.contains(table.asciiLowercased)
    }
    let names = try rows(
      sql: """
        SELECT tbl_name FROM (SELECT type, tbl_name FROM sqlite_master UNION ALL SELECT type, tbl_name FROM sqlite_temp_master)
        WHERE type = 'trigger'
        """
    ).compactMap { $0[0].string?.asciiLowercased }
    let found = TriggeredTables(versions: versions, names: Set(names))
    triggered = found
    return found.names.contains(table.asciiLowercased)
  }
}
