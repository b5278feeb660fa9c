// A migration file that cannot be read, with the place and a hint.

/// What is wrong with a migration file.
public struct MigrationSyntaxError: Error, Sendable, Hashable {
  /// The file's name.
  public let file: String
  /// The line, counted from 1; 0 where it is about the file, or the folder, as a whole.
  public let line: Int
  /// The column, counted in characters from 1.
  public let column: Int
  /// What is wrong.
  public let reason: String
  /// What to write instead.
  public let hint: String
}

extension MigrationSyntaxError: CustomStringConvertible {
  /// `file:line:column: reason; hint`, or `file: reason; hint`. What a file says in it is cut where it is long.
  public var description: String {
    "\(file)\(line > 0 ? ":\(line):\(column)" : ""): \(legible(reason)); \(ended(legible(hint)))"
  }
}
