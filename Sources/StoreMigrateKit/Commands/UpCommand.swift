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
    /// Whether another process had changed the version while this one waited for it.
    let byAnother: Bool

    var description: String {
      applied.isEmpty
        ? "\(store.path) is at version \(to)\(byAnother ? meanwhile : ".") "
          + (changedFormat ? "The columns of its links have names of their own now." : "Nothing to do.")
        : changed(store, to: to, backup: backup, applied: applied, seconds: seconds)
          + (byAnother ? "\nBefore, another process had brought it to version \(from)." : "")
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
        changedFormat: false, byAnother: false)
    }
    let aftermath = MigrationRun(
      store: session.storePath, key: key, from: plan.storeVersion, to: set.version,
      configuration: try session.configuration())
    do {
      let (outcome, seconds) = try await session.run(
        .latest, set, plan, key, "up", loses: "The pending steps lose", aftermath)
      let from = outcome.version - outcome.steps.count
      return UpReport(
        store: summary, from: from, to: outcome.version,
        applied: outcome.steps.map { "\(numbered($0)) \(set.steps[$0 - 1].name)" },
        backup: outcome.backup?.path, seconds: seconds,
        // Who came first has changed the format, too.
        changedFormat: plan.changesFormat && from == plan.storeVersion, byAnother: from != plan.storeVersion)
    } catch StoreError.storeIsNewer(_, let found, _, _, _)
      where found <= all.version && set.version < all.version
    {
      // Beyond what this one was to run, and not beyond the steps: another process had more to do.
      return UpReport(
        store: summary, from: found, to: found, applied: [], backup: nil, seconds: 0, changedFormat: false,
        byAnother: true)
    }
  }

  /// The steps as far as they are to run, and what they would do. The history is held against all of them.
  private static func plan(_ session: Session, _ key: Key, _ all: MigrationSet) throws -> (
    MigrationSet, MigrationPlan
  ) {
    try session.lookingBeforeChange(key: key) { inspection in
      let plan = try MigrationPlan(inspection, all)
      let asked = try session.target(of: all)
      let steps = try session.arguments.count("--steps")
      let target = try session.target(from: plan.storeVersion, steps: steps ?? all.version)
      guard asked != nil || steps != nil, target < all.version else { return (all, plan) }
      // Steps that ran stay where they are: down takes them back.
      let set = try all.upTo(max(target, min(plan.storeVersion, all.version)))
      return (set, try MigrationPlan(inspection, set))
    }
  }
}
