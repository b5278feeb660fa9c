// The `sql` command: prints the SQL of steps, for this engine or another one.

import CipherSQLite
import Foundation
import ObjectVault

enum SQLCommand: Command {
  static let name = "sql"
  static let summary = "Print the SQL of steps, for this engine or another"
  static let group = CommandGroup.write
  static let positionalCount = 0
  static let options = [
    Option.migrations, Option("--from", value: "N", "the first step to print; default: the same as --to"),
    Option("--to", value: "N", "the last step to print; default: the last that exists"),
    Option(
      "--engine", value: "VERSION",
      "the SQLite version to write for, such as 3.15.2 (SQLCipher 3.4.1); default: this engine's"),
  ]
  static let help = """
    EXAMPLES
      store-migrate sql                            the last step
      store-migrate sql --from 1 --engine 3.15.2   all steps, for SQLCipher 3.4.1

    Needs no store and no key, and runs nothing. To apply steps to a store, use `up`, which checks them. `plan`
    prints the pending SQL of a store.
    """

  struct Step: Encodable {
    let number: Int
    let name: String
    let sql: [String]
  }

  struct SQLReport: Report {
    var isData: Bool { true }
    let engine: String
    let steps: [Step]
    var description: String {
      guard !steps.isEmpty else { return "-- There are no steps." }
      return
        "-- For SQLite \(engine). Foreign keys are switched off before the transaction and on again after "
        + "it.\n"
        + steps.map { step in
          let lines = step.sql.isEmpty ? ["-- nothing to do"] : step.sql
          return "\n-- \(numbered(step.number)) \(step.name)\n" + lines.joined(separator: "\n")
        }.joined(separator: "\n")
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let set = try session.authored()
    let text = session.arguments.value("--engine")
    guard let engine = text.map({ Engine(sqliteVersion: $0) }) ?? Engine.current else {
      throw UsageError("--engine takes an SQLite version such as 3.15.2, not \"\(text ?? "")\".")
    }
    let to = try session.arguments.count("--to") ?? set.version
    let from = try session.arguments.count("--from") ?? to
    let given = ["--from", "--to"].compactMap { name in session.arguments.value(name).map { "\(name) \($0)" }
    }
    let isReversed = from > to && from <= set.version && to >= min(1, set.version)
    guard !isReversed else {
      throw UsageError("--from \(from) is greater than --to \(to). Give the lower number with --from.")
    }
    guard from <= to, to <= set.version, from >= min(1, set.version) else {
      throw UsageError(
        "\(given.joined(separator: " ")): "
          + (set.version == 0 ? "there are no steps." : "the steps are 1 to \(set.version)."))
    }
    if from < set.foldedVersion {
      let fold = set.steps[set.foldedVersion - 1]
      throw UsageError(
        "--from \(from): the steps up to \(numbered(fold.number)) \(fold.name) were folded into one. "
          + "Use --from \(fold.number), the step with which new stores are created.")
    }
    let steps = set.steps.filter { $0.number >= from && $0.number <= to }
    return SQLReport(
      engine: engine.sqliteVersion,
      steps: try steps.map {
        Step(number: $0.number, name: $0.name, sql: try set.sql(ofStep: $0.number, on: engine))
      })
  }
}
