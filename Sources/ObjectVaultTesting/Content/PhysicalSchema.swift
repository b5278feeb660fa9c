// The tables, indexes, references, views and triggers of a file as lines, independent of any model.

package import CipherSQLite
internal import Foundation
internal import ObjectVault

/// The schema of a file as the engine reports it, without the bookkeeping tables.
package struct PhysicalSchema: Sendable, Equatable {
  /// The lines of each table, view and trigger, by its kind and name.
  package private(set) var parts: [String: Set<String>] = [:]

  package init(_ connection: Connection) throws {
    let texts = try connection.rows(
      "SELECT type, name, sql FROM sqlite_master WHERE type <> 'index' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"
    )
    for row in texts {
      guard let kind = row[0].string, let name = row[1].string, let sql = row[2].string else { continue }
      // The bookkeeping tables are not compared.
      guard !name.hasPrefix("vault_") else { continue }
      parts["\(kind) \(name)"] = kind == "table" ? try Self.lines(of: name, connection) : [sql]
    }
  }

  /// Creates a schema from given lines, without a file.
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

  /// Returns what only one of two schemas has, one sentence each.
  /// - Parameters:
  ///   - other: The other schema.
  ///   - name: The name of this schema in the sentences, such as `a created store`.
  ///   - otherName: The name of the other schema in the sentences.
  package func differences(from other: PhysicalSchema, called name: String, and otherName: String) -> [String]
  {
    Set(parts.keys).union(other.parts.keys).sorted().flatMap { part -> [String] in
      guard let ours = parts[part] else { return ["\(part) is only in \(otherName)"] }
      guard let theirs = other.parts[part] else { return ["\(part) is only in \(name)"] }
      return ours.subtracting(theirs).sorted().map { "\(part): \($0) is only in \(name)" }
        + theirs.subtracting(ours).sorted().map { "\(part): \($0) is only in \(otherName)" }
    }
  }
}
