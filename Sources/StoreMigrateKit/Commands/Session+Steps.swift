// What up, down and redo have in common: losses are allowed, a signal is told what is under way, steps run, and a bar shows it.

import CipherSQLite
import Foundation
import ObjectVault

/// What a command says of a run of steps.
struct StepRun: Sendable {
  let store: URL
  let key: Key
  let profile: CipherProfile?
  let lockTimeout: Double
  let makesBackups: Bool
  let allowed: Set<String>
  let progress: Progress
}

extension Session {
  /// Runs steps whose losses are allowed.
  /// - Parameters:
  ///   - plan: What is about to be done.
  ///   - label: What the bar calls it.
  ///   - loses: The beginning of a sentence that ends with what is lost.
  ///   - aftermath: What a signal says of it.
  ///   - body: Runs them.
  /// - Returns: What `body` returned, and the seconds that it took.
  /// - Throws: ``RefusedError`` for losses that are not allowed; what `body` throws.
  func run(
    _ plan: MigrationPlan, _ key: Key, _ label: String, loses: String, _ aftermath: any Aftermath,
    _ body: @escaping @Sendable (StepRun) async throws -> MigrationOutcome
  ) async throws -> (outcome: MigrationOutcome, seconds: Double) {
    try allow(plan, loses)
    let run = StepRun(
      store: URL(fileURLWithPath: storePath), key: key, profile: try profile(),
      lockTimeout: try lockTimeout(),
      makesBackups: !arguments.has("--no-backup"), allowed: Set(plan.unallowedLosses), progress: progress)
    interruption.begin(aftermath)
    let start = Date()
    let outcome = try await showingSteps(label) { try await body(run) }
    return (outcome, Date().timeIntervalSince(start))
  }
}
