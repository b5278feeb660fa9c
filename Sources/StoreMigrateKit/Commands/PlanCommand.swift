// The `plan` command: shows what `up` would do, with its SQL. The text of its report is in
// PlanScreen.swift.

import CipherSQLite
import Foundation
import ObjectVault

enum PlanCommand: Command {
  static let name = "plan"
  static let offersCreation = true
  static let summary = "Show the pending steps and their exact SQL for this engine; writes nothing"
  static let group = CommandGroup.look
  static let positionalCount = 1
  static let options =
    [
      Option.migrations,
      Option(
        "--to", value: "N",
        "stop at version N; below the store's version, show what `down --to N` would do"),
      Option.transaction,
      Option(
        "--rehearse",
        "run the steps on an encrypted copy and report the result; the copy is in the folder for",
        "temporary files ($TMPDIR) and is removed at the end (after a kill, the next rehearsal",
        "removes it)"),
    ] + Option.look
  static let help = """
    EXAMPLES
      store-migrate plan notes.store --key-command 'pass show notes'
      store-migrate plan notes.store --json
      store-migrate plan notes.store --to 6
      store-migrate plan notes.store --rehearse

    Shows what `up` would do, or `down` if --to is below the store's version. The store does not change, and
    no new file remains. `plan` checks the existing rows and counts those that a step would reject: duplicate
    values, missing required values, or several objects where only one can stay. It cannot check a table that
    an earlier step changes, or the effect of your own SQL. Lines about such a table or such SQL begin with a
    question mark.

    --rehearse also checks what these lines leave open: it runs the steps on a copy with the store's key. It
    reports what `up` or `down` would print, and how long each step took. The copy needs as much disk space as
    the store, plus what the steps write. All losses count as allowed.

    Ends with the exit code that `up` would have with all losses allowed: with 5 for rejected rows or a missing
    Swift function, with 1 for an unmet require line of a step or if the store's tables or objects differ from its
    model, and with 6 if the disk does not have enough space. Without --rehearse, lines with a question mark do not
    affect the exit code.
    """

  struct PlannedStep: Encodable {
    let number: Int
    let name: String
    let isRollback: Bool
    let irreversible: String?
    let operations: [String]
    let sql: [String]
    let losses: [String]
    /// The losses as the screen shows them, including what is lost along with them.
    let lossTexts: [String]
    let rebuilds: [String]
    let refusals: [Refusal]
    let unasked: [String]
    let transforms: [Transform]
    let note: String?
    let rows: Int
    let seconds: Double
    let reversible: Bool
    let rebuildReasons: [Rebuild]

    private enum CodingKeys: String, CodingKey {
      case number, name, isRollback, irreversible, operations, sql, losses, rebuilds, refusals, unasked
      case transforms, note, rows, seconds, reversible, rebuildReasons
    }
  }

  struct Rebuild: Encodable {
    let table: String
    let operations: [String]
    let reason: String
    let copies: Int

    init(_ rebuild: MigrationPreview.Rebuild) {
      (table, operations, reason) = (rebuild.table, rebuild.operations, rebuild.reason)
      copies = rebuild.copies
    }
  }

  struct Transform: Encodable {
    let operation: String
    let name: String
    let entity: String
    let rows: Int?
    let isMissing: Bool

    init(_ transform: MigrationPlan.Transform) {
      (operation, name, entity) = (transform.operation, transform.name, transform.entity)
      (rows, isMissing) = (transform.rows, transform.isMissing)
    }
  }

  struct Refusal: Encodable {
    let operation: String
    let entity: String
    let properties: [String]
    let rule: String
    let count: Int
    let rows: [Int64]
    let text: String

    init(_ refusal: MigrationPlan.Refusal) {
      (operation, entity, properties) = (refusal.operation, refusal.entity, refusal.properties)
      (rule, count, rows, text) = (refusal.rule.rawValue, refusal.count, refusal.rows, "\(refusal)")
    }
  }

  /// The result of running the steps on a copy.
  struct Rehearsal: Encodable {
    struct Step: Encodable {
      let number: Int
      let name: String
      let isRollback: Bool
      let seconds: Double
    }

    /// The steps that were completed.
    let steps: [Step]
    let seconds: Double
    /// The message that `up` or `down` would print; nil when it would succeed.
    let failure: String?
    let failureCode: ExitCode?

    private enum CodingKeys: String, CodingKey { case steps, seconds, failure }

    /// - Parameter failure: The error of the run, as the tool words it.
    init(_ rehearsal: MigrationRehearsal, failure: (any Error)?) {
      steps = rehearsal.steps.map {
        Step(number: $0.number, name: $0.name, isRollback: $0.isRollback, seconds: $0.seconds)
      }
      seconds = rehearsal.seconds
      self.failure = failure.map { StoreError.withoutUnchanged(ErrorText.of($0)) }
      failureCode = failure.map { ExitCode($0) }
    }

    /// Returns the measurements of a step; nil when it was not completed.
    func step(_ step: PlannedStep) -> Step? {
      steps.first { $0.number == step.number && $0.isRollback == step.isRollback }
    }
  }

  struct PlanReport: Report {
    var isScreen: Bool { true }
    let store: StoreSummary
    let from: Int
    let to: Int
    let steps: [PlannedStep]
    let drift: [String]
    /// Whether the tables match the store's model, so that `drift` lists only what exists in addition to
    /// them.
    let hasOwnTables: Bool
    /// The scope of a transaction: `all` or `step`.
    let transaction: String
    /// The number of the step that earlier steps were folded into; 0 for none. Steps up to it share one
    /// transaction, even when each other step has its own.
    let foldedVersion: Int
    let makesBackup: Bool
    let backup: String?
    let neededBytes: Int
    let freeBytes: Int?
    let cost: StatusCommand.Cost
    /// The result of the rehearsal; nil when none was requested, or when no step is pending.
    var rehearsal: Rehearsal?
    /// The command lines to run next.
    var next: [String]

    private enum CodingKeys: String, CodingKey {
      case store, from, to, steps, drift, hasOwnTables, transaction, makesBackup, backup,
        neededBytes, freeBytes, cost, rehearsal, next
    }

    /// Whether the run needs more disk space than there is.
    var lacksRoom: Bool { freeBytes.map { $0 < neededBytes } ?? false }
    /// The exit code that `up` or `down` would have if all losses were allowed: first for what the run
    /// checks before its first step, in the order of these checks, then for what its steps refuse.
    var exitCode: ExitCode {
      if steps.contains(where: { $0.transforms.contains(where: \.isMissing) }) { return .refused }
      if lacksRoom { return .noSpace }
      if let rehearsal { return rehearsal.failureCode ?? .ok }
      // The run checks the tables last, under its lock.
      guard drift.isEmpty || steps.isEmpty else { return .failed }
      // A `require` line that is not met has the exit code of an error in the step's own SQL.
      return switch steps.flatMap(\.refusals).first?.rule {
      case nil: .ok
      case RefusalRule.requirement.rawValue: .failed
      default: .refused
      }
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let key = try session.key()
    var (report, plan, set, goal) = try looked(session, key)
    if session.arguments.has("--rehearse"), !plan.isUpToDate {
      report.rehearsal = try await rehearsed(session, key: key, migrations: set, goal: goal)
    }
    report.next = next(session, after: report, plan: plan, goal: goal)
    return report
  }

  /// Returns the report without the next command lines, and what it was made from.
  private static func looked(_ session: Session, _ key: Key) throws -> (
    PlanReport, MigrationPlan, MigrationSet, MigrationGoal
  ) {
    let inspection = try session.inspection(key: key)
    return try withExtendedLifetime(inspection) {
      let (set, goal) = try aim(session, inspection)
      let (plan, preview) = try session.planned(inspection, migrations: set, goal: goal, asksRows: true)
      let report = PlanReport(
        store: StoreSummary(path: session.storePath, bytes: plan.bytes), from: plan.storeVersion,
        to: plan.targetVersion,
        steps: plan.steps.indices.map { planned($0, of: plan, preview: preview, migrations: set) },
        drift: plan.drift,
        hasOwnTables: plan.hasOwnTables,
        transaction: try session.commitsEachStep() ? "step" : "all",
        foldedVersion: set.foldedVersion,
        makesBackup: plan.makesBackup, backup: preview.backupName,
        neededBytes: plan.neededBytes, freeBytes: preview.freeBytes,
        cost: StatusCommand.Cost(rows: plan.cost.rows, seconds: plan.cost.seconds),
        next: [])
      return (report, plan, set, goal)
    }
  }

  private static func rehearsed(
    _ session: Session, key: Key, migrations set: MigrationSet, goal: MigrationGoal
  ) async throws -> Rehearsal {
    let (url, isImmutable) = (URL(fileURLWithPath: session.storePath), session.arguments.has("--immutable"))
    var settings = Store.RunSettings(
      profile: try session.profile(), busyTimeout: try session.lockTimeout(), makesBackups: false, losses: [],
      progress: session.progress)
    settings.commitsEachStep = try session.commitsEachStep()
    let runSettings = settings
    session.interruption.begin(Rehearsing())
    let rehearsal = try await session.showingSteps("rehearse", waiting: WaitingLine(session)) {
      try await Store.rehearse(
        goal, at: url, key: key, migrations: set, settings: runSettings, immutable: isImmutable)
    }
    let command: any Command.Type = goal == .latest ? UpCommand.self : DownCommand.self
    return Rehearsal(rehearsal, failure: rehearsal.failure.map { session.located($0, of: command) })
  }

  private static func planned(
    _ index: Int, of plan: MigrationPlan, preview: MigrationPreview, migrations set: MigrationSet
  ) -> PlannedStep {
    let step = plan.steps[index]
    return PlannedStep(
      number: step.number, name: step.name, isRollback: step.isRollback, irreversible: step.irreversible,
      operations: step.operations, sql: step.sql, losses: step.losses,
      lossTexts: step.losses.map(step.text), rebuilds: step.rebuiltTables,
      refusals: step.refusals.map { Refusal($0) }, unasked: step.unasked,
      transforms: step.transforms.map { Transform($0) },
      note: step.isRollback || step.number > set.version ? nil : set.steps[step.number - 1].note,
      rows: step.rows,
      seconds: preview.seconds[index], reversible: step.irreversible == nil,
      rebuildReasons: preview.rebuilds[index].map { Rebuild($0) })
  }

  /// Returns the command lines to run next.
  /// - Parameter report: The report, without these lines.
  private static func next(
    _ session: Session, after report: PlanReport, plan: MigrationPlan, goal: MigrationGoal
  ) -> [String] {
    guard plan.drift.isEmpty else { return [session.line(VerifyCommand.self)] }
    guard !plan.steps.isEmpty, report.exitCode == .ok else { return [] }
    let isOpen = report.rehearsal == nil && plan.steps.contains { !$0.unasked.isEmpty }
    let target = ["--to", "--steps", "--tx"].flatMap { name in
      session.arguments.value(name).map { [name, $0] } ?? []
    }
    let flags = ["--no-backup", "--vacuum"].filter(session.arguments.has)
    // `plan` has no `--steps`, and this run may be a dry run of `down`. So the line of `plan` has a
    // version.
    let isTo =
      goal != .latest || session.arguments.value("--steps") != nil || session.arguments.value("--to") != nil
    let scope = session.arguments.value("--tx").map { ["--tx", $0] } ?? []
    let place = (isTo ? ["--to", "\(report.to)"] : []) + scope
    return (isOpen ? [session.line(PlanCommand.self, place + ["--rehearse"])] : []) + [
      session.line(goal == .latest ? UpCommand.self : DownCommand.self, target + flags + plan.allowances)
    ]
  }

  private static func back(to version: Int, _ set: MigrationSet, _ session: Session) -> (
    MigrationSet, MigrationGoal
  ) {
    session.warnOfFold(at: version, set)
    return (set, .back(to: version))
  }

  /// Returns the steps and the goal of a command line of `plan`, or of `up` and `down` with `--dry-run`.
  private static func aim(_ session: Session, _ inspection: Inspection) throws -> (
    MigrationSet, MigrationGoal
  ) {
    let command = session.command
    guard command != DownCommand.name else {
      return back(to: try DownCommand.target(session, inspection), try session.migrationsIfAny(), session)
    }
    let version = try StoreInfo(inspection.connection).version
    guard let given = try session.arguments.count("--to") ?? session.arguments.count("--steps") else {
      return (try session.migrations(), .latest)
    }
    let isVersion = session.arguments.value("--to") != nil
    if isVersion, given < version, command != UpCommand.name {
      return back(to: given, try session.migrationsIfAny(), session)
    }
    let all = try session.migrations()
    _ = try session.target(of: all)
    let target = min(try session.target(from: version, steps: given), all.version)
    return (try all.upTo(max(target, min(version, all.version))), .latest)
  }
}
