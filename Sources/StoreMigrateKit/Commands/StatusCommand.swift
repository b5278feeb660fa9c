// The `status` command: shows a store's version and its pending steps. The text of its report is in
// StatusScreen.swift.

import CipherSQLite
import Foundation
import ObjectVault

enum StatusCommand: Command {
  static let name = "status"
  static let offersCreation = true
  static let summary = "Show version, pending steps, and the state of history and tables"
  static let group = CommandGroup.look
  static let positionalCount = 1
  static let options =
    [
      Option.migrations,
      Option("--exit-code", "end with 2 if steps are pending, or tables or references are wrong"),
      Option.verbose,
    ] + Option.look
  static let help = """
    EXAMPLES
      store-migrate status notes.store --key-file key.txt
      store-migrate status notes.store --exit-code        ends with 2 when steps are pending

    Shows the store's version, every step with its state, why a step has no rollback, and whether history,
    tables and references are correct. Also shows what `up` would need, and the command lines to run next.
    The store does not change, and no new file remains.
    """

  struct StepState: Encodable {
    let number: Int
    let name: String
    let state: String
    var note: String?
    let checksum: String
    var appliedAt: String?
    var milliseconds: Int?
    var app: String?
    var engine: String?
    var losses: [String] = []
    /// The losses as the screen shows them, including what is lost along with them.
    var lossTexts: [String] = []
    var rebuilds: [String] = []
    /// The estimated duration and the number of rows that a pending step writes; nil for other steps.
    var seconds: Double?
    var rows: Int?
    let isEmpty: Bool
    let reversible: Bool
    /// Why the step cannot be rolled back; nil when it can.
    let irreversible: String?
    /// What a reviewer should notice, such as `lossy:User.name`.
    var risk: [String] = []
    /// Why the step does not fit the model before it and cannot run; nil when it can.
    var fault: String?

    private enum CodingKeys: String, CodingKey {
      case number, name, state, note, checksum, appliedAt, milliseconds, app, engine, losses, rebuilds,
        seconds
      case rows, isEmpty, reversible, irreversible, risk, fault
    }
  }

  struct Version: Encodable {
    let store: Int
    let available: Int
    let minimumReader: Int
    /// The minimum reader after all steps ran; nil when one of them cannot run.
    let minimumReaderAfterwards: Int?
  }

  struct FileState: Encodable {
    /// The format, such as `SQLCipher 3 format, page 1024`.
    let format: String
    let pageBytes: Int
    let profile: String
  }

  struct SchemaState: Encodable {
    let matches: Bool
    let hash: String
  }

  struct References: Encodable {
    let violations: Int?
  }

  /// A backup copy that the store made of itself before steps ran.
  struct Copy: Encodable {
    let name: String
    let bytes: Int
    /// How often the store was opened since then without a pending step.
    let openings: Int
    /// Whether it was made before a run that committed each step separately and did not complete.
    let isBeforeRun: Bool

    private enum CodingKeys: String, CodingKey { case name, bytes, openings, isBeforeRun }
  }

  struct Cost: Encodable {
    let rows: Int
    let seconds: Double
  }

  struct StatusReport: Report {
    var isScreen: Bool { true }
    let store: StoreSummary
    let file: FileState
    let version: Version
    let migrations: [StepState]
    let history: HistoryState
    let schema: SchemaState
    let drift: [String]
    let foreignKeys: References
    /// Whether `up` would make a backup. Like `backup`, `neededBytes` and `cost`, it is nil when a step
    /// cannot run, because nothing is known of that step and of later ones.
    let makesBackup: Bool?
    let backup: String?
    let copies: [Copy]
    let neededBytes: Int?
    let freeBytes: Int?
    let cost: Cost?
    let warnings: [String]
    /// The command lines to run next.
    let next: [String]
    let signalsAttention: Bool
    let isVerbose: Bool

    private enum CodingKeys: String, CodingKey {
      case store, file, version, migrations, history, schema, drift, foreignKeys, makesBackup, backup,
        copies, neededBytes
      case freeBytes, cost, warnings, next
    }

    var pending: [StepState] { migrations.filter { $0.state == "pending" } }
    /// Whether tables or references are not as they should be.
    private var isWrong: Bool { !drift.isEmpty || foreignKeys.violations ?? 0 > 0 }
    var exitCode: ExitCode { signalsAttention && (!pending.isEmpty || isWrong) ? .attention : .ok }
  }

  static func run(_ session: Session) async throws -> any Report {
    let (inspection, set) = (try session.inspection(), try session.migrations())
    return try withExtendedLifetime(inspection) {
      do { return try report(session, inspection: inspection, migrations: set, of: set) } catch let error
        as ExplainedError
      {
        // The steps before the one that does not fit are reported as usual.
        guard let unfit = error.unfitStep, unfit.number > (try StoreInfo(inspection.connection).version)
        else {
          throw error
        }
        return try report(
          session, inspection: inspection, migrations: set.upTo(unfit.number - 1), of: set, unfit: unfit)
      }
    }
  }

  /// Returns the report of a store.
  /// - Parameters:
  ///   - set: The steps that fit each other.
  ///   - all: All steps: those of `set`, the first that does not fit, and the later ones.
  ///   - unfit: The number of the first step that does not fit, and why it cannot run; nil when all steps
  ///     fit.
  private static func report(
    _ session: Session, inspection: Inspection, migrations set: MigrationSet, of all: MigrationSet,
    unfit: (number: Int, fault: String)? = nil
  ) throws -> StatusReport {
    let (plan, preview) = try session.planned(inspection, migrations: set)
    let (profile, isKnown) = (plan.cipher, unfit == nil)
    return StatusReport(
      store: StoreSummary(path: session.storePath, bytes: plan.bytes),
      file: FileState(
        format: format(profile), pageBytes: profile.pageBytes, profile: "\(profile)"),
      version: Version(
        store: plan.storeVersion, available: all.version, minimumReader: plan.minimumReader,
        minimumReaderAfterwards: isKnown ? preview.minimumReader : nil),
      migrations: applied(plan, set) + pending(plan, preview: preview, migrations: set)
        + unfitSteps(all, after: set, unfit),
      history: HistoryState(plan.history, set),
      schema: SchemaState(matches: plan.hasOwnTables, hash: preview.modelHash), drift: plan.drift,
      foreignKeys: References(violations: preview.danglingReferences),
      makesBackup: isKnown ? plan.makesBackup : nil, backup: isKnown ? preview.backupName : nil,
      copies: try copies(preview, session), neededBytes: isKnown ? plan.neededBytes : nil,
      freeBytes: preview.freeBytes,
      cost: isKnown ? Cost(rows: plan.cost.rows, seconds: plan.cost.seconds) : nil,
      warnings: (session.warnings?.withLock { $0 } ?? []) + warnings(plan)
        + (isKnown ? roomWarnings(plan, preview) : []),
      next: isKnown ? next(session, after: plan, preview: preview) : [session.offer(CheckCommand.self, [])],
      signalsAttention: session.arguments.has("--exit-code"),
      isVerbose: session.arguments.has("--verbose"))
  }

  private static func copies(_ preview: MigrationPreview, _ session: Session) throws -> [Copy] {
    let file = try DatabasePath(session.storePath)
    return preview.copies.map { name, copy in
      Copy(
        name: name, bytes: (try? DatabasePath(file.sibling(name)))?.byteCount ?? 0, openings: copy.openings,
        isBeforeRun: copy.isBeforeRun)
    }
  }

  private static func format(_ profile: CipherProfile) -> String {
    let name =
      profile.hash == .sha1
      ? "SQLCipher 3 format"
      : profile.hash == .sha512 ? "SQLCipher 4 format" : "\(profile.hash.rawValue) format"
    return "\(name), page \(profile.pageBytes)"
  }

  private static func applied(_ plan: MigrationPlan, _ set: MigrationSet) -> [StepState] {
    plan.history.map { step in
      let file = step.number <= set.version ? set.steps[step.number - 1] : nil
      return StepState(
        number: step.number, name: step.name, state: "applied", note: file.flatMap(step.note),
        checksum: step.checksum,
        appliedAt: step.appliedAt, milliseconds: step.milliseconds, app: step.app, engine: step.engine,
        isEmpty: file.map { $0.operations.isEmpty && !$0.isPlaceholder } ?? false,
        reversible: plan.irreversible[step.number] == nil, irreversible: plan.irreversible[step.number])
    }
  }

  private static func pending(
    _ plan: MigrationPlan, preview: MigrationPreview, migrations set: MigrationSet
  ) -> [StepState] {
    plan.steps.indices.map { index in
      let step = plan.steps[index]
      let file = set.steps[step.number - 1]
      return StepState(
        number: step.number, name: step.name, state: "pending", note: file.note, checksum: file.checksum,
        losses: step.losses, lossTexts: step.losses.map(step.text), rebuilds: step.rebuiltTables,
        seconds: preview.seconds[index], rows: step.rows,
        isEmpty: step.operations.isEmpty, reversible: step.irreversible == nil,
        irreversible: step.irreversible,
        risk: (preview.writesData[index] ? ["data"] : []) + step.losses.map { "lossy:\($0)" }
          + step.rebuiltTables.map { "rebuild:\($0)" })
    }
  }

  /// Returns the first step that cannot run, and the later ones, of which nothing is known.
  private static func unfitSteps(
    _ all: MigrationSet, after set: MigrationSet, _ unfit: (number: Int, fault: String)?
  ) -> [StepState] {
    guard let unfit else { return [] }
    return all.steps.dropFirst(set.version).map { step in
      StepState(
        number: step.number, name: step.name, state: "pending", note: step.note, checksum: step.checksum,
        isEmpty: step.operations.isEmpty, reversible: false, irreversible: nil,
        fault: step.number == unfit.number ? unfit.fault : nil)
    }
  }

  private static func warnings(_ plan: MigrationPlan) -> [String] {
    let drift =
      plan.drift.isEmpty
      ? []
      : plan.hasOwnTables
        ? ["`up` cannot run until these objects are removed"]
        : [
          "`up` cannot run until the tables match the model: remove the changes made by hand, or restore a "
            + "backup"
        ]
    return drift
      + plan.missingTransforms.map {
        "this tool does not have the Swift function \"\($0)\": run `up` with the app's own tool"
      }
  }

  private static func roomWarnings(_ plan: MigrationPlan, _ preview: MigrationPreview) -> [String] {
    guard let free = preview.freeBytes, free < plan.neededBytes else { return [] }
    return [
      "`up` needs about \(megabytes(plan.neededBytes)) of disk space, but only \(megabytes(free)) are free"
    ]
  }

  private static func next(
    _ session: Session, after plan: MigrationPlan, preview: MigrationPreview
  ) -> [String] {
    // No command repairs tables that were changed by hand.
    guard plan.drift.isEmpty else { return [session.line(VerifyCommand.self)] }
    guard !plan.isUpToDate else { return [] }
    let plan = (
      plan: session.line(PlanCommand.self), up: session.line(UpCommand.self, plan.allowances),
      isRun: plan.missingTransforms.isEmpty && preview.freeBytes ?? .max >= plan.neededBytes
    )
    return [plan.plan] + (plan.isRun ? [plan.up] : [])
  }
}
