// plan: what `up` would do, with its SQL.

import CipherSQLite
import Foundation
import ObjectVault

enum PlanCommand: Command {
  static let name = "plan"
  static let summary = "Pending steps and their exact SQL for this engine; writes nothing"
  static let group = CommandGroup.look
  static let positionalCount = 1
  static let options =
    [
      Option.migrations,
      Option(
        "--to", value: "N",
        "no further than version N; below the store's version: what `down --to N` would do"),
    ] + Option.look
  static let help = """
    EXAMPLES
      store-migrate plan notes.store --key-command 'pass show notes'
      store-migrate plan notes.store --json
      store-migrate plan notes.store --to 6

    Shows what `up` would do, or `down` where --to leads back. Changes no byte of it, and leaves no file behind. Asks the
    rows what the steps will ask of them, as far as no earlier step writes there: where they would refuse rows, for values
    that are there twice, something required that is missing, or several where one is left, it counts them and ends with
    5, as `up` would.
    """

  struct PlannedStep: Encodable {
    let number: Int
    let name: String
    let leadsBack: Bool
    let irreversible: String?
    let operations: [String]
    let sql: [String]
    let losses: [String]
    let rebuilds: [String]
    let refusals: [Refusal]
    let unasked: [String]
    let transforms: [Transform]

    /// An operation as a person reads it.
    func line(_ operation: String) -> String {
      guard let transform = transforms.first(where: { $0.operation == operation }) else {
        return "  · \(operation)"
      }
      let rows = transform.rows.map { "\(grouped($0)) " } ?? ""
      return operation.hasPrefix("retype")
        ? "  ~ \(operation), \(rows)\(transform.entity)"
        : "  ~ transform swift \"\(transform.name)\" on \(rows)\(transform.entity)"
    }
  }

  struct Transform: Encodable {
    let operation: String
    let name: String
    let entity: String
    let rows: Int?
    let isMissing: Bool

    init(_ transform: MigrationPlan.Transform) {
      (operation, name, entity) = (transform.operation, transform.name, transform.entity)
      (rows, isMissing) = (transform.rows, transform.isMissing)
    }
  }

  struct Refusal: Encodable {
    let operation: String
    let entity: String
    let properties: [String]
    let rule: String
    let count: Int
    let rows: [Int64]
    let text: String

    init(_ refusal: MigrationPlan.Refusal) {
      (operation, entity, properties) = (refusal.operation, refusal.entity, refusal.properties)
      (rule, count, rows, text) = (refusal.rule.rawValue, refusal.count, refusal.rows, "\(refusal)")
    }
  }

  struct PlanReport: Report {
    let store: StoreSummary
    let from: Int
    let to: Int
    let steps: [PlannedStep]
    let makesBackup: Bool
    let changesFormat: Bool
    let neededBytes: Int
    var exitCode: ExitCode {
      steps.contains { !$0.refusals.isEmpty || $0.transforms.contains(where: \.isMissing) } ? .refused : .ok
    }

    var description: String {
      let format = "The columns of links get names of their own first (format 2 of the file)."
      let leadsBack = steps.contains(where: \.leadsBack)
      guard !steps.isEmpty else {
        return "\(store.path) is at version \(from). \(changesFormat ? format : "Nothing to do.")"
      }
      var lines = [String]()
      if changesFormat { lines.append(format) }
      lines += [
        "\(steps.count) \(steps.count == 1 ? "step" : "steps") \(leadsBack ? "taken back " : "")in one transaction, "
          + "from version \(from) to \(to), on SQLite \(store.sqlite)."
      ]
      if makesBackup {
        lines.append(
          "Before them an encrypted copy is made beside the store (\(leadsBack ? "down" : "up") --no-backup leaves it out)."
        )
      }
      for step in steps {
        lines += [
          "",
          "\(numbered(step.number)) \(step.name)"
            + (step.losses.isEmpty ? "" : "   LOSES \(step.losses.joined(separator: ", "))"),
        ]
        lines += step.operations.map(step.line)
        lines += step.transforms.filter(\.isMissing).map {
          "  ✗ REFUSED this program has no function \"\($0.name)\"; the app's own tool has"
        }
        if let reason = step.irreversible { lines.append("  ! no way back: \(reason)") }
        lines += step.refusals.map { "  ✗ REFUSED \($0.text)" } + step.unasked.map { "  ? \($0)" }
      }
      lines += ["", "SQL for this engine (foreign keys are off for the connection, outside the transaction)"]
      for step in steps {
        lines.append("  -- \(numbered(step.number))")
        lines += step.sql.flatMap { $0.split(separator: "\n").map { "  \($0)" } }
      }
      if neededBytes > 0 { lines += ["", "Needs about \(megabytes(neededBytes)) free on the disk."] }
      lines += [
        "",
        exitCode == .ok
          ? "Nothing was written."
          : "`\(leadsBack ? "down" : "up")` would fail, and leave the store as it is. Nothing was written.",
      ]
      return lines.joined(separator: "\n")
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let plan = try plan(session)
    return PlanReport(
      store: StoreSummary(path: session.storePath, bytes: plan.bytes), from: plan.storeVersion,
      to: plan.targetVersion,
      steps: plan.steps.map {
        PlannedStep(
          number: $0.number, name: $0.name, leadsBack: $0.leadsBack, irreversible: $0.irreversible,
          operations: $0.operations, sql: $0.sql, losses: $0.losses,
          rebuilds: $0.rebuiltTables, refusals: $0.refusals.map { Refusal($0) }, unasked: $0.unasked,
          transforms: $0.transforms.map { Transform($0) })
      }, makesBackup: plan.makesBackup, changesFormat: plan.changesFormat, neededBytes: plan.neededBytes)
  }

  private static func plan(_ session: Session) throws -> MigrationPlan {
    let inspection = try session.inspection()
    guard let target = try session.arguments.count("--to") else {
      return try MigrationPlan(inspection, session.migrations(), asksRows: true)
    }
    if target < (try StoreInfo(inspection.connection).version) {
      return try MigrationPlan(inspection, session.migrationsIfAny(), .back(to: target), asksRows: true)
    }
    let all = try session.migrations()
    _ = try session.target(of: all)
    return try MigrationPlan(inspection, all.upTo(target), asksRows: true)
  }
}
