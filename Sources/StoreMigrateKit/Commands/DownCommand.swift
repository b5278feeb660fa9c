// The `down` command: rolls back the last steps.

import CipherSQLite
import Foundation
import ObjectVault

enum DownCommand: Command {
  static let name = "down"
  static let summary = "Take the last steps back, all in one transaction"
  static let group = CommandGroup.change
  static let positionalCount = 1
  static let options =
    [
      Option.migrations,
      Option("--to", value: "N", "down to version N; 0 is an empty store"),
      Option("--steps", value: "K", "so many steps; 1 without it and without --to"),
      Option.allow, Option.noBackup, Option.yes, Option.transaction, Option.shownPlan,
      Option("--dry-run", "what plan shows, and nothing else"),
    ] + Option.run
  static let aliases = ["rollback", "revert"]
  static let help = """
    EXAMPLES
      store-migrate plan notes.store --to 6                    what would be done, with its SQL
      store-migrate down notes.store                           the last step
      store-migrate down notes.store --to 6 --allow lossy:User.town

    A step is taken back by the [down] section of its file, or by what follows from its operations; see status for those
    that have no way back, which end with 5. What was entered since in properties and entities that go is lost, and has to
    be allowed: by --allow lossy:NAME for each, by --yes, or at the question. Rows that fit no longer are refused, as by up.

    The store carries the way back of each step that ran: one whose file is not at hand, or was edited since, is taken back
    by that, so that an older tool, or one without any migrations, returns a newer store. Copies are made as by up, --tx
    step is as there, but that steps which the files have as one go in one transaction, and ids that were given out stay so.
    """

  struct DownReport: Report {
    var isScreen: Bool { true }
    let store: StoreSummary
    let from: Int
    let to: Int
    let takenBack: [String]
    let backup: String?
    let seconds: Double
    /// Whether another process changed the version, while this one waited for it or between two steps.
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
      planned: version, from: outcome.startVersion, ("took back", between.reversed().map(name)))
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
  /// - Throws: ``UsageError`` when it has fewer: a miscount would otherwise remove everything in the
  ///   store.
  static func requireSteps(_ count: Int, at version: Int) throws {
    guard count > version else { return }
    throw UsageError(
      "--steps \(count): the store is at version \(version), and \(version == 0 ? "no step" : "no more than \(counted(version, "step"))") "
        + "can be taken back.")
  }

  /// Returns the version that the command line rolls back to.
  /// - Throws: ``UsageError`` when that version is above the store's.
  static func target(_ session: Session, _ inspection: Inspection) throws -> Int {
    let version = try StoreInfo(inspection.connection).version
    let steps = try session.arguments.count("--steps")
    if let steps { try requireSteps(steps, at: version) }
    let target = try session.target(from: version, steps: -(steps ?? 1))
    // Only an explicit `--to` can be a mistake of the user.
    if target > version, session.arguments.value("--to") != nil {
      throw UsageError("--to \(target): the store is at version \(version), and up leads further.")
    }
    return target
  }
}
