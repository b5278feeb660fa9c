// The migration that a store needs, and that an opening was not allowed to run.

private import CipherSQLite

/// The migration that a store needs before it can be used, for a screen that is shown while the store is
/// opened in the background.
public struct MigrationNeed: Sendable, Hashable {
  /// The file of the store.
  public let file: String
  /// The present version of the store.
  public let storeVersion: Int
  /// The version of the store after the migration.
  public let targetVersion: Int
  /// The steps that would run, such as `0007 split_name`.
  public let steps: [String]
  /// The number of rows that the steps would rewrite, as ``MigrationCost/rows`` counts them.
  public let rows: Int
  /// An estimate of the duration in seconds, as ``MigrationCost/seconds``.
  public let seconds: Double
}

extension MigrationNeed: CustomStringConvertible {
  /// States the need and what to do.
  public var description: String {
    "\(file) is at version \(storeVersion) and needs \(steps.count == 1 ? "a step" : "\(steps.count) steps") "
      + "(\(steps.joined(separator: ", "))), which write\(steps.count == 1 ? "s" : "") about "
      + "\(counted(rows, "row")). That is too much for opening it synchronously. Open the store "
      + "asynchronously: that call reports its progress, which can be shown to the user, and can be cancelled."
  }
}
