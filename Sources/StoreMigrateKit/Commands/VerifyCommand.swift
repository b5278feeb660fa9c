// The `verify` command: checks that a file is intact, and that it matches its history.

import CipherSQLite
import Foundation
import ObjectVault

enum VerifyCommand: Command {
  static let name = "verify"
  static let summary = "Check page authentication, integrity, references, tables and checksums"
  static let group = CommandGroup.look
  static let positionalCount = 1
  static let options =
    [
      Option.migrations,
      Option("--deep", "compare every index entry with its row, also in a store larger than 256 MB"),
    ] + Option.look
  static let aliases = ["validate"]
  static let help = """
    EXAMPLES
      store-migrate verify notes.store --key-file key.txt
      store-migrate verify large.store --deep         also compares all indexes of a large store

    Checks the authentication code of every page (on every engine), SQLite's structure, and the references.
    Compares the tables, and every value in them, with the store's own model. Compares every index entry with
    its row. In a store above 256 MB it does so only with --deep; without --deep, the report states that the
    indexes were not compared. Names the tables whose statistics are missing or out of date, which makes
    fetches slow but is no fault. If there are migrations, compares the history with them. Lists objects in
    the file that no step created, such as a trigger.

    Ends with 2 if something is wrong with the file. Otherwise, if the history does not match the steps, it ends
    with 3, or with 4 for a newer store. The store does not change, and no new file remains.
    """

  struct VerifyReport: Report {
    var isScreen: Bool { true }
    let store: StoreSummary
    let pages: Int
    let findings: [String]
    /// Whether index entries are compared with their rows. A file with damaged pages is not read that
    /// far.
    let comparedIndexes: Bool
    let comparedWithMigrations: Bool
    /// How the history compares with the steps; nil when either cannot be read.
    let history: HistoryState?
    /// The tables whose statistics are missing or out of date, which is no fault.
    let outdatedStatistics: [String]
    /// The command line that compares the indexes as well; nil when they were compared.
    let lineOfIndexes: String?
    let exitCode: ExitCode

    private enum CodingKeys: String, CodingKey {
      case store, pages, findings, comparedIndexes, comparedWithMigrations, history, outdatedStatistics
    }

    var description: String {
      let unread =
        lineOfIndexes.map {
          "\nThe indexes were not compared with their tables, because the store is large. "
            + "To compare them: \($0)"
        } ?? ""
      let notes = unread + slow
      guard findings.isEmpty else { return findings.joined(separator: "\n") + notes }
      return
        "\(store.path): \(pages) pages are authentic; structure, references and tables are correct"
        + (comparedWithMigrations ? agreement : "; there are no migrations to compare the history with.")
        + notes
    }

    private var slow: String {
      guard !outdatedStatistics.isEmpty else { return "" }
      return
        "\nStatistics are missing or out of date: \(outdatedStatistics.joined(separator: ", ")). That is no "
        + "fault, but fetches may be slow. A program renews them when it closes the store, or by "
        + "updateStatistics()."
    }

    private var agreement: String {
      guard let history, history.leadsBeyond else { return "; the history matches the steps." }
      return "; the history matches the steps: \(history.sentence)."
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let hasSteps = try session.hasSteps()
    let inspection = try inspection(session)
    let connection = inspection.connection
    let isDeep = session.arguments.has("--deep")
    let comparesIndexes = isDeep || connection.comparesIndexes
    let bar = ProgressBar("verify", session)
    var findings = try connection.findings(comparingIndexes: comparesIndexes) {
      if isDeep { bar.show($0, of: $1) }
    }
    bar.finish()
    let info = try info(connection, findings: &findings, hasSteps: hasSteps)
    if findings.isEmpty, let info { findings += try contentFindings(info, connection) }
    // A fault of the file and a history that differs are both reported: neither hides the other.
    let history = hasSteps ? info.map { HistoryVerdict($0, of: inspection, in: session) } : nil
    let size = try DatabasePath(session.storePath).byteCount
    return VerifyReport(
      store: StoreSummary(path: session.storePath, bytes: size ?? 0),
      // The pages of the database. Any data after them in the file is not checked, and some pages may
      // exist only in the WAL.
      pages: (try? connection.pragma("page_count", as: Int.self)) ?? 0,
      findings: findings + [history?.finding].compactMap { $0 }, comparedIndexes: comparesIndexes,
      comparedWithMigrations: history?.isCompared ?? false, history: history?.state,
      outdatedStatistics: findings.isEmpty ? (try? TableStatistics(connection).staleTables()) ?? [] : [],
      lineOfIndexes: comparesIndexes ? nil : session.line(VerifyCommand.self, ["--deep"]),
      exitCode: findings.isEmpty ? history?.code ?? .ok : .attention)
  }

  /// Opens the store.
  /// - Throws: ``RefusedError`` with the exit code for findings, when not even the first page can be
  ///   read.
  private static func inspection(_ session: Session) throws -> Inspection {
    do { return try session.inspection() } catch let error as SQLError {
      switch error {
      case .corrupted, .schemaUnreadable: break
      default: throw error
      }
      throw RefusedError(code: .attention, description: "\(error)")
    }
  }

  /// Returns what is wrong with the tables and values of a file whose pages are intact.
  private static func contentFindings(_ info: StoreInfo, _ connection: Connection) throws -> [String] {
    let drift = try info.drift(connection)
    let findings = drift + (try info.foreignFindings(connection))
    return drift.isEmpty
      ? findings
        + (try info.valueFindings(connection) + info.referenceFindings(connection)
          + info.idFindings(connection))
      : findings
  }

  /// Returns what the bookkeeping tables contain; nil, after adding a finding, when they cannot be read.
  private static func info(
    _ connection: Connection, findings: inout [String], hasSteps: Bool
  ) throws -> StoreInfo? {
    let unread =
      "the store's bookkeeping tables cannot be read"
      + (hasSteps ? ", so its history was not compared" : "")
    do {
      let info = try StoreInfo(connection)
      try info.requireKnownFormat(file: connection.path)
      return info
    } catch let error as StoreError {
      switch error {
      case .bookkeepingDamaged, .historyConflict: findings.append(ErrorText.of(error))
      default:
        guard !findings.isEmpty else { throw error }
        findings.append(unread)
      }
    } catch let error as SQLError {
      guard !findings.isEmpty else { throw error }
      findings.append(unread)
    }
    return nil
  }
}

/// The result of comparing a store's history with the available steps.
private struct HistoryVerdict {
  /// What to report; nil when the history matches the steps.
  let finding: String?
  /// The exit code of a run that finds nothing else.
  let code: ExitCode
  /// Whether the steps could be read.
  let isCompared: Bool
  /// The state of each step, for JSON; nil when the steps or the history cannot be read.
  let state: HistoryState?

  init(_ info: StoreInfo, of inspection: Inspection, in session: Session) {
    var (set, found): (MigrationSet?, String?) = (nil, nil)
    do {
      let steps = try session.migrations()
      set = steps
      try info.requireHistory(of: steps, file: inspection.path)
      code = .ok
    } catch {
      code = ExitCode(error)
      let explained = (error as? StoreError).flatMap { error in
        set.flatMap { session.explanation(of: error, inspection, $0) }
      }
      found = explained ?? ErrorText.of(error, hasStore: false)
    }
    (finding, isCompared) = (found, set != nil)
    let applied = try? MigrationPreview.appliedSteps(inspection.connection)
    state = set.flatMap { set in applied.map { HistoryState($0, set) } }
  }
}

extension Session {
  /// Returns whether there are steps to compare a history with.
  /// - Throws: ``RefusedError`` when the folder that was named does not exist.
  fileprivate func hasSteps() throws -> Bool {
    if arguments.value("--migrations") != nil {
      try requireFolder(migrationsFolder)
      return true
    }
    return bundled.areThere || FileManager.default.fileExists(atPath: migrationsFolder.path)
  }
}
