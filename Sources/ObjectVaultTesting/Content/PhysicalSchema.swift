// The tables, indexes, references, views and triggers of a file, as lines: whatever a model says of them.

package import CipherSQLite
internal import Foundation
internal import ObjectVault

/// What a file's schema is, as the engine tells it, but for the tables that a store keeps for itself.
package struct PhysicalSchema: Sendable, Equatable {
  /// The lines of each table, view and trigger.
  package private(set) var parts: [String: Set<String>] = [:]

  package init(_ connection: Connection) throws {
    let texts = try connection.rows(
      "SELECT type, name, sql FROM sqlite_master WHERE type <> 'index' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"
    )
    for row in texts {
      guard let kind = row[0].string, let name = row[1].string, let sql = row[2].string else { continue }
      // Where a store keeps its history is its own matter.
      guard !name.hasPrefix("vault_") else { continue }
      parts["\(kind) \(name)"] = kind == "table" ? try Self.lines(of: name, connection) : [sql]
    }
  }

  /// Of tables that were invented.
  package init(parts: [String: Set<String>]) { self.parts = parts }

  private static func lines(of table: String, _ connection: Connection) throws -> Set<String> {
    let info = try connection.tableInfo(table)
    var lines: Set<String> = []
    for column in info.columns {
      let name = try connection.collation(ofColumn: column.name, in: table)
      let collation = name == "BINARY" ? "" : " COLLATE \(name)"
      lines.insert(
        "column \(column.name) \(column.type)\(collation)\(column.isRequired ? " NOT NULL" : "")"
          + (column.defaultSQL.map { " DEFAULT \($0)" } ?? "") + (column.isPrimaryKey ? ", key" : ""))
    }
    for key in info.foreignKeys {
      lines.insert("reference \(key.column) to \(key.table) on delete \(key.onDelete)")
    }
    for index in info.indexes {
      lines.insert(
        "\(index.isUnique ? "unique " : "")index \(index.name) on \(index.columns.joined(separator: ", "))")
    }
    return lines
  }

  /// What one has and the other has not, a sentence each.
  /// - Parameters:
  ///   - other: The other one.
  ///   - name: What this one is called, such as `a created store`.
  ///   - otherName: What the other one is called.
  package func differences(from other: PhysicalSchema, called name: String, and otherName: String) -> [String]
  {
    Set(parts.keys).union(other.parts.keys).sorted().flatMap { part -> [String] in
      guard let ours = parts[part] else { return ["\(part) is in \(otherName) alone"] }
      guard let theirs = other.parts[part] else { return ["\(part) is in \(name) alone"] }
      return ours.subtracting(theirs).sorted().map { "\(part): \($0) is in \(name) alone" }
        + theirs.subtracting(ours).sorted().map { "\(part): \($0) is in \(otherName) alone" }
    }
  }
}
