// The lines of a step's operations in its file, for findings and messages.

/// The lines at which the operations of a step begin, counted from 1, in the order of the operations.
/// Empty for a step that was not parsed from a text.
///
/// Any two values are equal, so that the lines make no difference between steps with equal operations.
struct OperationLines: Sendable, Hashable {
  private let numbers: [Int]

  init(_ numbers: [Int] = []) { self.numbers = numbers }

  static func == (left: Self, right: Self) -> Bool { true }
  func hash(into hasher: inout Hasher) {}

  subscript(index: Int) -> Int? { numbers.indices.contains(index) ? numbers[index] : nil }
}

extension MigrationStep {
  /// Returns the line of an operation; if several operations are equal, the line of the first one.
  func line(of operation: MigrationOperation) -> Int? {
    operations.firstIndex(of: operation).flatMap { lines[$0] }
  }

  /// Returns the message for a `require` whose author wrote none: the line of the operation, and the
  /// query on one line.
  func words(for query: String, of operation: MigrationOperation) -> String {
    "the query\(atLine(of: operation)) is true "
      + "(\(query.split(whereSeparator: \.isWhitespace).joined(separator: " ")))"
  }

  /// Returns ` at line 7`, for example; empty if the line is unknown.
  func atLine(of operation: MigrationOperation) -> String {
    line(of: operation).map { " at line \($0)" } ?? ""
  }

  /// Returns the file's name and the line of the operation whose summary is `summary`; only the name
  /// unless exactly one operation of `[up]` has this summary.
  package func place(ofOperation summary: String) -> String { place(of: summary, among: operations, lines) }

  /// Returns the file's name and the line of the operation in `[down]` whose summary is `summary`; only
  /// the name unless exactly one operation of `[down]` has this summary.
  func place(ofDownOperation summary: String) -> String { place(of: summary, among: down ?? [], downLines) }

  private func place(of summary: String, among operations: [MigrationOperation], _ lines: OperationLines)
    -> String
  {
    let found = operations.indices.filter { operations[$0].summary == summary }
    guard found.count == 1, let line = lines[found[0]] else { return fileName }
    return "\(fileName):\(line)"
  }
}
