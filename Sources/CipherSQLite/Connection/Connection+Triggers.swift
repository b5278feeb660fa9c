// Which tables have triggers: what a statement says about conflicts goes for the triggers that it fires, too, whatever they
// say themselves (lang_createtrigger.html), so that who says something has to ask before.

/// The tables whose rows fire triggers, and until when that holds.
struct TriggeredTables {
  /// The number of the transaction that saw them.
  let transaction: Int
  /// Those of the schemas of the file and of what is temporary: each change of one of them gives it another.
  let versions: [SQLValue?]
  /// In lower case, as far as SQLite takes capitals for small letters.
  let names: Set<String>
}

extension Connection {
  /// Whether a write to a table of the file may fire triggers.
  ///
  /// Costs two numbers of the file. All of the schema is read once in each transaction, and once more behind each change of it.
  package func firesTriggers(table: String) throws -> Bool {
    let versions = [
      try value(sql: "PRAGMA main.schema_version"), try value(sql: "PRAGMA temp.schema_version"),
    ]
    if let triggered, triggered.transaction == transactionNumber, triggered.versions == versions {
      return triggered.names.contains(table.asciiLowercased)
    }
    let names = try rows(
      sql: """
        SELECT tbl_name FROM (SELECT type, tbl_name FROM sqlite_master UNION ALL SELECT type, tbl_name FROM sqlite_temp_master)
        WHERE type = 'trigger'
        """
    ).compactMap { $0[0].string?.asciiLowercased }
    let found = TriggeredTables(transaction: transactionNumber, versions: versions, names: Set(names))
    triggered = found
    return found.names.contains(table.asciiLowercased)
  }
}
