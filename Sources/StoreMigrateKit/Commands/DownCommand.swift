// The `down` command: rolls back the last steps.

import CipherSQLite
import Foundation
import ObjectVault

enum DownCommand: Command {
  static let name = "down"
  static let summary = "Roll back the last steps, all in one transaction"
  static let group = CommandGroup.change
  static let positionalCount = 1
  static let options =
    [
      Option.migrations,
      Option("--to", value: "N", "roll back to version N; 0 is an empty store"),
      Option("--steps", value: "K", "the number of steps to roll back; default 1"),
      Option.allow, Option.noBackup, Option.yes, Option.transaction, Option.shownPlan,
      Option("--dry-run", "only show the plan"),
    ] + Option.run
  static let aliases = ["rollback", "revert"]
  static let help = """
    EXAMPLES
      store-migrate plan notes.store --to 6                    show what `down` would do, with its SQL
      store-migrate down notes.store                           the last step
      store-migrate down notes.store --to 6 --allow lossy:User.town

    A step is rolled back by the [down] section of its file, or by the inverse of its operations. A step
    without a rollback ends the command with 5; `status` lists these steps. Values in properties and entities
    that the rollback removes are lost. Each loss must be allowed: by --allow lossy:NAME, by --yes, or by the
    answer yes. Like `up`, `down` is refused if rows would not fit the model after it.

    The store contains the rollback of each step that ran. This rollback is used when the file of the step is
    missing, or was edited after the step ran. So an older tool, or one without migrations, can roll back a
    newer store.

    Backups and --tx step work as in `up`, with one exception: steps that `squash` folded into one are rolled
    back in one transaction. Ids that were assigned are not assigned again.
    """

  struct DownReport: Report {
    var isScreen: Bool { true }
    let store: StoreSummary
    let from: Int
    let to: Int
    let takenBack: [String]
    let backup: String?
    let seconds: Double
    /// Whether another process changed the version, between the plan of this run and its first step or
    /// between two of its steps.
    let byAnother: Bool
    /// What the other process did, in words.
    var others: String?

    private enum CodingKeys: String, CodingKey {
      case store, from, to, takenBack, backup, seconds, byAnother, others
    }

    var description: String {
      takenBack.isEmpty
        ? "\(store.path) is at version \(to)\(byAnother ? meanwhile : ".") Nothing to do."
        : changed(store, to: to, backup: backup, undone: takenBack, seconds: seconds)
          + (others.map { "\n\($0)" } ?? "")
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let set = try session.migrationsIfAny()
    let key = try session.key()
    let plan = try plan(session, key: key, migrations: set)
    let (version, target) = (plan.storeVersion, plan.targetVersion)
    guard !plan.isUpToDate else {
      MigrationLeavings.remove(of: try DatabasePath(session.storePath))
      return DownReport(
        store: session.storeAfterwards, from: version, to: version, takenBack: [], backup: nil, seconds: 0,
        byAnother: false)
    }
    session.warnOfFold(at: target, set)
    let aftermath = MigrationRun(
      store: session.storePath, key: key, from: version, to: target,
      configuration: try session.lookingConfiguration(), status: session.line(StatusCommand.self),
      storeState: try session.storeState(of: plan))
    let (outcome, seconds) = try await session.run(
      .back(to: target), migrations: set, plan: plan, key: key, aftermath: aftermath)
    let names = Dictionary(plan.steps.map { ($0.number, $0.name) }) { first, _ in first }
    let name = { (number: Int) in
      ([numbered(number)] + (names[number].map { [$0] } ?? [])).joined(separator: " ")
    }
    let between = (outcome.version..<max(outcome.version, outcome.startVersion)).map { $0 + 1 }
      .filter { !outcome.takenBack.contains($0) }
    let others = doneByOthers(
      planned: version, from: outcome.startVersion, ("rolled back", between.reversed().map(name)))
    return DownReport(
      store: session.storeAfterwards, from: outcome.startVersion, to: outcome.version,
      takenBack: outcome.takenBack.map(name), backup: outcome.backup?.path, seconds: seconds,
      byAnother: others != nil, others: others)
  }

  /// Returns the plan of the rollback. The store is closed again afterwards.
  private static func plan(
    _ session: Session, key: Key, migrations set: MigrationSet
  ) throws -> MigrationPlan {
    try session.lookingBeforeChange(key: key) { inspection in
      try session.plan(inspection, migrations: set, goal: .back(to: target(session, inspection)))
    }
  }

  /// Checks that a store at this version has that many steps to roll back.
  /// - Throws: ``UsageError`` when it has fewer: a number that is too high by mistake would otherwise
  ///   roll back all steps, and remove everything in the store.
  static func requireSteps(_ count: Int, at version: Int) throws {
    guard count > version else { return }
    throw UsageError(
      "--steps \(count): the store is at version \(version), so "
        + (version == 0
          ? "there is no step" : "there \(version == 1 ? "is" : "are") only \(counted(version, "step"))")
        + " to roll back.")
  }

  /// Returns the version that the command line rolls back to.
  /// - Throws: ``UsageError`` when that version is above the store's, or when the store has fewer steps
  ///   than `--steps`.
  static func target(_ session: Session, _ inspection: Inspection) throws -> Int {
    let version = try StoreInfo(inspection.connection).version
    let steps = try session.arguments.count("--steps")
    if let steps { try requireSteps(steps, at: version) }
    let target = try session.target(from: version, steps: -(steps ?? 1))
    // Only an explicit `--to` can be a mistake of the user.
    if target > version, session.arguments.value("--to") != nil {
      throw UsageError(
        "--to \(target): the store is at version \(version). To go to a higher version, use `up`.")
    }
    return target
  }
}
