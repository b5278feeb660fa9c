// How a line is parsed as an operation. MigrationOperation+Rules has the table that finds an operation by
// the first words of a line.

/// The first words of an operation's line, and the function that parses the rest.
struct OperationForm: Sendable {
  typealias Line = @Sendable (inout MigrationLine) throws -> [MigrationOperation]
  typealias Change = @Sendable (inout MigrationLine, String, String) throws -> MigrationOperation
  typealias Block = @Sendable (inout MigrationParser) throws -> MigrationOperation

  enum Rest: Sendable {
    /// Parses the rest of the line: as one operation, or as the several operations that it stands for.
    case line(Line)
    /// Parses the words after `VERB Entity.property KIND`; gets the names of the entity and the property.
    case change(Change)
    /// Parses the whole line, and the lines of the block that it opens.
    case block(Block)
  }

  let verb: String
  /// The word after the verb, or, for a change of a property, the word after the property; nil if there
  /// is none.
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
