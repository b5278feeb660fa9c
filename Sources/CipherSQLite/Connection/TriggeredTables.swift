// What a connection has seen of the triggers of its schema.

/// The tables whose rows fire triggers.
struct TriggeredTables {
  struct Versions: Equatable {
    let file: Int64?
    let temporary: Int64?
  }

  /// Those of the schemas of the file and of what is temporary: each change of one of them gives it another. One that is undone
  /// gives it back, and the next one would give it the same: what was seen is forgotten then.
  let versions: Versions
  /// In lower case, as far as SQLite takes capitals for small letters.
  let names: Set<String>
}
