// verify: is the file whole, and is it what its history says?

import CipherSQLite
import Foundation
import ObjectVault

enum VerifyCommand: Command {
  static let name = "verify"
  static let summary = "Page authentication, integrity, references, tables, checksums"
  static let group = CommandGroup.look
  static let positionalCount = 1
  static let options =
    [
      Option.migrations,
      Option("--deep", "every index entry against its row too: slower"),
    ] + Option.look
  static let aliases = ["validate"]
  static let help = """
    EXAMPLES
      store-migrate verify notes.store --key-file key.txt
      store-migrate verify notes.store --deep         every index entry against its row too: slower

    Checks the authentication code of every page (on every engine), SQLite's structure, the references (of a
    one-to-one both ends), the tables and every value in them against the store's own model and, where there are
    migrations, the history against them. What else is in the file is named, such as a trigger that no step has made.
    Ends with 2 when something is wrong. Changes no byte of it, and leaves no file behind.
    """

  struct VerifyReport: Report {
    var isScreen: Bool { true }
    let store: StoreSummary
    let pages: Int
    let findings: [String]
    let comparedWithMigrations: Bool
    var exitCode: ExitCode { findings.isEmpty ? .ok : .attention }
    var description: String {
      guard findings.isEmpty else { return findings.joined(separator: "\n") }
      return
        "\(store.path): \(pages) pages authenticate; structure, references and tables are as they should be"
        + (comparedWithMigrations
          ? ", and so is the history." : "; no migrations to compare the history with.")
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let inspection = try session.inspection()
    let connection = inspection.connection
    let isDeep = session.arguments.has("--deep")
    let bar = ProgressBar("verify", session)
    var findings = try connection.findings(isQuick: !isDeep) { if isDeep { bar.show($0, of: $1) } }
    bar.finish()
    var isCompared = false
    if findings.isEmpty, let info = try info(connection, &findings) {
      findings += try info.drift(connection)
      let isDrifted = !findings.isEmpty
      findings += try info.foreignFindings(connection)
      if !isDrifted {
        findings += try info.valueFindings(connection) + info.partnerFindings(connection)
      }
      let folder = session.migrationsFolder.path
      if session.bundled.areThere || FileManager.default.fileExists(atPath: folder) {
        try info.requireHistory(of: session.migrations(), file: inspection.path)
        isCompared = true
      }
    }
    let size = try DatabasePath(session.storePath).byteCount
    return VerifyReport(
      store: StoreSummary(path: session.storePath, bytes: size ?? 0),
      pages: (size ?? 0) / connection.unlocked.profile.pageBytes, findings: findings,
      comparedWithMigrations: isCompared)
  }
  /// What the store says about itself; nil, and a finding, where that cannot be.
  private static func info(_ connection: Connection, _ findings: inout [String]) throws -> StoreInfo? {
    do { return try StoreInfo(connection) } catch let error as StoreError {
      switch error {
      case .bookkeepingDamaged, .historyConflict: findings.append("\(error)")
      default: throw error
      }
      return nil
    }
  }
}
