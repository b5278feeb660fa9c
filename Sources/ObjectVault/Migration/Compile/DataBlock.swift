// The SQL of a data block, with what one pass over its text finds.

/// The statements of a data block, as the engine gets them.
package struct DataBlock: Hashable {
  let sql: String
  /// The tables whose names occur in it, in any quotes.
  package let tables: Set<String>
  /// How many rows its lists of values have.
  package let valueRows: Int

  /// - Parameter names: The tables that there are.
  package init(_ sql: String, among names: [String]) {
    let known = Dictionary(names.map { ($0.lowercased(), $0) }) { first, _ in first }
    // A longer piece is the name of no table. In capitals a letter may take three times the bytes.
    let longest = 3 * (known.keys.map(\.utf8.count).max() ?? 0) + 2
    var (scanner, rows) = (SQLScanner(sql), ValueRows())
    var (tables, met): (Set<String>, Set<String>) = ([], [])
    while let piece = scanner.next() {
      rows.take(piece, of: scanner)
      guard piece.kind == .word || piece.kind == .text, piece.range.count <= longest,
        // A number is no name.
        piece.kind == .text || !("0"..."9").contains(scanner.sign(of: piece))
      else { continue }
      let name = piece.kind == .text ? scanner.content(of: piece) : scanner.text(piece.range)
      if piece.kind == .word, !met.insert(name).inserted { continue }
      if let table = known[name.lowercased()] { tables.insert(table) }
    }
    (self.sql, self.tables, valueRows) = (sql, tables, rows.count)
  }

  /// Counts the rows of lists of values.
  private struct ValueRows {
    private(set) var count = 0
    private var (depth, isInList, isBehindComma) = (0, false, false)

    mutating func take(_ piece: SQLScanner.Piece, of scanner: SQLScanner) {
      guard piece.kind != .comment, !scanner.isSpace(piece) else { return }
      switch piece.kind == .other ? scanner.sign(of: piece) : " " {
      case "(":
        if isInList, depth == 0, isBehindComma { count += 1 }
        depth += 1
      case ")": depth -= 1
      case "," where depth == 0: isBehindComma = true
      case _ where depth == 0:
        isInList =
          piece.kind == .word && piece.range.count == 6 && scanner.text(piece.range).lowercased() == "values"
        isBehindComma = isInList
      default: break
      }
      if depth > 0 { isBehindComma = false }
    }
  }
}
