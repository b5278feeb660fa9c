// What a run would do, and why it cannot be: the errors of a history tell what the store knows of it.

import CipherSQLite
import Foundation
import ObjectVault

extension Session {
  /// What a run would do, and what it comes to.
  func planned(
    _ inspection: Inspection, _ set: MigrationSet, _ goal: MigrationGoal = .latest, asksRows: Bool = false
  ) throws -> (plan: MigrationPlan, outlook: MigrationOutlook) {
    let plan = try plan(inspection, set, goal, asksRows: asksRows)
    return (plan, try MigrationOutlook(plan, of: inspection, set, goal))
  }

  /// What a run would do.
  /// - Throws: ``ExplainedError`` for a history that is another than that of the steps.
  func plan(
    _ inspection: Inspection, _ set: MigrationSet, _ goal: MigrationGoal = .latest, asksRows: Bool = false
  ) throws -> MigrationPlan {
    do { return try MigrationPlan(inspection, set, goal, asksRows: asksRows) } catch let error as StoreError {
      guard let text = explanation(of: error, inspection, set) else { throw error }
      let applied = try? MigrationOutlook.appliedSteps(inspection.connection)
      throw ExplainedError(
        code: ExitCode(error), description: text, history: applied.map { HistoryState($0, set) })
    }
  }

  private func explanation(of error: StoreError, _ inspection: Inspection, _ set: MigrationSet) -> String? {
    switch error {
    case .historyConflict(let conflict):
      let applied = (try? MigrationOutlook.appliedSteps(inspection.connection)) ?? []
      return ConflictScreen(store: storePath, applied: applied, line: line).text(of: conflict)
    case .storeIsNewer(_, let found, let supported, let migratedBy, _):
      return NewerScreen(
        store: storePath, found: found, supported: supported, migratedBy: migratedBy,
        wayBack: Result { try MigrationPlan(inspection, set, .back(to: supported)) }, line: line
      ).text
    default: return nil
    }
  }
}
