// The statements of a trigger that write, as far as their first words tell: SQLite allows no WITH before them there.

/// A statement of a trigger that writes rows.
struct TriggerWrite {
  /// Whether it makes rows.
  let isInsertion: Bool
  /// Into which table it inserts, in lower case and without quotes; nil for other statements, and where a name stands
  /// behind a dollar sign.
  let table: String?

  /// Those of the SQL behind a trigger's name.
  static func all(in sql: String) -> [TriggerWrite] {
    var scanner = SQLScanner(sql)
    var (writes, verb, isBeginning): ([TriggerWrite], String?, Bool) = ([], nil, false)
    while let piece = scanner.next() {
      let text = scanner.text(piece.range)
      if piece.kind == .comment || text.unicodeScalars.allSatisfy(\.properties.isWhitespace) { continue }
      let word = text.lowercased()
      if let found = verb {
        // INSERT OR IGNORE INTO table, REPLACE INTO table.
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
      // A column may be called "begin", too: no statement goes on behind it with one of these words.
      isBeginning = piece.kind == .word && word == "begin" || text == ";"
    }
    return writes
  }
}
