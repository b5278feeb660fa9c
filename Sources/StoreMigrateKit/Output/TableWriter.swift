// Rows as a table for people. The widths of the columns are computed from the first rows, which are
// buffered until then. Later rows use the same widths.

import CipherSQLite
import ObjectVault

struct TableWriter: RowWriter {
  /// The limits of the buffer for the widths, in rows and in bytes.
  private static let (sampleRows, sampleBytes) = (500, 1 << 20)
  /// The greatest width of a column without a terminal. Nothing is cut then; a longer value only shifts
  /// the columns after it.
  private static let widestPadding = 80

  private let columns: [EntityRows.Column]
  private let sink: RowSink
  private let width: Int?
  private var waiting: [[String]] = []
  private var waitingBytes = 0
  private var widths: [Int]?

  init(_ columns: [EntityRows.Column], _ sink: RowSink, width: Int?) {
    (self.columns, self.sink, self.width) = (columns, sink, width)
  }

  func begin() {}

  mutating func write(_ row: [SQLValue]) throws {
    let cells = zip(columns, row).map { column, value in
      let text = CellText.cell(value, column.type)
      return width.map { CellWidth.cut(text, to: $0) } ?? text
    }
    if let widths { return try sink.write(line(cells, widths)) }
    waiting.append(cells)
    waitingBytes += cells.reduce(0) { $0 + $1.utf8.count }
    if waiting.count >= Self.sampleRows || waitingBytes >= Self.sampleBytes { try writeWaiting() }
  }

  mutating func end() throws { if widths == nil { try writeWaiting() } }

  private mutating func writeWaiting() throws {
    let names = columns.map { CellText.visible($0.name) }
    let widths = fitting(
      columns.indices.map { column in
        waiting.reduce(CellWidth.of(names[column])) { max($0, CellWidth.of($1[column])) }
      })
    self.widths = widths
    try sink.write(line(names, widths))
    try sink.write(line(widths.map { String(repeating: "-", count: $0) }, widths))
    for cells in waiting { try sink.write(line(cells, widths)) }
    waiting = []
  }

  /// Returns the widths that fit on the terminal. The widest columns are narrowed first.
  private func fitting(_ wanted: [Int]) -> [Int] {
    guard let width else { return wanted.map { min($0, Self.widestPadding) } }
    var widths = wanted
    let room = max(width - 2 * (widths.count - 1), widths.count * 4)
    while widths.reduce(0, +) > room, let widest = widths.max(), let place = widths.firstIndex(of: widest) {
      widths[place] -= 1
    }
    return widths
  }

  private func line(_ cells: [String], _ widths: [Int]) -> String {
    var line = ""
    for (index, cell) in cells.enumerated() {
      let text = width == nil ? cell : CellWidth.cut(cell, to: widths[index])
      let padding = String(repeating: " ", count: max(0, widths[index] - CellWidth.of(text)))
      if index > 0 { line += "  " }
      if columns[index].type.isNumber {
        line += padding + text
      } else {
        // No spaces at the end of a line.
        line += index == cells.count - 1 ? text : text + padding
      }
    }
    return line + "\n"
  }
}

extension AttributeType {
  /// Whether values are aligned to the right. Numbers are, booleans are not.
  fileprivate var isNumber: Bool { traits.isNumeric && !traits.isTruth }
}
