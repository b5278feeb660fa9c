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
      Option("--to", value: "N", "up to version N; all pending steps without it"),
      Option("--steps", value: "K", "so many steps"),
      Option.allow, Option.noBackup, Option.yes,
    ] + Option.store
  static let help = """
    EXAMPLES
      store-migrate up notes.store --key-file key.txt
      store-migrate up notes.store --allow lossy:User.town     when a step drops User.town
      store-migrate up notes.store --yes --lock-timeout 60
      store-migrate up notes.store --to 6                      no further than version 6

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
        ? "\(store.path) is at version \(from). "
          + (changedFormat ? "The columns of its links have names of their own now." : "Nothing to do.")
        : changed(store, to: to, backup: backup, applied: applied, seconds: seconds)
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let all = try session.migrations()
    let key = try session.key()
    let (set, plan) = try plan(session, key, all)
    let summary = StoreSummary(path: session.storePath, bytes: plan.bytes)
    guard !plan.isUpToDate else {
      MigrationLeavings.remove(of: try DatabasePath(session.storePath))
      return UpReport(
        store: summary, from: plan.storeVersion, to: plan.storeVersion, applied: [], backup: nil, seconds: 0,
        changedFormat: false)
    }
    let aftermath = MigrationRun(
      store: session.storePath, key: key, from: plan.storeVersion, to: set.version,
      configuration: try session.configuration())
    let (applied, seconds) = try await session.run(
      plan, key, "up", loses: "The pending steps lose", aftermath
    ) {
      try await Store.migrate(
        at: $0.store, key: $0.key, migrations: set, profile: $0.profile, busyTimeout: $0.lockTimeout,
        makesBackups: $0.makesBackups, allowing: $0.allowed, progress: $0.progress)
    }
    return UpReport(
      store: summary, from: plan.storeVersion, to: max(set.version, plan.storeVersion),
      applied: applied.steps.map { "\(numbered($0)) \(set.steps[$0 - 1].name)" },
      backup: applied.backup?.path, seconds: seconds, changedFormat: plan.changesFormat)
  }

  /// The steps as far as they are to run, and what they would do. The history is held against all of them.
  private static func plan(_ session: Session, _ key: Key, _ all: MigrationSet) throws -> (
    MigrationSet, MigrationPlan
  ) {
    let plan = try MigrationPlan(session.inspection(key: key), all)
    let asked = try session.target(of: all)
    let steps = try session.arguments.count("--steps")
    let target = try session.target(from: plan.storeVersion, steps: steps ?? all.version)
    guard asked != nil || steps != nil, target < all.version else { return (all, plan) }
    // Steps that ran stay where they are: down takes them back.
    let set = try all.upTo(max(target, min(plan.storeVersion, all.version)))
    return (set, try MigrationPlan(session.inspection(key: key), set))
  }
}
