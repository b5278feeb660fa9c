// Reads Core Data columns with "Allows External Storage". A value begins with byte 1, followed by its
// bytes, or with byte 2, followed by the name of an external file that has them.

internal import CipherSQLite
internal import Foundation
internal import ObjectVault

/// The external files that have values of a Core Data file.
struct ExternalValues {
  /// The kinds of values in a column.
  struct Content {
    /// The number of values, of those that begin with 1, and of those that name a file.
    let values, plain, named: Int64
  }

  /// The SQL function that ``data(_:)`` calls.
  private static let function = "vault_external_value"
  private let folder: URL
  /// The names of the files that existed when this was created. Values whose file is not among them count
  /// as missing. The folder is read once: a file that disappears later is an error and not a missing
  /// file.
  let names: Set<String>
  /// The reason why the folder cannot be read; nil if it was read, or if it does not exist. A file in an
  /// unreadable folder does not count as missing.
  let obstacle: String?
  private let firstUnread = Locked<String?>(nil)

  /// - Parameter path: The Core Data file that the external files belong to.
  init(beside path: String) {
    let url = URL(fileURLWithPath: path)
    let folder = url.deletingLastPathComponent()
      .appendingPathComponent(".\(url.deletingPathExtension().lastPathComponent)_SUPPORT")
      .appendingPathComponent("_EXTERNAL_DATA")
    self.folder = folder
    do {
      let found = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      names = try Set(found.filter { try Self.isFile($0, in: folder) })
      obstacle = nil
    } catch CocoaError.fileReadNoSuchFile {
      (names, obstacle) = ([], nil)
    } catch {
      names = []
      obstacle =
        "\(Self.shown(folder)), the folder of its external values, cannot be read "
        + "(\(error.localizedDescription)). Make it readable, or remove it: a missing file is reported as a "
        + "loss, which can be allowed"
    }
  }

  /// The reason why a file that exists, or did exist, could not be read: that of the first such file; nil
  /// if there is none. SQL continues with NULL in place of the bytes, so the caller has to check this
  /// reason after each statement.
  var unread: String? { firstUnread.withLock { $0 } }

  /// Registers the SQL function that reads the files.
  func register(on connection: Connection) throws {
    try connection.register(function: Self.function, argumentCount: 1, isDeterministic: false) { arguments in
      guard let name = arguments.first?.string else { return .null }
      do {
        guard try Self.isFile(name, in: folder) else {
          if names.contains(name) { note(name, reason: "it is not a file any more") }
          return .null
        }
        return .blob(try Data(contentsOf: folder.appendingPathComponent(name)))
      } catch {
        note(name, reason: error.localizedDescription)
        return .null
      }
    }
  }

  private func note(_ name: String, reason: String) {
    firstUnread.withLock {
      $0 = $0 ?? "\(Self.shown(folder))/\(name), the file of an external value, cannot be read (\(reason))"
    }
  }

  private static func shown(_ folder: URL) -> String {
    folder.pathComponents.suffix(2).joined(separator: "/")
  }

  /// Whether a regular file, and no symbolic link, with the name of a value exists.
  /// - Throws: The system's error when that cannot be determined.
  private static func isFile(_ name: String, in folder: URL) throws -> Bool {
    guard UUID(uuidString: name) != nil else { return false }
    let path = folder.appendingPathComponent(name).path
    do {
      return try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
        == .typeRegular
    } catch CocoaError.fileReadNoSuchFile {
      return false
    }
  }

  /// Counts the values of a column by kind.
  func content(of column: String, in table: String, _ connection: Connection) throws -> Content {
    let value: SQL = "s.\(SQLName(column))"
    let row = try connection.rows(
      """
      SELECT count(\(value)), sum(\(Self.isPlain(value))), sum(\(Self.isNamed(value)))
      FROM \(SQLName(table)) AS s
      """
    ).first
    let counts = row?.map { $0.int64 ?? 0 } ?? [0, 0, 0]
    return Content(values: counts[0], plain: counts[1], named: counts[2])
  }

  /// The names of the files in a column's values, with repetitions.
  func named(by column: String, in table: String, _ connection: Connection) throws -> [String] {
    let value: SQL = "s.\(SQLName(column))"
    return try connection.rows(
      "SELECT \(Self.name(value)) FROM \(SQLName(table)) AS s WHERE \(Self.isNamed(value))"
    ).compactMap { $0.first?.string }
  }

  /// The expression for the bytes of a value: those after the first byte, or those of the external file.
  /// NULL if the file is missing or cannot be read: see ``unread``.
  static func data(_ value: SQL) -> SQL {
    """
    CASE WHEN \(isNamed(value)) THEN vault_external_value(\(name(value)))
    WHEN \(isPlain(value)) THEN substr(\(value), 2) ELSE \(value) END
    """
  }

  private static func isPlain(_ value: SQL) -> SQL {
    "(typeof(\(value)) = 'blob' AND substr(\(value), 1, 1) = x'01')"
  }

  /// Byte 2, the 36 characters of a UUID, and a zero byte.
  private static func isNamed(_ value: SQL) -> SQL {
    """
    (typeof(\(value)) = 'blob' AND length(\(value)) = 38 AND substr(\(value), 1, 1) = x'02'
    AND substr(\(value), 38) = x'00' AND \(name(value)) GLOB '????????-????-????-????-????????????')
    """
  }

  private static func name(_ value: SQL) -> SQL { "CAST(substr(\(value), 2, 36) AS TEXT)" }
}
