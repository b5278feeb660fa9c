// What of another program's file has no place in a store.

private import CipherSQLite

/// Rows or values of another program's file that have no place in a store.
public struct AdoptionLoss: Sendable, Hashable, Codable {
  /// The table, or the property such as `Note.author`: what has to be allowed.
  public let name: String
  /// How many; 0 where that could not be asked.
  public let rows: Int64
  /// Why.
  public let reason: String

  package init(name: String, rows: Int64, reason: String) {
    (self.name, self.rows, self.reason) = (name, rows, reason)
  }
}

extension AdoptionLoss: CustomStringConvertible {
  /// The name, how many, and why.
  public var description: String { "\(name)\(rows > 0 ? ", \(counted(rows, "row"))" : ""): \(reason)" }
}
