// The SQL of a data block, with the tables that it names and the number of rows in its VALUES lists,
// found in one pass.

/// The SQL of a data block, in the form that the engine gets.
package struct DataBlock: Hashable {
  let sql: String
  /// The tables whose names occur in the SQL, quoted or unquoted.
  package let tables: Set<String>
  /// The number of rows in the SQL's VALUES lists.
  package let valueRows: Int

  /// Scans the SQL of a data block.
  /// - Parameter names: The names of all tables.
  package init(_ sql: String, among names: [String]) {
    let known = Dictionary(names.map { ($0.lowercased(), $0) }) { first, _ in first }
    // A longer word cannot be the name of a table. Lowercasing may change the length in bytes, at most by
    // a factor of three.
    let longest = 3 * (known.keys.map(\.utf8.count).max() ?? 0) + 2
    var (scanner, rows) = (SQLScanner(sql), ValueRows())
    var (tables, met): (Set<String>, Set<String>) = ([], [])
    while let piece = scanner.next() {
      rows.take(piece, of: scanner)
      guard piece.kind == .word || piece.kind == .text, piece.range.count <= longest,
        // A word that begins with a digit is a number.
        piece.kind == .text || !("0"..."9").contains(scanner.sign(of: piece))
      else { continue }
      let name = piece.kind == .text ? scanner.content(of: piece) : scanner.text(piece.range)
      if piece.kind == .word, !met.insert(name).inserted { continue }
      if let table = known[name.lowercased()] { tables.insert(table) }
    }
    (self.sql, self.tables, valueRows) = (sql, tables, rows.count)
  }

  /// Counts the rows of VALUES lists.
  private struct ValueRows {
    private(set) var count = 0
    private var (depth, isInList, isAfterComma) = (0, false, false)

    mutating func take(_ piece: SQLScanner.Piece, of scanner: SQLScanner) {
      guard piece.kind != .comment, !scanner.isSpace(piece) else { return }
      switch piece.kind == .other ? scanner.sign(of: piece) : " " {
      case "(":
        if isInList, depth == 0, isAfterComma { count += 1 }
        depth += 1
      case ")": depth -= 1
      case "," where depth == 0: isAfterComma = true
      case _ where depth == 0:
        isInList =
          piece.kind == .word && piece.range.count == 6 && scanner.text(piece.range).lowercased() == "values"
        isAfterComma = isInList
      default: break
      }
      if depth > 0 { isAfterComma = false }
    }
  }
}
