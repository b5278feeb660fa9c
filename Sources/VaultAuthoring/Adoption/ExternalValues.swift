// "Allows External Storage": in such a column of Core Data's a value begins with 1, and its bytes follow, or with 2 and the
// name of a file beside the file that has them.

internal import CipherSQLite
internal import Foundation
internal import ObjectVault

/// The values that Core Data keeps in files of their own.
struct ExternalValues {
  /// What a column holds.
  struct Content {
    /// Values, those that begin with 1, and those that name a file.
    let values, plain, named: Int64
  }

  /// What ``data(_:)`` calls.
  private static let function = "vault_external_value"
  private let folder: URL
  /// The names of the files that were there when this was made. What is counted as missing is what is not among them, so the
  /// folder is looked at once: a file that goes later is not missing, it is an error.
  let names: Set<String>
  /// Why nobody can say which files are there; nil where the folder could be looked at, and where there is none. A file that is out
  /// of sight is not missing.
  let obstacle: String?
  private let firstUnread = Locked<String?>(nil)

  /// - Parameter path: The file that they belong to.
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
        "\(Self.shown(folder)), the folder of its values, cannot be looked at (\(error.localizedDescription)). See to it that it can "
        + "be: a file that is not there is named as a loss, and may be allowed"
    }
  }

  /// What is said of the first file that a statement wanted, and that is there or was, and cannot be read. SQL goes on behind
  /// one, with nothing; nobody may take that for the value.
  var unread: String? { firstUnread.withLock { $0 } }

  /// Lets the connection's statements read the files.
  func register(on connection: Connection) throws {
    try connection.register(function: Self.function, argumentCount: 1, isDeterministic: false) { arguments in
      guard let name = arguments.first?.string else { return .null }
      do {
        guard try Self.isFile(name, in: folder) else {
          if names.contains(name) { note(name, "it is no file any more") }
          return .null
        }
        return .blob(try Data(contentsOf: folder.appendingPathComponent(name)))
      } catch {
        note(name, error.localizedDescription)
        return .null
      }
    }
  }

  private func note(_ name: String, _ reason: String) {
    firstUnread.withLock {
      $0 = $0 ?? "\(Self.shown(folder))/\(name), the file of a value, cannot be read (\(reason))"
    }
  }

  private static func shown(_ folder: URL) -> String {
    folder.pathComponents.suffix(2).joined(separator: "/")
  }

  /// Whether there is a file of a value: of such a name, and no link that leads elsewhere.
  /// - Throws: What the system says where it does not tell.
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

  /// What a column holds, as far as it is this.
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

  /// The files that a column's values name, as often as they do.
  func named(by column: String, in table: String, _ connection: Connection) throws -> [String] {
    let value: SQL = "s.\(SQLName(column))"
    return try connection.rows(
      "SELECT \(Self.name(value)) FROM \(SQLName(table)) AS s WHERE \(Self.isNamed(value))"
    ).compactMap { $0.first?.string }
  }

  /// The value itself: what follows, or what the file has; nothing where there is no file, and where ``unread`` says so.
  static func data(_ value: SQL) -> SQL {
    """
    CASE WHEN \(isNamed(value)) THEN vault_external_value(\(name(value)))
    WHEN \(isPlain(value)) THEN substr(\(value), 2) ELSE \(value) END
    """
  }

  private static func isPlain(_ value: SQL) -> SQL {
    "(typeof(\(value)) = 'blob' AND substr(\(value), 1, 1) = x'01')"
  }

  /// 2, the 36 characters of a UUID, and a zero.
  private static func isNamed(_ value: SQL) -> SQL {
    """
    (typeof(\(value)) = 'blob' AND length(\(value)) = 38 AND substr(\(value), 1, 1) = x'02'
    AND substr(\(value), 38) = x'00' AND \(name(value)) GLOB '????????-????-????-????-????????????')
    """
  }

  private static func name(_ value: SQL) -> SQL { "CAST(substr(\(value), 2, 36) AS TEXT)" }
}
