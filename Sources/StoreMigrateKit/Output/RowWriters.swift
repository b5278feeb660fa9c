// Rows as JSON and CSV; as a table, see TableWriter. Each writes a row when it comes and keeps none.

import CipherSQLite
import ObjectVault

/// In what form rows are written.
enum RowFormat: String, CaseIterable {
  case table, json, csv, lines

  /// - Parameters:
  ///   - width: The cells of a line, where there is a terminal.
  ///   - envelope: The command that `--json` names around the rows.
  ///   - mark: What stands for nil in CSV.
  func writer(
    _ columns: [EntityRows.Column], to sink: RowSink, width: Int?, envelope: String?, mark: String
  ) -> any RowWriter {
    switch self {
    case .table: TableWriter(columns, sink, width: width)
    case .json: ArrayWriter(columns: columns, sink: sink, command: envelope)
    case .csv: CSVWriter(columns: columns, sink: sink, mark: mark)
    case .lines: LinesWriter(columns: columns, sink: sink)
    }
  }
}

/// Writes rows in one form.
protocol RowWriter {
  /// What stands before the rows.
  mutating func begin() throws
  mutating func write(_ row: [SQLValue]) throws
  /// What stands behind them.
  mutating func end() throws
}

/// An object of JSON, its keys in the order of the columns.
private func object(_ row: [SQLValue], _ columns: [EntityRows.Column]) -> String {
  let members = zip(columns, row).map { column, value in
    "\(CellText.quoted(column.name)):\(CellText.json(value, column.type))"
  }
  return "{\(members.joined(separator: ","))}"
}

/// One object of JSON a line.
private struct LinesWriter: RowWriter {
  let columns: [EntityRows.Column]
  let sink: RowSink

  func begin() {}
  func write(_ row: [SQLValue]) throws { try sink.write(object(row, columns) + "\n") }
  func end() {}
}

/// One array of JSON; within the envelope of `--json`, where a command is named.
private struct ArrayWriter: RowWriter {
  let columns: [EntityRows.Column]
  let sink: RowSink
  let command: String?
  private var isFirst = true

  init(columns: [EntityRows.Column], sink: RowSink, command: String?) {
    (self.columns, self.sink, self.command) = (columns, sink, command)
  }

  func begin() throws {
    guard let command else { return try sink.write("[") }
    let names = columns.map { CellText.quoted($0.name) }.joined(separator: ",")
    try sink.write(
      "{\"columns\":[\(names)],\"command\":\(CellText.quoted(command)),\"error\":null,\"exit\":0,\"format\":1,"
        + "\"ok\":true,\"rows\":[")
  }

  mutating func write(_ row: [SQLValue]) throws {
    try sink.write((isFirst ? "\n" : ",\n") + object(row, columns))
    isFirst = false
  }

  func end() throws {
    try sink.write((isFirst ? "]" : "\n]") + (command == nil ? "\n" : ",\"tool\":\"store-migrate\"}\n"))
  }
}

/// RFC 4180: lines end with CR LF, and what holds a comma, a quotation mark or a line end stands in quotation marks. Nil
/// is an empty field, or what stands for it; an empty text is a pair of quotation marks, and so is a text that is what
/// stands for nil. A line of one empty field would be an empty line, which readers drop: there nil has the marks, too.
private struct CSVWriter: RowWriter {
  let columns: [EntityRows.Column]
  let sink: RowSink
  /// What stands for nil.
  let mark: String

  init(columns: [EntityRows.Column], sink: RowSink, mark: String) {
    (self.columns, self.sink) = (columns, sink)
    self.mark = mark.isEmpty && columns.count == 1 ? "\"\"" : mark
  }

  func begin() throws { try sink.write(columns.map { field($0.name) }.joined(separator: ",") + "\r\n") }
  func end() {}

  func write(_ row: [SQLValue]) throws {
    let fields = zip(columns, row).map { column, value in
      value.isNull ? mark : field(CellText.plain(value, column.type))
    }
    try sink.write(fields.joined(separator: ",") + "\r\n")
  }

  private func field(_ text: String) -> String {
    let isPlain =
      !text.isEmpty && text != mark && !text.utf8.contains { [0x22, 0x2C, 0x0A, 0x0D].contains($0) }
    return isPlain ? text : text.enclosed(in: "\"")
  }
}
