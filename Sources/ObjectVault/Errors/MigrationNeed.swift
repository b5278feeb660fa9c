// What an opening would have had to do that was allowed to do less.

private import CipherSQLite

/// What a store needs before it can be used: what a screen says while it is opened in the background.
public struct MigrationNeed: Sendable, Hashable {
  /// The store.
  public let file: String
  /// Its version now.
  public let storeVersion: Int
  /// The version that it would have afterwards.
  public let targetVersion: Int
  /// The steps that would run, such as `0007 split_name`.
  public let steps: [String]
  /// The rows that they would write again, as ``MigrationCost/rows`` counts them.
  public let rows: Int
  /// How long that may take, in seconds: a guess, as ``MigrationCost/seconds``.
  public let seconds: Double
}

extension MigrationNeed: CustomStringConvertible {
  /// One sentence that says what is needed and what to do.
  public var description: String {
    "\(file) is at version \(storeVersion) and needs \(steps.count == 1 ? "a step" : "\(steps.count) steps") "
      + "(\(steps.joined(separator: ", "))) that write\(steps.count == 1 ? "s" : "") about \(counted(rows, "row")): more than this "
      + "opening may do at once. "
      + "Show that, and open it asynchronously, which tells its progress and can be cancelled."
  }
}
