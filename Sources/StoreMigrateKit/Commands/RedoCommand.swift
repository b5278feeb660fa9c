// The `redo` command: rolls back the last steps and runs them again.

import CipherSQLite
import Foundation
import ObjectVault

enum RedoCommand: Command {
  static let name = "redo"
  static let summary = "Roll back the last steps and run them again: for a step that you are still writing"
  static let group = CommandGroup.change
  static let positionalCount = 1
  static let options =
    [
      Option.migrations, Option("--steps", value: "K", "the number of steps; default 1"),
      Option.allow, Option.noBackup, Option.yes, Option.shownPlan,
    ] + Option.run
  static let help = """
    EXAMPLES
      store-migrate redo notes.store                           the last step, after an edit of its file
      store-migrate redo notes.store --steps 2 --allow lossy:User.town

    Runs `down` and `up` in one transaction: after any error, the store is unchanged. If the file of a step was
    edited after the step ran, the old form is undone by the rollback that the store has kept since the step
    ran, and then the new form runs. An edit of an earlier step is a conflict, as always. The losses of both
    directions must be allowed.
    """

  struct RedoReport: Report {
    var isScreen: Bool { true }
    let store: StoreSummary
    let version: Int
    let takenBack: [String]
    let applied: [String]
    let backup: String?
    let seconds: Double

    var description: String {
      takenBack.isEmpty
        ? "\(store.path) is at version \(version). Nothing to do."
        : changed(
          store, to: version, backup: backup, undone: takenBack, applied: applied, seconds: seconds)
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let (set, key) = (try session.migrations(), try session.key())
    let count = try session.arguments.count("--steps") ?? 1
    let (plan, generation) = try plan(session, key: key, migrations: set, steps: count)
    guard !plan.isUpToDate else {
      return RedoReport(
        store: session.storeAfterwards, version: plan.storeVersion, takenBack: [], applied: [], backup: nil,
        seconds: 0)
    }
    let aftermath = RepeatedSteps(
      store: session.storePath, key: key, version: plan.storeVersion, generation: generation,
      configuration: try session.lookingConfiguration(),
      history: session.line(HistoryCommand.self))
    let (outcome, seconds) = try await session.run(
      .again(count), migrations: set, plan: plan, key: key, aftermath: aftermath)
    func names(_ numbers: [Int], isRollback: Bool) -> [String] {
      numbers.map { number in
        let step = plan.steps.first { $0.number == number && $0.isRollback == isRollback }
        return "\(numbered(number)) \(step?.name ?? "")"
      }
    }
    return RedoReport(
      store: session.storeAfterwards, version: outcome.version,
      takenBack: names(outcome.takenBack, isRollback: true),
      applied: names(outcome.steps, isRollback: false), backup: outcome.backup?.path, seconds: seconds)
  }

  /// Returns the plan, and how often the tables had been changed before. The store is closed again
  /// afterwards.
  private static func plan(
    _ session: Session, key: Key, migrations set: MigrationSet, steps count: Int
  ) throws -> (MigrationPlan, Int64) {
    try session.lookingBeforeChange(key: key) { inspection in
      let info = try StoreInfo(inspection.connection)
      let generation = info.generation
      if session.arguments.value("--steps") != nil { try DownCommand.requireSteps(count, at: info.version) }
      return (try session.plan(inspection, migrations: set, goal: .again(count)), generation)
    }
  }
}
