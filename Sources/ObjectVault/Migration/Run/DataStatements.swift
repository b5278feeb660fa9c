// The unit in which a data block runs: one statement, or a group of insertions.

/// A statement of a data block, or several consecutive insertions of literal values into the same
/// columns, which run as one call of the engine.
struct DataStatements {
  /// The maximum number of rows of a group. Cancellation takes effect between two groups.
  private static let limit = 200

  /// The statements as they were written.
  private(set) var texts: [String]
  /// The first word of the statements, in lower case.
  let beginning: String
  /// The combined insertion; nil for another statement.
  private(set) var insertion: NumberedInsert?

  /// Takes the next statement, or a group of insertions.
  /// - Parameters:
  ///   - position: The index of the next statement; afterwards the index of the first one after the group.
  ///   - mayGroup: Whether several insertions may be grouped.
  /// - Returns: nil when only comments are left.
  init?(_ statements: [String], from position: inout Int, _ names: EntityNames, mayGroup: Bool) throws {
    // A text that consists of comments is no statement.
    var first: String?
    while position < statements.count {
      first = SQLTemplate.beginning(statements[position])
      guard first == nil else { break }
      position += 1
    }
    guard let first else { return nil }
    texts = [statements[position]]
    beginning = first
    if first == "explain" { throw MigrationRunner.changesNothing(first) }
    guard !SQLTemplate.names(InsertedIDs.function, in: texts[0]) else {
      throw ModelError(
        reason:
          "\(InsertedIDs.function) is an internal function; omit the id column, or set it to NULL, so that "
          + "each row gets a new id")
    }
    insertion = NumberedInsert(texts[0], entities: names)
    position += 1
    guard mayGroup, first == "insert", insertion?.insertsOnlyLiterals == true else { return }
    while position < statements.count,
      insertion?.take(statements[position], entities: names, limit: Self.limit) == true
    {
      texts.append(statements[position])
      position += 1
    }
  }
}
