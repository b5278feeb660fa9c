// The text of the report of `status`. The data is in StatusCommand.swift.

import CipherSQLite
import Foundation
import ObjectVault

extension StatusCommand.StatusReport {
  var description: String {
    var lines = [
      Screen.fact(
        store.path,
        text:
          "\(megabytes(store.bytes)), encrypted (\(file.format); opened by SQLCipher \(store.cipher) / SQLite \(store.sqlite))"
      ),
      Screen.fact(
        "version",
        text: "\(version.store) of \(version.available)"
          + (pending.isEmpty ? "" : ", \(pending.count) pending")),
      "",
    ]
    lines +=
      steps + ["", Screen.fact("history", text: history.sentence), Screen.fact("schema", text: schemaLine)]
    if schema.matches { lines += drift.map { Screen.fact("objects", text: "✗ \($0)") } }
    if let count = foreignKeys.violations {
      lines.append(
        Screen.fact(
          "references",
          text: count == 0 ? "ok, all targets exist" : "✗ \(count) without a target; see verify"))
    }
    lines.append(Screen.fact("opens with", text: readerLine))
    lines += copyLines + (drift.isEmpty ? roomLines : []) + warnings.map { Screen.fact("warning", text: $0) }
    lines += migrations.compactMap(\.fault).map { Screen.fact("warning", text: $0) }
    return (lines + Screen.next(next)).joined(separator: "\n")
  }

  private var steps: [String] {
    let width = CellWidth.widest(migrations.map(\.name))
    return migrations.flatMap { step -> [String] in
      let isNext = step.number == pending.first?.number
      let state =
        step.state == "applied"
        ? "✓ applied  \(padded(step.appliedAt ?? "", 20))  \(Screen.took(step.milliseconds ?? 0))"
        : step.fault != nil
          ? "✗ cannot run"
          : "• pending" + (step.seconds.map { "  \(padded("", 20))  \(Screen.estimate($0))" } ?? "")
      let notes = notes(of: step)
      let line =
        "\(isNext ? " →" : "  ") \(numbered(step.number))  \(padded(step.name, width))  \(state)"
        + (notes.isEmpty ? "" : "  \(notes.joined(separator: "; "))")
      return [line] + details(of: step).map { "         \($0)" }
    }
  }

  private func notes(of step: StatusCommand.StepState) -> [String] {
    var notes = step.losses.isEmpty ? [] : ["LOSES \(step.lossTexts.joined(separator: ", "))"]
    if step.isEmpty { notes.append("empty, does nothing") }
    if let rows = step.rows, rows > 0 { notes.append("\(grouped(rows)) \(rows == 1 ? "row" : "rows")") }
    if !step.rebuilds.isEmpty { notes.append("rebuilds \(step.rebuilds.joined(separator: ", "))") }
    if let reason = step.irreversible { notes.append("no rollback: \(brief(reason))") }
    return notes
  }

  private func details(of step: StatusCommand.StepState) -> [String] {
    var lines = step.note.map { ["“\(brief($0))”"] } ?? []
    if isVerbose {
      lines.append(step.checksum)
      if let app = step.app, let engine = step.engine { lines.append("by \(app), on \(engine)") }
    }
    return lines
  }

  private var schemaLine: String {
    schema.matches
      ? "matches the model of version \(version.store) (hash \(Screen.short(schema.hash)))"
      : "✗ differs from the model: \(drift.joined(separator: "; "))"
  }

  private var readerLine: String {
    let now = version.minimumReader
    // While the tables differ, `up` cannot run.
    let later = drift.isEmpty ? version.minimumReaderAfterwards.flatMap { $0 > now ? $0 : nil } : nil
    return later.map {
      "now: apps at version \(now) or later; after `up`: only apps at version \($0) or later"
    } ?? "apps whose steps reach version \(now) or later"
  }

  private var copyLines: [String] {
    copies.enumerated().map { index, copy in
      let since =
        copy.openings == 0 ? "" : "; the store has been opened \(counted(copy.openings, "time")) since"
      let run = copy.isBeforeRun ? ", from before a run that did not complete" : ""
      return Screen.fact(
        index == 0 ? "copies" : "", text: "\(copy.name) (\(megabytes(copy.bytes))\(run)\(since))")
    }
  }

  private var roomLines: [String] {
    guard !pending.isEmpty else { return [] }
    // `up` would not run the steps before this one, either.
    if let unfit = migrations.first(where: { $0.fault != nil }) {
      return [
        Screen.fact(
          "backup",
          text:
            "unknown: \(numbered(unfit.number)) cannot run, so it and the later steps cannot be examined"
        )
      ]
    }
    let free = freeBytes.map { "; \(megabytes($0)) free" } ?? ""
    var lines = [
      Screen.fact(
        "backup",
        text: backup.map { "`up` will write \($0) (\(megabytes(store.bytes))\(free))" }
          ?? "none: no pending step loses or rewrites values, or requests one")
    ]
    if let neededBytes, neededBytes > 0, let cost {
      lines.append(
        Screen.fact(
          "needs",
          text:
            "about \(megabytes(neededBytes)) of disk space; takes \(Screen.duration(cost.seconds))"
        ))
    }
    return lines
  }
}
