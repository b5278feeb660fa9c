// The engine's plan of a statement, in one form for all versions: SQLite 3.24 changed the columns of
// EXPLAIN QUERY PLAN, and later versions changed its words.

/// One line of the engine's plan of a statement.
package struct PlanLine: Sendable, Hashable {
  /// The number of lines that this line is nested in.
  package let depth: Int
  /// The engine's words. A table has the name of its alias, if the statement gives it one.
  package let text: String
  /// Whether the line is part of a subquery that runs once for each row of the query around it.
  package let isCorrelated: Bool
}

extension Connection {
  /// Returns the engine's plan of a statement, without running it.
  /// - Parameters:
  ///   - sql: The text of one statement.
  ///   - values: The values of its parameters, in order.
  /// - Returns: The lines, in the order of the engine.
  /// - Throws: ``SQLError``.
  package func plan(sql: String, _ values: [SQLValue] = []) throws -> [PlanLine] {
    // Not from the statement cache: a plan is rarely read twice.
    let statement = try prepare(sql: "EXPLAIN QUERY PLAN " + sql)
    try statement.bind(values)
    let isTree = statement.columnName(1) == "parent"
    var lines = PlanLines()
    while try statement.step() {
      let text = statement.text(3) ?? ""
      if isTree {
        lines.add(text, number: statement.int64(0), parent: statement.int64(1))
      } else {
        lines.add(text, ofQuery: statement.int64(0))
      }
    }
    return lines.finished
  }
}

/// The lines of a plan, while they are read.
private struct PlanLines {
  private struct Line {
    let text: String
    /// The key of the line or query that the line is nested in; 0 for none.
    let parent: Int64
  }
  private var lines: [Line] = []
  /// The index of the line that other lines are nested in, by their key.
  private var indexes: [Int64: Int] = [:]

  mutating func add(_ text: String, number: Int64, parent: Int64) {
    indexes[number] = lines.count
    lines.append(Line(text: Self.common(text), parent: parent))
  }

  /// Adds a line of an older engine, which numbers the queries of the statement. The line of another query
  /// names the number, before or after the lines of its query.
  mutating func add(_ text: String, ofQuery number: Int64) {
    for match in text.matches(of: #/SUBQUER(?:Y|IES) (\d+)(?: AND (\d+))?/#) {
      for number in [match.1, match.2 ?? ""].compactMap({ Int64($0) }) { indexes[number] = lines.count }
    }
    lines.append(Line(text: Self.common(text), parent: number))
  }

  var finished: [PlanLine] {
    lines.map { line in
      var (depth, isCorrelated, parent) = (0, false, line.parent)
      // Bounded, in case the numbers of a later engine form a circle.
      while depth < lines.count, parent != 0, let index = indexes[parent] {
        depth += 1
        isCorrelated = isCorrelated || lines[index].text.hasPrefix("CORRELATED")
        parent = lines[index].parent
      }
      return PlanLine(depth: depth, text: line.text, isCorrelated: isCorrelated)
    }
  }

  /// Returns a line in the words of newer engines.
  private static func common(_ text: String) -> String {
    text.replacing(#/TABLE (\S+) AS (\S+)/#) { "\($0.2)" }.replacing("TABLE ", with: "")
      .replacing("EXECUTE ", with: "")
  }
}
