// The plan of a run, and detailed errors for a history or a version that does not match the steps.

import CipherSQLite
import Foundation
import ObjectVault

extension Session {
  /// Returns the plan of a run, and a preview of its effects.
  func planned(
    _ inspection: Inspection, migrations set: MigrationSet, goal: MigrationGoal = .latest,
    asksRows: Bool = false
  ) throws -> (plan: MigrationPlan, preview: MigrationPreview) {
    let plan = try plan(inspection, migrations: set, goal: goal, asksRows: asksRows)
    return (plan, try MigrationPreview(plan, of: inspection, with: set, goal: goal))
  }

  /// Returns the plan of a run.
  /// - Parameter asksRows: Whether the rows are checked for what the steps would reject.
  /// - Throws: ``ExplainedError`` when the history or the version does not match the steps, or when a
  ///   step does not fit the model before it.
  func plan(
    _ inspection: Inspection, migrations set: MigrationSet, goal: MigrationGoal = .latest,
    asksRows: Bool = false
  ) throws -> MigrationPlan {
    do {
      return try MigrationPlan(
        inspection, with: set, goal: goal, asksRows: asksRows, makesBackups: !arguments.has("--no-backup"))
    } catch let error as StoreError {
      if let unfit = unfitStep(error, set) { throw unfit }
      guard let text = explanation(of: error, inspection, set) else { throw error }
      let applied = try? MigrationPreview.appliedSteps(inspection.connection)
      throw ExplainedError(
        code: ExitCode(error), description: text, history: applied.map { HistoryState($0, set) })
    }
  }

  /// Returns the error for a step that does not fit the model before it. It states that nothing was
  /// changed, because no step has run. Returns nil for other errors.
  private func unfitStep(_ error: StoreError, _ set: MigrationSet) -> ExplainedError? {
    guard case .migrationFailed(let number, _, let operation, let reason) = error,
      number >= 1, number <= set.version
    else { return nil }
    let place = set.steps[number - 1].place(ofOperation: operation)
    let fault = "\(place) cannot run: \(operation): \(ended(reason))"
    return ExplainedError(
      code: ExitCode(error),
      description: """
        \(fault) Nothing was changed. To check the steps without a store:
            \(offer(CheckCommand.self, []))
        """, unfitStep: (number, fault))
  }

  /// Returns the text, with the next command, for a history or a version that does not match the steps.
  /// Returns nil for other errors, and for those whose own description has as much information.
  func explanation(of error: StoreError, _ inspection: Inspection, _ set: MigrationSet) -> String? {
    switch error {
    case .historyConflict(let conflict):
      let applied = (try? MigrationPreview.appliedSteps(inspection.connection)) ?? []
      let edits = EditedSteps(applied, set)
      // All edited steps have to be recorded together, so the offered line names all of them.
      let screen = ConflictScreen(
        store: storePath, applied: applied, returning: returning(applied),
        repairObstacle: edits.contains(conflict)
          ? repairObstacle(inspection, migrations: set, edits: edits) : nil,
        rollback: { try? MigrationPlan(inspection, with: set, goal: .back(to: $0)) }
      ) { command, words in
        line(command, command == .repair && edits.contains(conflict) ? edits.numbers : words)
      }
      let others = edits.contains(conflict) ? edits.others(than: [conflict]) : nil
      return screen.text(of: conflict).map { text in
        text
          + (others.map {
            "\n  \($0), too\(screen.repairObstacle == nil ? "; the command line includes all of them" : "")."
          }
            ?? "")
      }
    case .storeIsNewer(_, let found, let supported, let migratedBy, _):
      return NewerScreen(
        store: storePath, found: found, supported: supported, migratedBy: migratedBy,
        rollback: Result { try MigrationPlan(inspection, with: set, goal: .back(to: supported)) }, line: line
      ).text
    default: return nil
    }
  }

  /// Returns why edited steps cannot be recorded as they are now; nil when they can, and for errors that
  /// `repair` itself reports.
  private func repairObstacle(
    _ inspection: Inspection, migrations set: MigrationSet, edits: EditedSteps
  ) -> ConflictScreen.RepairObstacle? {
    do { _ = try HistoryRepair(inspection, steps: edits.steps.map { $0.number }, as: set) } catch let error
      as StoreError
    {
      switch error {
      case .repairRefused: return .otherModel
      case .historyConflict(let conflict): return .otherConflict(conflict)
      // `repair` itself reports any other error.
      default: return nil
      }
    } catch {
      // Likewise.
    }
    return nil
  }

  /// Returns what is to be recorded for steps that were edited.
  /// - Throws: ``ExplainedError`` when other steps were edited, too, and `numbers` does not name them;
  ///   ``/ObjectVault/StoreError`` for other reasons why the steps cannot be recorded.
  func repair(
    _ inspection: Inspection, migrations set: MigrationSet, steps numbers: [Int]
  ) throws -> HistoryRepair {
    do { return try HistoryRepair(inspection, steps: numbers, as: set) } catch let error as StoreError {
      guard case .historyConflict(let conflict) = error,
        let applied = try? MigrationPreview.appliedSteps(inspection.connection)
      else { throw error }
      let edits = EditedSteps(applied, set)
      guard edits.contains(conflict), let others = edits.others(besides: numbers) else { throw error }
      throw ExplainedError(
        code: ExitCode(error),
        description: """
          \(others), too. All edited steps have to be recorded together. Undo the edits. Or, if they are \
          intended and the steps still make the store's model:
              \(line(.repair, edits.numbers))
          Nothing was changed.
          """, history: HistoryState(applied, set))
    }
  }
}

/// The steps of a store that were edited since they ran.
private struct EditedSteps {
  private(set) var steps: [(number: Int, name: String)] = []

  init(_ applied: [AppliedStep], _ set: MigrationSet) {
    steps = set.conflicts(with: applied).compactMap { Self.step($0) }
  }

  private static func step(_ conflict: HistoryConflict) -> (number: Int, name: String)? {
    guard case .edited(let number, let name, _, _, _) = conflict else { return nil }
    return (number, name)
  }

  /// The numbers, as a command takes them.
  var numbers: [String] { steps.map { numbered($0.number) } }

  func contains(_ conflict: HistoryConflict) -> Bool { Self.step(conflict) != nil }

  func others(than conflicts: [HistoryConflict]) -> String? {
    others(besides: conflicts.compactMap { Self.step($0)?.number })
  }

  /// Returns a text such as `0003 c was edited after it was applied`; nil when no other step was edited.
  func others(besides numbers: [Int]) -> String? {
    let others = steps.filter { !numbers.contains($0.number) }
    guard let last = others.last else { return nil }
    let names = others.map { "\(numbered($0.number)) \($0.name)" }
    guard names.count > 1 else {
      return "\(numbered(last.number)) \(last.name) was edited after it was applied"
    }
    return "\(names.joined(separator: ", ")) were edited after they were applied"
  }
}
