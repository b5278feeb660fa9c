// `fetch --explain`: prints the plan of the fetch instead of its rows.

import CipherSQLite
import Foundation
import ObjectVault

extension FetchCommand {
  /// A plan, as text and as JSON.
  struct PlanReport: Report {
    var isData: Bool { true }
    let plan: Plan

    struct Plan: Encodable {
      let statement: String
      let steps: [Step]
      let findings: [Finding]
    }

    struct Step: Encodable {
      let kind: String
      let depth: Int
      let table: String?
      let index: String?
      let text: String
    }

    struct Finding: Encodable {
      let kind: String
      let entity: String
      let rows: Int
      let properties: [String]
      let text: String
      /// The operation of a step that adds the index; nil if no index can help.
      let operation: String?
    }

    private enum CodingKeys: CodingKey { case plan }
    let description: String

    init(_ plan: QueryPlan) {
      self.plan = Plan(
        statement: plan.statement.text,
        steps: plan.steps.map {
          Step(kind: $0.kind.rawValue, depth: $0.depth, table: $0.table, index: $0.index, text: $0.text)
        },
        findings: plan.warnings.map {
          Finding(
            kind: $0.kind.rawValue, entity: $0.entity, rows: $0.rows, properties: $0.properties,
            text: $0.description, operation: $0.index?.migrationLine)
        })
      var operations: [String] = []
      for line in plan.warnings.compactMap(\.index?.migrationLine) where !operations.contains(line) {
        operations.append(line)
      }
      description =
        "\(plan)" + (operations.isEmpty ? "" : "\nLines of a step:\n")
        + operations.map { "  \($0)" }.joined(separator: "\n")
    }
  }

  /// Returns the plan of the statement for some rows or groups.
  /// - Throws: ``UsageError`` for options that are about rows.
  static func plan(_ rows: EntityRows, on connection: Connection, with arguments: Arguments) throws
    -> PlanReport
  {
    for option in ["--columns", "--format", "--nil"] where arguments.value(option) != nil {
      throw UsageError("--explain prints no rows, so \(option) has no meaning. Remove one of them.")
    }
    return PlanReport(try rows.explain(connection))
  }
}
