// Rows as JSON and as CSV; tables are in TableWriter.swift. Each writer writes a row at once and keeps
// none.

import CipherSQLite
import ObjectVault

/// The formats in which rows are written.
enum RowFormat: String, CaseIterable {
  case table, json, csv, lines

  /// Returns a writer for the format.
  /// - Parameters:
  ///   - width: The cells of a line of the terminal; nil without a terminal.
  ///   - envelope: The name of the command for the JSON object of `--json`, which contains the rows; nil
  ///     without `--json`.
  ///   - mark: The text for nil in CSV.
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

/// A writer of rows in one format.
protocol RowWriter {
  /// Writes what precedes the rows.
  mutating func begin() throws
  mutating func write(_ row: [SQLValue]) throws
  /// Writes what follows the rows.
  mutating func end() throws
}

/// Returns a JSON object for a row, with its keys in the order of the columns.
private func object(_ row: [SQLValue], _ columns: [EntityRows.Column]) -> String {
  let members = zip(columns, row).map { column, value in
    "\(CellText.quoted(column.name)):\(CellText.json(value, column.type))"
  }
  return "{\(members.joined(separator: ","))}"
}

/// Writes one JSON object for each row, each on its own line.
private struct LinesWriter: RowWriter {
  let columns: [EntityRows.Column]
  let sink: RowSink

  func begin() {}
  func write(_ row: [SQLValue]) throws { try sink.write(object(row, columns) + "\n") }
  func end() {}
}

/// Writes one JSON array; with a command, the array is part of the object of `--json`.
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

/// Writes CSV by RFC 4180: lines end with CR LF, and a field with a comma, a quotation mark or a line end
/// is quoted. Nil is an empty field, or the given mark. To differ from nil, an empty text and a text that
/// equals the mark are quoted. With a single column, nil is quoted as well, because readers drop empty
/// lines.
private struct CSVWriter: RowWriter {
  let columns: [EntityRows.Column]
  let sink: RowSink
  /// The text for nil.
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
