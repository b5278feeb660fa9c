// The unit in which a data block is run: one statement, or a group of insertions.

/// A statement of a data block, or several insertions that follow each other, of plain values into the same columns: the engine is
/// asked once for all of these.
struct DataStatements {
  /// How many rows a group has at most. A cancellation is heard between two groups.
  private static let limit = 200

  /// As they were written.
  private(set) var texts: [String]
  /// Their first word, in lower case.
  let beginning: String
  /// What they insert together; nil of another statement.
  private(set) var insertion: NumberedInsert?

  /// The next of some statements.
  /// - Parameters:
  ///   - position: The index of the next statement; afterwards that of the first one after the group.
  ///   - mayGroup: Whether it may take several.
  /// - Returns: nil where nothing is left but comments.
  init?(_ statements: [String], from position: inout Int, _ names: EntityNames, mayGroup: Bool) throws {
    // Comments alone are no statement.
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
          "\(InsertedIDs.function) is the library's own; leave the column of ids out, or give it NULL, and each "
          + "row gets an id")
    }
    insertion = NumberedInsert(texts[0], entities: names)
    position += 1
    guard mayGroup, first == "insert", insertion?.isOfLiterals == true else { return }
    while position < statements.count,
      let next = NumberedInsert(statements[position], entities: names, like: insertion),
      next.isOfLiterals, insertion?.take(next, limit: Self.limit) == true
    {
      texts.append(statements[position])
      position += 1
    }
  }
}
