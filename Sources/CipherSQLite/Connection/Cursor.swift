// Query results one row at a time: memory use does not grow with the number of rows.

/// The rows of a query, read one at a time.
///
/// ```swift
/// let cursor = try connection.cursor("SELECT name FROM person") { $0.text(0) }
/// var names: [String?] = []
/// while let name = try cursor.next() { names.append(name) }
/// ```
/// It owns a statement. The statement is active until the last row was read, an error was thrown, or the
/// cursor is closed or released. While the statement is active, the snapshot stays open even if the
/// transaction ends. Use a cursor on the task that uses its connection.
public final class Cursor<Element> {
  private let statement: Statement
  private let make: (Statement) throws -> Element
  private var isDone = false

  init(_ statement: Statement, _ make: @escaping (Statement) throws -> Element) {
    self.statement = statement
    self.make = make
  }

  /// Returns the next row.
  /// - Returns: The row; nil after the last one.
  /// - Throws: ``SQLError``, and what the closure throws; the cursor is then at its end.
  public func next() throws -> Element? {
    guard !isDone else { return nil }
    do {
      if try statement.step() { return try make(statement) }
      close()
      return nil
    } catch {
      close()
      throw error
    }
  }

  /// Ends the query before its last row. Further calls do nothing.
  public func close() {
    isDone = true
    statement.reset()
  }

  /// Calls `body` for every remaining row.
  /// - Parameter body: Receives each row.
  /// - Throws: ``SQLError``; what `body` throws.
  public func forEach(_ body: (Element) throws -> Void) throws {
    while let element = try next() { try body(element) }
  }
}
