// The `info` command: describes the file, and prints the lines that open it in the `sqlcipher` shell.

import CipherSQLite
import Foundation
import ObjectVault

enum InfoCommand: Command {
  static let name = "info"
  static let summary = "Show cipher, pages and version, and how to open the file in the sqlcipher shell"
  static let group = CommandGroup.look
  static let positionalCount = 1
  static let options = Option.look
  static let help = """
    EXAMPLES
      store-migrate info notes.store --key-env NOTES_KEY

    Needs no migrations. The store does not change, and no new file remains. Each object is counted once,
    under its own entity; `count` also includes subentities.
    """

  struct InfoReport: Report {
    let store: StoreSummary
    let profile: String
    /// The `--cipher` option that the file needs in order to open; nil when the key is enough.
    let cipherOption: String?
    let pageBytes: Int
    let pages: Int
    let freePages: Int
    let journal: String
    let slots: [String]?
    let version: Int?
    /// What is wrong with the bookkeeping tables; nil when nothing is.
    let damage: String?
    let entities: [String: Int]
    let shell: [String]

    var description: String {
      var lines = [
        store.path,
        "size         \(megabytes(store.bytes)), \(pages) pages of \(pageBytes) bytes, \(freePages) free",
        "cipher       \(profile)", "journal      \(journal)",
        "engine       SQLCipher \(store.cipher) / SQLite \(store.sqlite)",
        "version      \(version.map(String.init) ?? damage ?? "none: not a store of ObjectVault")",
      ]
      if let cipherOption { lines.insert("             opens with \(cipherOption)", at: 3) }
      if let slots { lines.append("slots        \(slots.joined(separator: ", "))") }
      lines += entities.sorted { $0.key < $1.key }.map {
        "  \(padded($0.key, 16)) \(counted($0.value, "object"))"
      }
      lines += ["", "In the sqlcipher shell:"] + shell.map { "  \($0)" }
      return lines.joined(separator: "\n")
    }
  }

  /// Returns the pragma that passes the key to the shell, in the key's format.
  private static func keyPragma(_ arguments: Arguments) -> String {
    switch arguments.value("--key-format") {
    case nil, "passphrase": "PRAGMA key = 'your passphrase';"
    default: "PRAGMA key = \"x'your key in 64 hexadecimal digits'\";"
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let inspection = try session.inspection()
    let connection = inspection.connection
    let number = { (pragma: SQLName) in Int(try connection.value("PRAGMA \(pragma)")?.int64 ?? 0) }
    var (summary, damage): (StoreInfo?, String?) = (nil, nil)
    do {
      let info = try StoreInfo(connection)
      try info.requireKnownFormat(file: connection.path)
      summary = info
    } catch StoreError.notAStore {
    } catch let error as StoreError { damage = ErrorText.of(error) }
    var counts: [String: Int] = [:]
    for entity in summary?.model.entities ?? [] {
      counts[entity.name] = try summary.map { try $0.count(of: entity.name, in: connection) }
    }
    let size = try DatabasePath(session.storePath).byteCount
    let profile = connection.unlocked.profile
    return InfoReport(
      store: StoreSummary(path: session.storePath, bytes: size ?? 0), profile: "\(profile)",
      cipherOption: CipherSettings.option(for: profile),
      pageBytes: profile.pageBytes,
      pages: try number(SQLName("page_count")), freePages: try number(SQLName("freelist_count")),
      journal: try inspection.journalMode(),
      slots: try session.arguments.value("--slots").map { try KeyFile.slots(at: $0).map(\.name) },
      version: summary?.version, damage: damage, entities: counts,
      shell: session.arguments.value("--slots") == nil
        ? ["sqlcipher \(shellPath(session.storePath))", keyPragma(session.arguments)]
          + profile.shellPragmas(major: Engine.current.cipherMajor)
          + [summary == nil ? ".tables" : "SELECT * FROM \(MetaTable.name);"]
        : [
          "This store has no passphrase; its key is in the key file. Make a copy that has a passphrase:",
          session.line(BackupCommand.self, ["COPY", "--new-key-file", "PASSPHRASEFILE"]),
        ])
  }
}
