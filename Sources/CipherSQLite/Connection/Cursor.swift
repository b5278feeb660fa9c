// Results one row at a time: memory does not grow with the table.

/// The rows of a query, made one by one.
///
/// ```swift
/// let cursor = try connection.cursor("SELECT name FROM person") { $0.text(0) }
/// var names: [String?] = []
/// while let name = try cursor.next() { names.append(name) }
/// ```
/// It holds a statement of its own, open until the last row was read, an error was thrown, or the cursor is
/// released; as long as it is open, a transaction that ends keeps its snapshot. Used where its connection is.
public final class Cursor<Element> {
  private let statement: Statement
  private let make: (Statement) throws -> Element
  private var isDone = false

  init(_ statement: Statement, _ make: @escaping (Statement) throws -> Element) {
    self.statement = statement
    self.make = make
  }

  /// The next row, or nil behind the last one.
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

  /// Ends the query before its last row. Calling it again does nothing.
  public func close() {
    isDone = true
    statement.reset()
  }

  /// Calls `body` for every row that is left.
  public func forEach(_ body: (Element) throws -> Void) throws {
    while let element = try next() { try body(element) }
  }
}
