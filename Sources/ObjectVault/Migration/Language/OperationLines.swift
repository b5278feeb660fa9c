// Where the operations of a step stand in its file, so that findings can say where to look.

/// The lines at which the operations of a step begin, counted from 1, in their order; none for a step that no text was
/// parsed for.
///
/// Steps that do the same are the same wherever their lines stand: two values are always equal.
struct OperationLines: Sendable, Hashable {
  private let numbers: [Int]

  init(_ numbers: [Int] = []) { self.numbers = numbers }

  static func == (left: Self, right: Self) -> Bool { true }
  func hash(into hasher: inout Hasher) {}

  subscript(index: Int) -> Int? { numbers.indices.contains(index) ? numbers[index] : nil }
}

extension MigrationStep {
  /// The line of an operation; of several that are the same, of the first.
  func line(of operation: MigrationOperation) -> Int? {
    operations.firstIndex(of: operation).flatMap { lines[$0] }
  }

  /// What stands in the place of the words that somebody left out of a `require`.
  func words(for query: String, of operation: MigrationOperation) -> String {
    "the query\(atLine(of: operation)) is true, which has no words (\(query.split(whereSeparator: \.isWhitespace).joined(separator: " ")))"
  }

  /// ` at line 7`, or nothing.
  func atLine(of operation: MigrationOperation) -> String {
    line(of: operation).map { " at line \($0)" } ?? ""
  }

  /// The file, and the line of the operation that an error calls so, where no other one is called so.
  package func place(ofOperation summary: String) -> String { place(of: summary, among: operations, lines) }

  /// The same of an operation of `[down]`.
  func place(ofWayBack summary: String) -> String { place(of: summary, among: down ?? [], downLines) }

  private func place(of summary: String, among operations: [MigrationOperation], _ lines: OperationLines)
    -> String
  {
    let found = operations.indices.filter { operations[$0].summary == summary }
    guard found.count == 1, let line = lines[found[0]] else { return fileName }
    return "\(fileName):\(line)"
  }
}
