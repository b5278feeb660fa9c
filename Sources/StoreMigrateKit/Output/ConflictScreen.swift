// The screens for a store whose history or version does not match the steps: one cause, and one next
// command.

import Foundation
import ObjectVault

/// The commands that these screens offer.
enum ScreenCommand {
  case repair, down, history
}

/// The screen for a history that does not match the steps.
struct ConflictScreen {
  let store: String
  /// The steps that ran on the store.
  let applied: [AppliedStep]
  /// The command lines that give the steps of the store their numbers back; empty when they are not
  /// known.
  let returning: [String]
  /// Why the edited steps cannot be recorded as they are now; nil when they can.
  let repairObstacle: RepairObstacle?
  /// Returns the plan of a rollback to a version; nil when there is none.
  let rollback: (Int) -> MigrationPlan?
  /// Returns a command line for this store.
  let line: (ScreenCommand, [String]) -> String

  /// What prevents edited steps from being recorded.
  enum RepairObstacle {
    /// Their model differs from the one of the store.
    case otherModel
    /// The history has another conflict as well.
    case otherConflict(HistoryConflict)
  }

  /// Returns the screen; nil when the error's own description has as much information.
  func text(of conflict: HistoryConflict) -> String? {
    switch conflict {
    case .edited(let number, let name, let recorded, let found, let difference):
      edited(number, name, recorded: recorded, found: found, difference: difference)
    case .refolded(let number, let name, let recorded, let found, let into, let intoName):
      """
      \(numbered(number)) \(name) ran on \(store) in another form than the one folded into \(numbered(into)) \(intoName).
      \(Screen.part("applied here", text: "\(Screen.short(recorded))\(when(number))"))
      \(Screen.part("folded", text: Screen.short(found)))
        Its file was removed. In version control, find the step files as they were before the fold, and put
        them into another folder.
        If they make the store's model, this command records the step as it was folded:
            \(line(.repair, [numbered(number), "--migrations", "FOLDER"]))
      """
    case .missing(let number, let name):
      """
      \(numbered(number)) \(name) was applied to \(store) and is missing from the steps.
      \(Screen.part("applied here", text: "\(checksum(number))\(when(number))"))
        Put the file of step \(numbered(number)) back. When and by which program it ran:
            \(line(.history, []))
      """ + "\n" + rollback(to: number - 1, name, isMissing: true)
    case .reordered(let number, let name, let found): reordered(number, name, found: found)
    case .gap, .noVersion, .duplicate, .folded, .misembedded, .foldEdited: nil
    }
  }

  private func edited(
    _ number: Int, _ name: String, recorded: String, found: String, difference: [String]
  ) -> String {
    let changes = difference.isEmpty ? ["only the formatting"] : difference
    let head = [
      "\(numbered(number)) \(name) was edited after it was applied to \(store).",
      Screen.part("applied here", text: "\(Screen.short(recorded))\(when(number))"),
      Screen.part("file now", text: Screen.short(found)),
    ]
    let changed = changes.enumerated().map {
      Screen.part($0.offset == 0 ? "what changed" : "", text: $0.element)
    }
    return (head + changed + advice(on: number)).joined(separator: "\n")
  }

  /// Returns what to do about a step that was edited.
  private func advice(on number: Int) -> [String] {
    switch repairObstacle {
    case nil:
      [
        "  Undo the edit, and put the change into a new step. If the edit is intended and the steps still "
          + "make the store's model:",
        "      \(line(.repair, [numbered(number)]))",
      ]
    case .otherModel:
      [
        "  Undo the edit, and put the change into a new step. `repair` cannot record the edit, because the",
        "  edited steps make a model that differs from the store's.",
      ]
    case .otherConflict(let conflict):
      [
        "  Undo the edit, and put the change into a new step. To record the edit instead, first fix this "
          + "conflict:",
        "  \(ErrorText.text(of: conflict))",
      ]
    }
  }

  private func reordered(_ number: Int, _ name: String, found: String) -> String {
    """
    Step \(numbered(number)) was applied to \(store) as "\(name)", but the step files have "\(found)" under \
    this number.
    \(Screen.part("applied here", text: "\(checksum(number))\(when(number))"))
      Applied steps keep their numbers. Give "\(found)" the next free number, and "\(name)" its old number \
    \(numbered(number))\(
        returning.isEmpty ? "." : ":\n" + returning.map { "      \($0)" }.joined(separator: "\n"))
    """ + "\n" + rollback(to: number - 1, name)
  }

  /// Returns how to roll back steps. A command line is offered only if the store carries the rollback of
  /// all of them, and the rollback would not be refused.
  /// - Parameter isMissing: Whether the step has no file. It may be a step of another branch then.
  private func rollback(to version: Int, _ name: String, isMissing: Bool = false) -> String {
    let (clause, example) =
      isMissing
      ? ("it is a step of another branch", "")
      : ("the number of \"\(name)\" itself must change", ", as after a rebase")
    guard applied.allSatisfy({ $0.number <= version || $0.carriesRollback }), let plan = rollback(version)
    else {
      return
        "  \"\(name)\" cannot be rolled back on this store. If "
        + "\(isMissing ? clause : "its number must change"), "
        + "restore a backup from before it, or create the store again."
    }
    if let obstacle = plan.wayBackObstacle {
      return "  If \(clause)\(example), the step has to be rolled back first, which is refused here: "
        + ended(obstacle)
    }
    return """
        If \(clause)\(example), roll the step back with the rollback that the store contains\
      \(plan.lossClause). Run this command, and then `up`:
            \(line(.down, ["--to", "\(version)"] + plan.allowances))
      """
  }

  private func step(_ number: Int) -> AppliedStep? { applied.first { $0.number == number } }
  private func checksum(_ number: Int) -> String { step(number).map { Screen.short($0.checksum) } ?? "" }
  private func when(_ number: Int) -> String {
    step(number).map { "   \($0.appliedAt), by \($0.app)" } ?? ""
  }
}

/// The screen for a store that is newer than the steps.
struct NewerScreen {
  let store: String
  let found: Int
  let supported: Int
  let migratedBy: String?
  /// The plan of the rollback to the steps' version; an error when there is no rollback.
  let rollback: Result<MigrationPlan, any Error>
  /// Returns a command line for this store.
  let line: (ScreenCommand, [String]) -> String

  var text: String {
    guard supported > 0 else {
      // No command line is offered: it would remove all tables.
      return """
        \(store) is at version \(found), but there are no steps here.
          Give the folder with its steps: files such as 0001_initial.migration.
        """
    }
    var lines = ["\(store) is at version \(found); these migrations end at \(supported)."]
    if let migratedBy { lines.append("  It was last migrated by \(migratedBy).") }
    switch rollback {
    case .success(let plan) where plan.wayBackObstacle == nil:
      lines += [
        "  \(Self.update). Or roll the store back with the rollbacks that it contains\(plan.lossClause):",
        "      \(line(.down, ["--to", "\(supported)"] + plan.allowances))",
      ]
    case .failure(StoreError.cannotRollBack(let step, let name, let reason)):
      lines.append(
        "  \(Self.update). A rollback is not possible: step \(numbered(step)) \(name) cannot be undone "
          + "(\(brief(reason))).")
    default: lines.append("  \(Self.update).")
    }
    return lines.joined(separator: "\n")
  }

  private static let update = "Use a newer release of the app or tool, or the later step files"
}

extension MigrationPlan {
  /// Why a rollback would be refused, as the end of a sentence; nil when a screen may offer it.
  var wayBackObstacle: String? {
    if let name = missingTransforms.first {
      return "this program does not have the function \"\(name)\"; use the app's own tool"
    }
    guard !drift.isEmpty else { return nil }
    return
      (hasOwnTables ? "the store has objects besides its tables" : "its tables differ from its model")
      + " (\(drift.joined(separator: "; ")))"
  }

  /// The end of a sentence that states the losses; empty when there are none.
  var lossClause: String {
    losses.isEmpty ? "" : "; that loses \(losses.map(text).joined(separator: ", "))"
  }

  /// The options by which the next command line allows the losses, each loss once.
  var allowances: [String] {
    var names: [String] = []
    for loss in unallowedLosses where !names.contains(loss) { names.append(loss) }
    return names.flatMap { ["--allow", "lossy:\($0)"] }
  }
}
