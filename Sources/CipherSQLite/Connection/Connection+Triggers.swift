// Which tables have triggers: what a statement says about conflicts goes for the triggers that it fires, too, whatever they
// say themselves (lang_createtrigger.html), so that who says something has to ask before.

extension Connection {
  /// Whether a write to a table of the file may fire triggers.
  ///
  /// Costs two numbers of the file. All of the schema is read behind a change of it, and where something was undone.
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
