// Finds the writing statements of a trigger by their first words. This is enough, because SQLite allows
// no WITH before a statement in a trigger.

/// A statement of a trigger that writes rows.
struct TriggerWrite {
  /// Whether it inserts rows.
  let isInsertion: Bool
  /// The table that it inserts into, in lower case and without quotes; nil for other statements, and for
  /// a name with a dollar sign.
  let table: String?

  /// Returns the writing statements in the SQL after a trigger's name.
  static func all(in sql: String) -> [TriggerWrite] {
    var scanner = SQLScanner(sql)
    var (writes, verb, isBeginning): ([TriggerWrite], String?, Bool) = ([], nil, false)
    while let piece = scanner.next() {
      let text = scanner.text(piece.range)
      if piece.kind == .comment || text.unicodeScalars.allSatisfy(\.properties.isWhitespace) { continue }
      let word = text.lowercased()
      if let found = verb {
        // As in INSERT OR IGNORE INTO table and REPLACE INTO table.
        if word == "into" {
          verb = "into"
        } else if found == "into" {
          let name = piece.kind == .text ? String(word.dropFirst().dropLast()) : word
          writes.append(TriggerWrite(isInsertion: true, table: piece.kind == .other ? nil : name))
          verb = nil
        }
      } else if isBeginning, piece.kind == .word {
        switch word {
        case "insert", "replace": verb = word
        case "update", "delete": writes.append(TriggerWrite(isInsertion: false, table: nil))
        default: break
        }
      }
      // A column may also be called "begin", but INSERT, REPLACE, UPDATE and DELETE cannot follow a
      // column's name.
      isBeginning = piece.kind == .word && word == "begin" || text == ";"
    }
    return writes
  }
}
