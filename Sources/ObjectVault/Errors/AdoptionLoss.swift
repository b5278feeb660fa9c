// Parts of another program's file that cannot be imported into a store.

private import CipherSQLite

/// Rows or values of another program's file that cannot be imported into a store.
public struct AdoptionLoss: Sendable, Hashable, Codable {
  /// The table, or the property such as `Note.author`: the name by which the loss is allowed.
  public let name: String
  /// The number of rows; 0 where they could not be counted.
  public let rows: Int64
  /// Why the rows or values cannot be imported.
  public let reason: String

  package init(name: String, rows: Int64, reason: String) {
    (self.name, self.rows, self.reason) = (name, rows, reason)
  }
}

extension AdoptionLoss: CustomStringConvertible {
  /// The name, the number of rows, and the reason.
  public var description: String { "\(name)\(rows > 0 ? ", \(counted(rows, "row"))" : ""): \(reason)" }
}
