// How an operation is read: what its line begins with, and what reads the rest. Who begins a line so is found in one table of all
// operations, in MigrationOperation+Rules.

/// How the line of an operation begins, and what reads the rest of it.
struct OperationForm: Sendable {
  typealias Line = @Sendable (inout MigrationLine) throws -> [MigrationOperation]
  typealias Change = @Sendable (inout MigrationLine, String, String) throws -> MigrationOperation
  typealias Block = @Sendable (inout MigrationParser) throws -> MigrationOperation

  enum Rest: Sendable {
    /// The rest of the line: one operation, or those that it is short for.
    case line(Line)
    /// What stands behind a property and the second word.
    case change(Change)
    /// The line itself, and those of the braces that it opens.
    case block(Block)
  }

  let verb: String
  /// The second word, behind a property where it is a change of one; nil where there is none.
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
