// The `up` command: runs the pending steps.

import CipherSQLite
import Foundation
import ObjectVault

enum UpCommand: Command {
  static let name = "up"
  static let offersCreation = true
  static let summary = "Run the pending steps, all in one transaction"
  static let group = CommandGroup.change
  static let positionalCount = 1
  static let options =
    [
      Option.migrations,
      Option("--to", value: "N", "stop at version N; default: all pending steps"),
      Option("--steps", value: "K", "the number of steps to run"),
      Option.allow, Option.noBackup, Option.yes, Option.transaction,
      Option("--dry-run", "only show the plan"), Option.shownPlan,
      Option("--vacuum", "rewrite the file after the run, which returns free pages to the disk"),
    ] + Option.run
  static let aliases = ["migrate", "run"]
  static let help = """
    EXAMPLES
      store-migrate up notes.store --key-file key.txt
      store-migrate up notes.store --allow lossy:User.town     when a step drops User.town
      store-migrate up notes.store --yes --lock-timeout 60
      store-migrate up notes.store --to 6                      stop at version 6

    Runs the pending steps in one transaction. Afterwards the store is at the last version or, after any error,
    unchanged. A step that loses data must be allowed: by the line `allow: lossy:NAME` in its file, by
    --allow lossy:NAME for each loss, by --yes, or by the answer yes.

    With --tx step, each step is committed separately. After a failure, Ctrl-C or a kill, the complete steps
    stay committed, and the next `up` continues after them. Between two steps, other programs may open the
    store at a version that no release has. A program that lacks a step which has run gets the error "newer
    store". A program that has the pending steps may run them. The report lists what other programs did. One
    backup is made, before the first step. If a run does not complete, its backup is kept.

    --vacuum rewrites the file after the run and returns free pages to the disk. It needs space for a second
    copy of the file, on the disk and in memory, because no plain data may reach the disk. A rebuilt table
    leaves as many free pages as it had pages.

    Before a step that loses or rewrites values, or whose file has the line `backup: always`, an encrypted
    backup is written next to the store and verified. The last two backups are kept; an app can be set to
    remove them earlier. A backup that a process has open is not removed. With --no-backup, no backup is made.
    """

  struct UpReport: Report {
    var isScreen: Bool { true }
    var store: StoreSummary
    let from: Int
    let to: Int
    let applied: [String]
    let backup: String?
    let seconds: Double
    /// Whether another process changed the version, between the plan of this run and its first step or
    /// between two of its steps.
    let byAnother: Bool
    /// What the other process did, in words.
    var others: String?
    /// The steps that ran and do nothing.
    let empty: [String]
    /// The version that was requested, when the store is already beyond it.
    var below: Int?
    /// The command line that rolls the store back to that version.
    var rollback: String?
    /// The size of the file's free pages in bytes, and whether they were returned to the disk.
    var unusedBytes = 0
    var isVacuumed = false
    /// The error of the vacuum; nil when there was none. The steps ran before it. The file may have been
    /// rewritten nevertheless: see `isVacuumed`.
    var vacuumFailure: String?
    /// Whether the file was examined after the run.
    var isLookedAt = false
    var exitCode = ExitCode.ok
    /// The command line that returns free pages to the disk; nil when there are few.
    var offer: String?
    /// The command lines to run next: `rollback` and `offer`.
    var next: [String] = []

    private enum CodingKeys: String, CodingKey {
      case store, from, to, applied, backup, seconds, byAnother, others, below, empty,
        unusedBytes, isVacuumed, vacuumFailure, next
    }

    var description: String {
      let lines = empty.map { "note: \($0) is empty and did nothing." } + (isVacuumed ? [Self.vacuumed] : [])
      let left = offer.map {
        [
          "\(megabytes(unusedBytes)) of the file are now free pages, which new rows reuse. "
            + "To return them to the disk:",
          "  \($0)",
        ]
      }
      return ([outcome] + lines + (left ?? [])).joined(separator: "\n")
    }

    var failure: String? {
      vacuumFailure.map {
        let file =
          switch (isLookedAt, unusedBytes) {
          // The disk may fail after the new file was written.
          case (true, 0) where isVacuumed: "file has no free pages now, but then an error occurred: "
          case (true, 0): "file was not rewritten; it had no free pages to return: "
          case (true, _): "file keeps its free pages: "
          case (false, _): "file may keep its free pages: "
          }
        return (applied.isEmpty ? "The " : "The steps ran, and the ") + file + $0
      }
    }

    private static let vacuumed = "The file was rewritten and has no free pages."

    private var outcome: String {
      if let below {
        return
          "\(store.path) is at version \(to), above \(below). Nothing to do: `up` does not roll back steps."
          + (rollback.map { " To roll back:\n  \($0)" } ?? "")
      }
      return applied.isEmpty
        ? "\(store.path) is at version \(to)\(byAnother ? meanwhile : ".") Nothing to do."
        : changed(store, to: to, backup: backup, applied: applied, seconds: seconds)
          + (others.map { "\n\($0)" } ?? "")
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let all = try session.migrations()
    let key = try session.key()
    let (set, plan, rollback) = try plan(session, key: key, migrations: all)
    guard !plan.isUpToDate else {
      MigrationLeavings.remove(of: try DatabasePath(session.storePath))
      let below = try session.target(of: all).flatMap { $0 < plan.storeVersion ? $0 : nil }
      return try withPages(
        UpReport(
          store: session.storeAfterwards, from: plan.storeVersion, to: plan.storeVersion, applied: [],
          backup: nil, seconds: 0, byAnother: false, empty: [], below: below,
          rollback: rollback), in: session, key: key)
    }
    let aftermath = MigrationRun(
      store: session.storePath, key: key, from: plan.storeVersion, to: set.version,
      configuration: try session.lookingConfiguration(), status: session.line(StatusCommand.self),
      storeState: try session.storeState(of: plan))
    let (left, start) = (Locked<MigrationOutcome?>(nil), Date())
    do {
      let (outcome, seconds) = try await session.run(
        .latest, migrations: set, plan: plan, key: key, aftermath: aftermath, left: left)
      return try withPages(
        report(outcome, migrations: all, plan: plan, store: session.storeAfterwards, seconds: seconds),
        in: session, key: key)
    } catch let error as StoreError {
      // The store is beyond the target of this run, but not beyond the steps: another process ran more of
      // them.
      guard let found = error.newerVersion, found <= all.version, set.version < all.version else {
        throw error
      }
      let outcome = left.withLock { $0 } ?? MigrationOutcome(unchangedAt: found)
      let seconds = Date().timeIntervalSince(start)
      return try withPages(
        report(
          outcome.ending(at: found), migrations: all, plan: plan, store: session.storeAfterwards,
          seconds: seconds), in: session, key: key)
    }
  }

  private static func report(
    _ outcome: MigrationOutcome, migrations all: MigrationSet, plan: MigrationPlan,
    store summary: StoreSummary, seconds: Double
  ) -> UpReport {
    let ran = outcome.steps.map { all.steps[$0 - 1] }
    let name = { (step: MigrationStep) in "\(numbered(step.number)) \(step.name)" }
    let between = all.steps.prefix(outcome.version).dropFirst(outcome.startVersion)
      .filter { !outcome.steps.contains($0.number) }
    let others = doneByOthers(
      planned: plan.storeVersion, from: outcome.startVersion, ("ran", between.map(name)))
    return UpReport(
      store: summary, from: outcome.startVersion, to: outcome.version, applied: ran.map(name),
      backup: outcome.backup?.path, seconds: seconds,
      byAnother: others != nil, others: others, empty: ran.filter(\.isEmpty).map(name))
  }

  /// Returns the report with the size of the file's free pages. With `--vacuum` they are returned to the
  /// disk; otherwise the command line for that is offered.
  private static func withPages(_ report: UpReport, in session: Session, key: Key) throws -> UpReport {
    var report = try pages(report, in: session, key: key)
    report.next = [report.rollback, report.offer].compactMap { $0 }
    return report
  }

  private static func pages(_ report: UpReport, in session: Session, key: Key) throws -> UpReport {
    var report = report
    var hadFreePages = false
    if session.arguments.has("--vacuum") {
      // A vacuum that fails does not affect the steps.
      do {
        try vacuum(session, key: key, hadFreePages: &hadFreePages)
        report.isVacuumed = true
        report.store = session.storeAfterwards
      } catch let error as CancellationError where report.applied.isEmpty {
        // No step ran, so there is no other result to report.
        throw error
      } catch {
        (report.vacuumFailure, report.exitCode) = (ErrorText.of(error, hasStore: false), ExitCode(error))
      }
    }
    // The steps ran. A lock that another process has now must not change the result.
    guard let inspection = try? session.inspection(key: key, waiting: 0.5),
      let free = try? inspection.connection.value("PRAGMA freelist_count")?.int64,
      let pages = try? inspection.connection.value("PRAGMA page_count")?.int64
    else {
      report.vacuumFailure?.append(" Check the file: \(session.line(InfoCommand.self))")
      return report
    }
    report.isLookedAt = true
    if report.vacuumFailure != nil, hadFreePages, free == 0 {
      (report.isVacuumed, report.store) = (true, session.storeAfterwards)
    }
    report.unusedBytes = Int(free) * inspection.connection.unlocked.profile.pageBytes
    // A smaller number or share of free pages is not worth a vacuum: new rows soon use them.
    if report.unusedBytes >= 1 << 20, free * 4 >= pages {
      report.offer = session.line(UpCommand.self, ["--vacuum"])
    }
    return report
  }

  /// Vacuums the store's file.
  /// - Parameter hadFreePages: Is set, before the file is rewritten, to whether it has free pages.
  private static func vacuum(_ session: Session, key: Key, hadFreePages: inout Bool) throws {
    let path = try DatabasePath(session.storePath)
    if session.interruption.aftermath == nil {
      session.interruption.begin(
        Vacuuming(
          store: session.storePath, key: key, configuration: try session.lookingConfiguration(),
          info: session.line(InfoCommand.self)))
    }
    let run = CancellableRun()
    session.progress.cancellationHandler = { run.cancel() }
    defer { session.progress.cancellationHandler = nil }
    try session.interruption.check()
    let connection = try Connection.open(session.storePath, key: key, configuration: session.configuration())
    // Closing copies the WAL, which contains the whole file once more, into the file.
    defer { connection.close() }
    hadFreePages = try connection.value("PRAGMA freelist_count") != 0
    // Otherwise the rewritten file would be appended to what is in the WAL already.
    _ = try? connection.checkpoint(.truncate)
    if let bytes = connection.contentBytes, let free = path.freeBytes, free < bytes {
      throw StoreError.notEnoughSpace(file: session.storePath, neededBytes: bytes, freeBytes: free)
    }
    // Defines the collation of decimals, which VACUUM needs because indexes are sorted by it.
    try StoreInfo.prepare(connection)
    try run.run(connection) { try connection.vacuum() }
  }

  /// Returns the steps up to the target, and the plan for them. Later steps are not checked, because one
  /// of them may be unfinished.
  /// - Returns: Also the command line of the rollback, when the store is beyond the target and can be
  ///   rolled back.
  private static func plan(_ session: Session, key: Key, migrations all: MigrationSet) throws -> (
    MigrationSet, MigrationPlan, rollback: String?
  ) {
    try session.lookingBeforeChange(key: key) { inspection in
      let version = try StoreInfo(inspection.connection).version
      let asked = try session.target(of: all)
      let steps = try session.arguments.count("--steps")
      let target = try session.target(from: version, steps: steps ?? all.version)
      guard asked != nil || steps != nil, target < all.version else {
        return (all, try session.plan(inspection, migrations: all), nil)
      }
      // Steps that ran stay: only `down` rolls them back.
      let set = try all.upTo(max(target, min(version, all.version)))
      let back =
        target < version ? try? session.plan(inspection, migrations: all, goal: .back(to: target)) : nil
      return (
        set, try session.plan(inspection, migrations: set),
        back.flatMap { back in
          back.wayBackObstacle == nil
            ? session.line(DownCommand.self, ["--to", "\(target)"] + back.allowances) : nil
        }
      )
    }
  }
}

extension StoreError {
  /// The version of a store that is newer than the steps, as found before the first step or between two
  /// steps.
  fileprivate var newerVersion: Int? {
    switch self {
    case .storeIsNewer(_, let found, _, _, _), .stopped(_, .store(.storeIsNewer(_, let found, _, _, _))):
      found
    default: nil
    }
  }
}
