// The `baseline` command: imports the rows of another program's file into a store that starts at version
// N.

import CipherSQLite
import Foundation
import ObjectVault
import VaultAuthoring

enum BaselineCommand: Command {
  static let name = "baseline"
  static let summary = "Import the rows of another program's file into a store that starts at version N"
  static let group = CommandGroup.change
  // FILE is omitted when the file itself becomes the store; `run` checks the count.
  static let positionalCount = -1
  static let positionalNames = "[FILE] STORE"
  static let toOne = Option(
    SchemaImport.toOne.name, value: SchemaImport.toOne.value, isList: true,
    "Note.owner=Person imports Note.owner as a to-one to Person; Note.rank= (nothing after",
    "the =) keeps Note.rank as a plain number; repeatable")
  static let options =
    [
      Option.migrations,
      Option("--to", value: "N", "the version that the tables have; steps 1 to N are recorded, not run"),
      Option.allow, toOne, Option.yes,
    ] + Option.store + Option.newKey + [Option.newCipher]
  static let help = """
    EXAMPLES
      store-migrate schema import legacy.db                      writes the first step and the classes
      store-migrate baseline legacy.db notes.store --to 1        prompts twice for the new key
      store-migrate baseline old.sqlcipher notes.store --to 1 --key-file old.txt --new-key-file new.txt
      store-migrate baseline tables.store --to 3                 in place: the file has the tables of step 3

    Imports the rows of an SQLite or SQLCipher file, also of Core Data or SwiftData, into a new encrypted
    store. The rows keep their ids. The file does not change. Names in the steps and in the file may differ in
    case. The command checks the number of rows, the types of their values, and their references before it
    creates the store. Steps 1 to N are recorded and do not run; `up` runs the later ones. If the file is
    encrypted, the store gets the file's key, unless a new key is given.

    If data has no place in the store (`schema import` lists it), the command ends with 5, unless the loss is
    allowed: by --allow lossy:NAME for each loss, by --yes, or by the answer yes.

    With one argument, an encrypted file whose tables match those of the steps becomes a store in place. No
    row changes.
    """

  struct BaselineReport: Report {
    let store: StoreSummary
    let version: Int
    let file: String?
    let tables: [Adoption.Table]
    let left: [AdoptionLoss]
    let seconds: Double

    var description: String {
      var lines = SchemaImport.tableLines(tables) + left.map { "not imported: \($0)" }
      lines.append("\(store.path) is at version \(version) (\((seconds * 100).rounded() / 100) s).")
      if let file { lines.append("\(file) is unchanged. Delete it once your programs use the store.") }
      return lines.joined(separator: "\n")
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let words = Array(session.arguments.positional.dropFirst())
    guard words.count == 1 || words.count == 2, !words.contains("") else {
      throw UsageError(
        "baseline takes a file and a new store, or only a store. \(ToolLine.help(name))")
    }
    let all = try session.migrations()
    guard let version = try session.target(of: all, isFresh: true), version > 0 else {
      throw UsageError(
        "baseline needs --to N, the version that the tables have; 1 or more. \(ToolLine.help(name))")
    }
    let set = try all.upTo(version)
    return try await words.count == 1
      ? inPlace(session, set) : taken(session, from: words[0], into: words[1], migrations: set)
  }

  // MARK: In place

  private static func inPlace(_ session: Session, _ set: MigrationSet) async throws -> any Report {
    let start = Date()
    // Checked first, so that no prompt for a key appears when the file is not encrypted.
    if try session.isPlainFile(session.storePath) {
      throw refusal(SQLError.notEncrypted(file: session.storePath), in: session, migrations: set)
    }
    let key = try session.key()
    session.interruption.begin(
      MigrationRun(
        store: session.storePath, key: key, from: 0, to: set.version,
        configuration: try session.configuration(), status: session.line(StatusCommand.self)))
    do {
      try await Store.adoptInPlace(
        URL(fileURLWithPath: session.storePath), key: key, migrations: set, profile: session.profile(),
        busyTimeout: session.lockTimeout())
    } catch StoreError.adoptionRefused(let file, let reason, takesRows: true) {
      throw refusal(
        StoreError.adoptionRefused(file: file, reason: reason, takesRows: true), in: session, migrations: set)
    }
    return BaselineReport(
      store: session.storeAfterwards,
      version: set.version, file: nil, tables: [], left: [], seconds: Date().timeIntervalSince(start))
  }

  /// Returns the error with the command line that imports the rows into a new store.
  private static func refusal(
    _ error: any Error, in session: Session, migrations set: MigrationSet
  ) -> RefusedError {
    RefusedError(
      code: ExitCode(error),
      description:
        "\(error) To import its rows into a new store:\n      "
        + session.baselineCommandLine(for: session.storePath, to: set.version))
  }

  // MARK: Into a new store

  private static func taken(
    _ session: Session, from file: String, into path: String, migrations set: MigrationSet
  ) async throws -> any Report {
    let start = Date()
    try session.requireFree(path)
    let fileKey = try session.keyOfForeignFile(file)
    // Without a new key, the store keeps the key of the encrypted file.
    let hasOwnKey = fileKey == nil || session.hasNewKey
    let key = hasOwnKey ? try session.newKey() : try session.kept(fileKey ?? session.newKey())
    session.interruption.begin(NewStore(path: path))
    let url = URL(fileURLWithPath: file)
    let adopt = { (losses: Set<String>) in
      try await Store.adopt(
        url, fileKey: fileKey, fileProfile: session.profile(), into: URL(fileURLWithPath: path), key: key,
        migrations: set, profile: session.newProfile(), relationships: session.toOnes(), allowing: losses,
        busyTimeout: session.lockTimeout(), progress: session.progress)
    }
    let allowed = try session.allowances().map { String($0.dropFirst("lossy:".count)) }
    let adoption: Adoption
    do {
      adoption = try await adopt(Set(allowed))
      session.warnOfIdle(allowed, among: adoption.losses, of: file)
    } catch let error as StoreError {
      guard case .adoptionLoses(_, let losses) = error else { throw error }
      // The error lists only the losses that are not allowed. A second attempt, which allows none, lists
      // all of them; so a name that is right causes no warning.
      if !allowed.isEmpty {
        do { _ = try await adopt([]) } catch StoreError.adoptionLoses(_, let all) {
          session.warnOfIdle(allowed, among: all, of: file)
        }
      }
      // Nothing is written while the user answers the question, so a signal may end the process at once.
      session.interruption.pause()
      guard session.accepts(losses, of: file) else { throw error }
      session.interruption.begin(NewStore(path: path))
      adoption = try await adopt(Set(allowed + losses.map(\.name)))
    }
    return BaselineReport(
      store: StoreSummary(at: path), version: set.version,
      file: file, tables: adoption.tables, left: adoption.losses,
      seconds: Date().timeIntervalSince(start))
  }
}

extension Session {
  /// Returns the command line that imports the rows of a file into a new store.
  /// - Parameter losses: Losses that the command line allows: what has no place in the store and is
  ///   skipped.
  func baselineCommandLine(for file: String, to version: Int, losses: [AdoptionLoss] = []) -> String {
    let allowed = losses.flatMap { ["--allow", "lossy:\($0.name)"] }
    let toOnes = arguments.all(BaselineCommand.toOne.name).flatMap { [BaselineCommand.toOne.name, $0] }
    // An unencrypted file has no key, so the key that was given is the store's.
    return offer(
      BaselineCommand.self, [argumentPath(file), "NEW.store", "--to", "\(version)"] + allowed + toOnes,
      keyIsNew: (try? isPlainFile(file)) == true)
  }

  /// Warns of each name in `--allow lossy:NAME` that matches no loss.
  fileprivate func warnOfIdle(_ allowed: [String], among losses: [AdoptionLoss], of file: String) {
    let names = losses.map(\.name)
    for name in Set(allowed).subtracting(names).sorted() {
      warn(
        "--allow lossy:\(name) has no effect: \(file) has no such loss."
          + didYouMean(lossy: name, among: names.filter { !allowed.contains($0) })
      )
    }
  }

  /// Returns whether the store may be made despite these losses: with `--yes`, or when the user types
  /// "yes".
  fileprivate func accepts(_ losses: [AdoptionLoss], of file: String) -> Bool {
    if arguments.has("--yes") { return true }
    guard !arguments.has("--no-input"), isatty(0) == 1 else { return false }
    for loss in losses { standardError("  · \(loss)") }
    standardError("\(file) does not change. The store will be made without these. Type yes to continue:")
    return readLine() == "yes"
  }
}
