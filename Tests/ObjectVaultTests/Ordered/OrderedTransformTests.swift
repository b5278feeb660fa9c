// Functions of the app that change an order inside a step.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct OrderedTransforms {
  private func lab(_ step: String) async throws -> FunctionLab {
    let turning = MigrationTransform.objects("turn") { owner, _ in
      owner[ordered: "bs"].reverse()
      owner[ordered: "lone"].reverse()
    }
    return try await FunctionLab([OrderedMigrations.base, step], [turning], fill: OrderedMigrations.fill)
  }

  private func orders(_ lab: FunctionLab) throws -> [[[SQLValue]]] {
    [
      try lab.rows("SELECT id FROM B WHERE a_id = 1 ORDER BY _a_position"),
      try lab.rows("SELECT B_id FROM A_lone WHERE A_id = 1 ORDER BY A_lone_position"),
    ]
  }

  @Test func `a function may change the orders that the step declares, from either end`() async throws {
    for writes in ["", " writes A.bs, A.lone", " writes B.a, A.lone"] {
      let lab = try await lab("transform swift turn on A\(writes)")
      let before = try orders(lab)
      #expect(before[0] == [[6], [4], [2]] && before[1].first == [6])
      try await lab.up()
      #expect(try orders(lab) == before.map { Array($0.reversed()) })
      #expect(try lab.isSound())
    }
  }

  @Test func `a function that changes an undeclared order is refused, and nothing changes`() async throws {
    for (writes, named) in [("A.bs", "A.lone"), ("A.lone", "A.bs"), ("A.n", "A.")] {
      let lab = try await lab("transform swift turn on A writes \(writes)")
      let before = try lab.image
      await #expect {
        try await lab.up()
      } throws: { error in
        guard case StoreError.migrationFailed(2, "s2", _, let reason) = error else { return false }
        return reason.contains("changed the order of \(named)")
          && reason.contains("of row 1, which the step does not declare; write in its line: writes A.")
      }
      #expect(try lab.image == before)
    }
  }
}
