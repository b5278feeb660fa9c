// up: run the pending steps.

import CipherSQLite
import Foundation
import ObjectVault

enum UpCommand: Command {
  static let name = "up"
  static let summary = "Apply pending steps, all in one transaction"
  static let group = CommandGroup.change
  static let positionalCount = 1
  static let options =
    [
      Option.migrations,
      Option("--allow", value: "lossy:NAME", "a loss, such as lossy:User.town; once for each"),
      Option("--no-backup", "no copy before a step that loses or rewrites values"),
      Option.yes,
    ] + Option.store
  static let help = """
    EXAMPLES
      store-migrate up notes.store --key-file key.txt
      store-migrate up notes.store --allow lossy:User.town     when a step drops User.town
      store-migrate up notes.store --yes --lock-timeout 60

    Runs the pending steps in one transaction: afterwards the store is at the last version or, on any error,
    at the one it had. A step that loses data has to be allowed: by a line allow: lossy:NAME in its file, by
    --allow lossy:NAME for each loss, by --yes, or at the question.

    Before a step that loses or rewrites values, or whose file says backup: always, an encrypted copy is made
    beside the store and verified; the last two are kept. --no-backup leaves it out.
    """

  struct UpReport: Report {
    let store: StoreSummary
    let from: Int
    let to: Int
    let applied: [String]
    let backup: String?
    let seconds: Double
    let changedFormat: Bool

    var description: String {
      applied.isEmpty
        ? "\(store.path) is at version \(to). "
          + (changedFormat ? "The columns of its links have names of their own now." : "Nothing to do.")
        : ((backup.map { ["backup   \($0)"] } ?? []) + applied.map { "applied  \($0)" } + [
          "\(store.path) is at version \(to) (\((seconds * 100).rounded() / 100) s)."
        ])
        .joined(separator: "\n")
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let set = try session.migrations()
    let key = try session.key()
    let plan = try MigrationPlan(session.inspection(key: key), set)
    let summary = StoreSummary(path: session.storePath, bytes: plan.bytes)
    guard !plan.isUpToDate else {
      MigrationLeavings.remove(of: try DatabasePath(session.storePath))
      return UpReport(
        store: summary, from: plan.storeVersion, to: plan.storeVersion, applied: [], backup: nil, seconds: 0,
        changedFormat: false)
    }
    try allow(plan.unallowedLosses, session)
    session.interruption.begin(
      MigrationRun(
        store: session.storePath, key: key, from: plan.storeVersion, to: set.version,
        configuration: try session.configuration()))
    let start = Date()
    let applied = try await Store.migrate(
      at: URL(fileURLWithPath: session.storePath), key: key, migrations: set,
      profile: try session.profile(), busyTimeout: try session.lockTimeout(),
      makesBackups: !session.arguments.has("--no-backup"), allowing: Set(plan.unallowedLosses),
      progress: session.progress)
    return UpReport(
      store: summary, from: plan.storeVersion, to: set.version,
      applied: applied.steps.map { "\(numbered($0)) \(set.steps[$0 - 1].name)" },
      backup: applied.backup?.path,
      seconds: Date().timeIntervalSince(start), changedFormat: plan.changesFormat)
  }

  private static func allow(_ losses: [String], _ session: Session) throws {
    let allowed = Set(session.arguments.all("--allow"))
    let left = losses.filter { !allowed.contains("lossy:\($0)") }
    guard !left.isEmpty, !session.arguments.has("--yes") else { return }
    let list = left.joined(separator: ", ")
    if !session.arguments.has("--no-input"), isatty(0) == 1 {
      session.standardError("This loses for good: \(list). Type yes to go on:")
      if readLine() == "yes" { return }
    }
    throw RefusedError(
      code: .refused,
      description: "The pending steps lose for good: \(list). Allow it with "
        + left.map { "--allow lossy:\($0)" }.joined(separator: " ") + ". Nothing was changed.")
  }
}
