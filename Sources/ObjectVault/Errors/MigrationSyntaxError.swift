// A syntax error in a migration file, with its position and a hint.

/// A syntax error in a migration file.
public struct MigrationSyntaxError: Error, Sendable, Hashable {
  /// The file's name.
  public let file: String
  /// The line, counted from 1; 0 where the error concerns the file or folder as a whole.
  public let line: Int
  /// The column, counted in characters from 1.
  public let column: Int
  /// What is wrong.
  public let reason: String
  /// What to write instead.
  public let hint: String
}

extension MigrationSyntaxError: CustomStringConvertible {
  /// `file:line:column: reason; hint`, or `file: reason; hint`. Long text from the file is shortened.
  public var description: String {
    "\(file)\(line > 0 ? ":\(line):\(column)" : ""): \(legible(reason)); \(ended(legible(hint)))"
  }
}
