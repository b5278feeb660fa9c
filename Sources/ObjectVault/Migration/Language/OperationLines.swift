// The lines of a step's operations in its file, so that findings can report a place.

/// The lines at which the operations of a step begin, counted from 1, in the order of the operations.
/// Empty for a step that was not parsed from a text.
///
/// Two values are always equal, so that steps with equal operations are equal wherever their lines are.
struct OperationLines: Sendable, Hashable {
  private let numbers: [Int]

  init(_ numbers: [Int] = []) { self.numbers = numbers }

  static func == (left: Self, right: Self) -> Bool { true }
  func hash(into hasher: inout Hasher) {}

  subscript(index: Int) -> Int? { numbers.indices.contains(index) ? numbers[index] : nil }
}

extension MigrationStep {
  /// Returns the line of an operation; of the first one where several are equal.
  func line(of operation: MigrationOperation) -> Int? {
    operations.firstIndex(of: operation).flatMap { lines[$0] }
  }

  /// Returns a message for a `require` whose author wrote none: the query itself, on one line.
  func words(for query: String, of operation: MigrationOperation) -> String {
    "the query\(atLine(of: operation)) is true "
      + "(\(query.split(whereSeparator: \.isWhitespace).joined(separator: " ")))"
  }

  /// Returns ` at line 7`, or an empty string.
  func atLine(of operation: MigrationOperation) -> String {
    line(of: operation).map { " at line \($0)" } ?? ""
  }

  /// Returns the file's name, with the line of the operation that has this summary. The line is omitted
  /// where several operations have it.
  package func place(ofOperation summary: String) -> String { place(of: summary, among: operations, lines) }

  /// Returns the file's name, with the line of the operation of `[down]` that has this summary.
  func place(ofWayBack summary: String) -> String { place(of: summary, among: down ?? [], downLines) }

  private func place(of summary: String, among operations: [MigrationOperation], _ lines: OperationLines)
    -> String
  {
    let found = operations.indices.filter { operations[$0].summary == summary }
    guard found.count == 1, let line = lines[found[0]] else { return fileName }
    return "\(fileName):\(line)"
  }
}
