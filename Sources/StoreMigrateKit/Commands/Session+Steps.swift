// What `up`, `down` and `redo` share: allowing losses, preparing for a signal, running the steps, and
// showing progress.

import CipherSQLite
import Foundation
import ObjectVault

extension Session {
  /// Runs steps, after checking that their losses are allowed.
  /// - Parameters:
  ///   - goal: What to do with the steps.
  ///   - plan: The plan of this run.
  ///   - aftermath: Reports the state of the store after a signal.
  ///   - left: Receives what was committed, when each step is committed separately, even if the run
  ///     fails.
  /// - Returns: What was done, and the duration in seconds.
  /// - Throws: ``RefusedError`` for losses that are not allowed; the errors of the run.
  func run(
    _ goal: MigrationGoal, migrations set: MigrationSet, plan: MigrationPlan, key: Key,
    aftermath: any FileStateReport, left: Locked<MigrationOutcome?>? = nil
  ) async throws -> (outcome: MigrationOutcome, seconds: Double) {
    if arguments.has("--verbose") { for line in Screen.lines(of: plan) { standardError(line) } }
    try allow(plan, goal.loss)
    let (url, waiting) = (URL(fileURLWithPath: storePath), WaitingLine(self))
    var settings = Store.RunSettings(
      profile: try profile(), busyTimeout: try lockTimeout(), makesBackups: !arguments.has("--no-backup"),
      losses: Set(plan.unallowedLosses), progress: progress,
      waits: { waiting.show($0) })
    settings.commitsEachStep = try commitsEachStep()
    settings.migrationTimeout = try migrationTimeout()
    if let left { settings.leaves = { outcome in left.withLock { $0 = outcome } } }
    let (runSettings, start) = (settings, Date())
    interruption.begin(aftermath)
    let outcome = try await showingSteps(goal.label, waiting: waiting) {
      try await Store.run(goal, at: url, key: key, migrations: set, settings: runSettings)
    }
    return (outcome, Date().timeIntervalSince(start))
  }

  /// Returns whether `--tx step` was given, that is, each step is committed separately.
  /// - Throws: ``UsageError`` for any word but `all` and `step`.
  func commitsEachStep() throws -> Bool {
    let (words, word) = (["all", "step"], arguments.value("--tx") ?? "all")
    guard words.contains(word) else {
      throw UsageError("--tx takes all or step, not \"\(word)\".\(didYouMean(word, among: words))")
    }
    return word == "step"
  }

  /// Returns the names of the steps by number, when some of them may stay committed although others fail;
  /// nil when all steps are one transaction.
  func storeState(of plan: MigrationPlan) throws -> [Int: String]? {
    guard try commitsEachStep() else { return nil }
    return Dictionary(plan.steps.map { ($0.number, "\(numbered($0.number)) \($0.name)") }) { first, _ in first
    }
  }

  /// Opens a store that is about to be changed, and reads it. It waits for a migration by another process
  /// to end.
  func lookingBeforeChange<Result>(key: Key, _ body: (Inspection) throws -> Result) throws -> Result {
    let (path, waiting) = (try DatabasePath(storePath).path, WaitingLine(self))
    var isAgain = false
    return try MigrationMark.waiting(for: path, atMost: migrationTimeout()) { isHeld in
      if isAgain { waiting.show(.migration) }
      isAgain = true
      // Waits only briefly for a lock, so that the message about the wait appears soon.
      let inspection = try inspection(key: key, waiting: isHeld ? 0.5 : nil)
      return try withExtendedLifetime(inspection) { try body(inspection) }
    }
  }
}

extension MigrationGoal {
  /// The label of the run's progress bar.
  fileprivate var label: String {
    switch self {
    case .latest: "up"
    case .back: "down"
    case .again: "redo"
    }
  }

  /// The beginning of a sentence that ends with what a run would lose.
  fileprivate var loss: String {
    switch self {
    case .latest: "The pending steps would permanently lose"
    case .back: "Rolling these steps back would permanently lose"
    case .again: "Running these steps again would permanently lose"
    }
  }
}

extension Session {
  /// Returns how long to wait for another process's migration: as long as `--lock-timeout` states, or nil
  /// for no limit.
  fileprivate func migrationTimeout() throws -> Double? {
    arguments.value("--lock-timeout") == nil ? nil : try lockTimeout()
  }
}

/// Prints what a run waits for.
final class WaitingLine: Sendable {
  private let store: String
  private let isQuiet: Bool
  private let line: @Sendable (String) -> Void
  /// Lines that are held back while a progress bar occupies the line of the terminal; nil when there is
  /// no bar.
  private let held = Locked<[String]?>(nil)
  /// The texts that were printed. A long wait prints none of them again.
  private let said = Locked<Set<String>>([])

  init(_ session: Session) {
    (store, line) = (session.storePath, session.standardError)
    isQuiet = session.arguments.has("--quiet")
  }

  /// From now on, holds lines back. The owner of the bar gets them with `take()`, and prints them through
  /// the bar, which knows where the cursor is.
  func hold() { held.withLock { $0 = $0 ?? [] } }

  /// Returns the lines that were held back, and removes them.
  func take() -> [String] {
    held.withLock { lines in
      defer { lines = lines.map { _ in [] } }
      return lines ?? []
    }
  }

  func show(_ wait: RunWait) {
    guard !isQuiet else { return }
    let text =
      switch wait {
      case .migration: "Another process is migrating \(store); waiting for it."
      case .lock(let seconds):
        "Another process uses \(store); waiting for it for at most \(Int(seconds.rounded(.up))) s "
          + "(--lock-timeout)."
      }
    guard said.withLock({ $0.insert(text).inserted }) else { return }
    let isKept = held.withLock { lines in
      lines?.append(text)
      return lines != nil
    }
    if !isKept { line(text) }
  }
}
