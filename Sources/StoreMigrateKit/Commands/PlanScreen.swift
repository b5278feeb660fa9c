// The text of the report of `plan`. The data is in PlanCommand.swift.

import CipherSQLite
import Foundation
import ObjectVault

extension PlanCommand.PlanReport {
  var description: String {
    guard !steps.isEmpty else {
      return (["\(store.path) is at version \(from). Nothing to do."] + driftLines).joined(separator: "\n")
    }
    var lines = driftLines
    lines += head + steps.flatMap(lines(of:)) + statements + ["", room] + rehearsed
    if let wrong { lines.append(wrong) }
    lines.append(outcome)
    return (lines + Screen.next(next)).joined(separator: "\n")
  }

  private var isRollback: Bool { steps.contains(where: \.isRollback) }
  private var verb: String { isRollback ? "down" : "up" }

  private var head: [String] {
    var lines = [
      "\(counted(steps.count, "step"))\(isRollback ? " to roll back" : "")\(scope), "
        + "from version \(from) to \(to), on SQLite \(store.sqlite)."
    ]
    if isEachStep {
      lines.append(
        "After a failure or a stop, the last complete step stays committed, and `\(verb)` continues from "
          + "there."
      )
    }
    if makesBackup {
      lines.append(
        "Before \(steps.count == 1 ? "it" : "them"), an encrypted backup is written next to the store"
          + "\(backup.map { ": \($0)" } ?? "") (not with \(verb) --no-backup).")
    }
    return lines
  }

  /// The steps of this plan that are among those folded into one.
  private var folded: [PlanCommand.PlannedStep] { steps.filter { $0.number <= foldedVersion } }
  /// Whether the run has more than one transaction.
  private var isEachStep: Bool { transaction == "step" && steps.count - max(0, folded.count - 1) > 1 }
  private var scope: String {
    guard isEachStep else { return " in one transaction" }
    guard folded.count > 1, let first = folded.first, let last = folded.last else {
      return ", each in its own transaction"
    }
    return ", each in its own transaction, but \(numbered(first.number)) to \(numbered(last.number)) together"
  }

  private var driftLines: [String] {
    guard !drift.isEmpty else { return [] }
    let title =
      hasOwnTables
      ? "Steps are refused because of these objects in the store"
      : "The tables differ from the store's model"
    return ["✗ \(title):"] + drift.map { "    \($0)" }
  }

  private func lines(of step: PlanCommand.PlannedStep) -> [String] {
    var marks = step.losses.isEmpty ? [] : ["LOSES \(step.lossTexts.joined(separator: ", "))"]
    if !step.isRollback { marks.append("reversible: \(step.irreversible == nil ? "yes" : "no")") }
    if let lap = rehearsal?.step(step) { marks.append("rehearsed in \(Screen.measured(lap.seconds))") }
    var lines = [
      "", "\(numbered(step.number)) \(step.name)   \(marks.joined(separator: "   "))".trimmingSpaces,
    ]
    if let note = step.note { lines.append("  “\(brief(note))”") }
    lines +=
      step.operations.isEmpty
      ? ["  · this step is empty and does nothing"] : step.operations.map(step.line)
    lines += step.transforms.filter(\.isMissing).map {
      "  ✗ REFUSED this program does not have the function \"\($0.name)\"; use the app's own tool"
    }
    lines += step.rebuildReasons.map {
      "  ! rebuilds \($0.table)\($0.copies > 1 ? ", \($0.copies) times," : "") for \(brief($0.operations.joined(separator: "; "))): \(brief($0.reason))"
    }
    if let reason = step.irreversible { lines.append("  ! no rollback: \(brief(reason))") }
    return lines + step.refusals.map { "  ✗ REFUSED \(brief($0.text))" }
      + (rehearsal == nil ? step.unasked.map { "  ? \(brief($0))" } : [])
  }

  private var statements: [String] {
    let title =
      "SQL for this engine (foreign keys are switched off before the transaction and on again after it)"
    return ["", title]
      + steps.flatMap { step in
        ["  -- \(numbered(step.number))"]
          + (step.sql.isEmpty
            ? ["  -- nothing to do"] : step.sql.flatMap(Screen.lines(ofSQL:)).map { "  \($0)" })
      }
  }

  /// The disk space and the time that the run needs.
  private var room: String {
    let have = freeBytes.map { " (have \(megabytes($0)))" } ?? ""
    return (neededBytes > 0 ? "Needs about \(megabytes(neededBytes)) of free disk space\(have). " : "")
      + "Estimated \(Screen.duration(cost.seconds)), \(grouped(cost.rows)) \(cost.rows == 1 ? "row" : "rows")."
  }

  /// The result of the rehearsal.
  private var rehearsed: [String] {
    guard let rehearsal else { return [] }
    let copy = "Rehearsed on an encrypted copy, which was removed:"
    guard let failure = rehearsal.failure else {
      return ["\(copy) `\(verb)` would succeed. It took \(Screen.measured(rehearsal.seconds))."]
    }
    return ["\(copy) `\(verb)` would fail.", "  ✗ \(failure)"]
  }

  /// The first step that would fail.
  private var failing: PlanCommand.PlannedStep? {
    if let rehearsal { return rehearsal.failure == nil ? nil : steps.first { rehearsal.step($0) == nil } }
    return steps.first { !$0.refusals.isEmpty }
  }

  private var wrong: String? {
    if exitCode == .ok { return nil }
    if exitCode == .noSpace { return "`\(verb)` would be refused: the disk does not have enough space." }
    // A failure of the checks before the first step keeps all steps from running.
    let isAsked = !drift.isEmpty || steps.contains { $0.transforms.contains(where: \.isMissing) }
    if isEachStep, !isAsked, let failing,
      let first = firstStep(goingWith: failing), first.number != steps[0].number
    {
      let place = first.number == failing.number ? "it" : "\(numbered(first.number)) \(first.name)"
      return
        "`\(verb)` would stop at \(numbered(failing.number)) \(failing.name), with the steps before \(place) "
        + "\(isRollback ? "rolled back" : "committed")."
    }
    return "`\(verb)` would fail, and the store would not change."
  }

  /// Returns the first step of the transaction that a step belongs to. Steps before that one stay
  /// committed when the step fails.
  private func firstStep(goingWith step: PlanCommand.PlannedStep) -> PlanCommand.PlannedStep? {
    step.number <= foldedVersion ? folded.first : step
  }

  private var outcome: String { "Nothing was written." }
}

extension PlanCommand.PlannedStep {
  /// Returns the line for an operation, with a mark for what it does: `+` adds, `-` drops, `=` requires,
  /// `~` changes.
  func line(_ operation: String) -> String {
    guard let transform = transforms.first(where: { $0.operation == operation }) else {
      return "  \(Self.mark(operation)) \(brief(operation))"
    }
    let rows = transform.rows.map { "\(grouped($0)) " } ?? ""
    return operation.hasPrefix("retype")
      ? "  ~ \(brief(operation)), \(rows)\(transform.entity)"
      : "  ~ transform swift \"\(transform.name)\" on \(rows)\(transform.entity)"
  }

  private static func mark(_ operation: String) -> String {
    switch operation.prefix(while: { $0 != " " }) {
    case "add", "create", "seed": "+"
    case "drop": "-"
    case "require": "="
    default: "~"
    }
  }
}

extension String {
  /// The text without trailing spaces.
  fileprivate var trimmingSpaces: String {
    var text = self
    while text.last == " " { text.removeLast() }
    return text
  }
}
