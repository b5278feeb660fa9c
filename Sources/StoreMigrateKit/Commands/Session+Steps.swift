// What up, down and redo have in common: losses are allowed, a signal is told what is under way, steps run, and a bar shows it.

import CipherSQLite
import Foundation
import ObjectVault

extension Session {
  /// Runs steps whose losses are allowed.
  /// - Parameters:
  ///   - goal: What is to be done, with these steps.
  ///   - plan: What is about to be done.
  ///   - aftermath: What a signal says of it.
  ///   - left: Gets what was committed, each step by itself, of a run that fails, too.
  /// - Returns: What was done, and the seconds that it took.
  /// - Throws: ``RefusedError`` for losses that are not allowed; what the run throws.
  func run(
    _ goal: MigrationGoal, _ set: MigrationSet, _ plan: MigrationPlan, _ key: Key,
    _ aftermath: any Aftermath, left: Locked<MigrationOutcome?>? = nil
  ) async throws -> (outcome: MigrationOutcome, seconds: Double) {
    if arguments.has("--verbose") { for line in Screen.lines(of: plan) { standardError(line) } }
    try allow(plan, goal.loss)
    let (url, waiting) = (URL(fileURLWithPath: storePath), WaitingLine(self))
    var settings = Store.RunSettings(
      try profile(), try lockTimeout(), !arguments.has("--no-backup"), Set(plan.unallowedLosses), progress,
      waits: { waiting.show($0) })
    settings.commitsEachStep = try commitsEachStep()
    settings.migrationTimeout = try migrationTimeout()
    if let left { settings.leaves = { outcome in left.withLock { $0 = outcome } } }
    let (runSettings, start) = (settings, Date())
    interruption.begin(aftermath)
    let outcome = try await showingSteps(goal.label, waiting) {
      try await Store.run(goal, at: url, key: key, set, runSettings)
    }
    return (outcome, Date().timeIntervalSince(start))
  }

  /// Whether `--tx` asks for each step to be committed by itself.
  /// - Throws: ``UsageError`` for a word that is neither.
  func commitsEachStep() throws -> Bool {
    let (words, word) = (["all", "step"], arguments.value("--tx") ?? "all")
    guard words.contains(word) else {
      throw UsageError("--tx takes all or step, not \(word).\(didYouMean(word, among: words))")
    }
    return word == "step"
  }

  /// What steps are called that may stand when others of the run fail, by their numbers; nil where all or none do.
  func standing(of plan: MigrationPlan) throws -> [Int: String]? {
    guard try commitsEachStep() else { return nil }
    return Dictionary(plan.steps.map { ($0.number, "\(numbered($0.number)) \($0.name)") }) { first, _ in first
    }
  }

  /// Looks at a store that is about to be changed: who migrates it meanwhile is waited for to the end.
  func lookingBeforeChange<Result>(key: Key, _ body: (Inspection) throws -> Result) throws -> Result {
    let (path, waiting) = (try DatabasePath(storePath).path, WaitingLine(self))
    var isAgain = false
    return try MigrationMark.waiting(for: path, atMost: migrationTimeout()) { isHeld in
      if isAgain { waiting.show(.migration) }
      isAgain = true
      // Not long at once: who waits wants to know for whom.
      let inspection = try inspection(key: key, waiting: isHeld ? 0.5 : nil)
      return try withExtendedLifetime(inspection) { try body(inspection) }
    }
  }
}

extension MigrationGoal {
  /// What the bar calls a run.
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
    case .latest: "The pending steps lose"
    case .back: "Taking these steps back loses"
    case .again: "Running these steps again loses"
    }
  }
}

extension Session {
  /// How long another process's migration is waited for: as long as the line says, and where it does not to the end.
  fileprivate func migrationTimeout() throws -> Double? {
    arguments.value("--lock-timeout") == nil ? nil : try lockTimeout()
  }
}

/// The line that says whom a run waits for.
final class WaitingLine: Sendable {
  private let store: String
  private let isQuiet: Bool
  private let line: @Sendable (String) -> Void
  /// What is still to be shown, where a bar stands in the line; nil where there is none.
  private let held = Locked<[String]?>(nil)
  /// What was said, and is not said again to who waits for long.
  private let said = Locked<Set<String>>([])

  init(_ session: Session) {
    (store, line) = (session.storePath, session.standardError)
    isQuiet = session.arguments.has("--quiet")
  }

  /// Keeps lines until somebody takes them, who knows where the cursor is.
  func hold() { held.withLock { $0 = $0 ?? [] } }

  /// The lines that were kept.
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
        "Another process uses \(store); waiting for it, \(Int(seconds.rounded(.up))) s at most (--lock-timeout)."
      }
    guard said.withLock({ $0.insert(text).inserted }) else { return }
    let isKept = held.withLock { lines in
      lines?.append(text)
      return lines != nil
    }
    if !isKept { line(text) }
  }
}
