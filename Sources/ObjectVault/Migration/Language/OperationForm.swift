// How an operation is parsed: the first words of its line, and the function that reads the rest.
// MigrationOperation+Rules has the table in which a line's first words find their operation.

/// How the line of an operation begins, and the function that reads the rest of it.
struct OperationForm: Sendable {
  typealias Line = @Sendable (inout MigrationLine) throws -> [MigrationOperation]
  typealias Change = @Sendable (inout MigrationLine, String, String) throws -> MigrationOperation
  typealias Block = @Sendable (inout MigrationParser) throws -> MigrationOperation

  enum Rest: Sendable {
    /// Reads the rest of the line: one operation, or those that the line is short for.
    case line(Line)
    /// Reads what follows a property and the second word; gets the entity's and the property's name.
    case change(Change)
    /// Reads the line itself, and the lines of the block that it opens.
    case block(Block)
  }

  let verb: String
  /// The second word, or for a change of a property the word after the property; nil where there is none.
  let kind: String?
  let rest: Rest

  /// `VERB KIND …`
  init(_ verb: String, _ kind: String? = nil, read: @escaping Line) {
    (self.verb, self.kind, rest) = (verb, kind, .line(read))
  }

  /// `VERB Entity.property KIND …`
  init(_ verb: String, property kind: String, read: @escaping Change) {
    (self.verb, self.kind, rest) = (verb, kind, .change(read))
  }

  /// `VERB KIND … { … }`
  init(block verb: String, _ kind: String? = nil, read: @escaping Block) {
    (self.verb, self.kind, rest) = (verb, kind, .block(read))
  }
}
