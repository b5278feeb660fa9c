// Up, down and up again: the rollback of every reversible operation restores the tables and the rows, and
// then the step can run again.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.sampled, .slow)) struct UpDownUp {
  /// Steps that run alone on rows of all kinds, some with a `[down]` section.
  static let steps =
    WaysBack.reversible + [
      "rename entity V -> A", "rename relationship U.tags -> labels\nrename relationship V.us -> of",
      "rename attribute U.s -> old\nrename attribute U.x -> s\nrename attribute U.old -> x",
      "[up]\nretype U.s to data using (CAST($U.s AS BLOB))\n[down]\nretype U.s to string using (CAST($U.s AS TEXT))",
      "[up]\nadd attribute U.first string default \"\"\ntransform sql { UPDATE $U SET $U.first = $U.s }\ndrop attribute U.s\n"
        + "[down]\nadd attribute U.s string default \"\"\ntransform sql { UPDATE $U SET $U.s = $U.first }\n"
        + "drop attribute U.first\nset default of U.s to none",
      "[up]\ncreate entity Kind {\n attribute name string\n relationship us -> U many inverse U.kind\n}\n"
        + "add relationship U.kind -> Kind inverse Kind.us\n"
        + "transform sql {\n INSERT INTO $Kind($Kind.name) SELECT DISTINCT $U.s FROM $U;\n"
        + " UPDATE $U SET $U.kind = (SELECT k.$Kind.id FROM $Kind k WHERE k.$Kind.name = $U.$U.s)\n}\n"
        + "[down]\ndrop relationship U.kind\ndrop relationship Kind.us\ndrop entity Kind",
      "make relationship U.tags an entity Mark (u, v) inverse U.marks, V.marks",
      "create entity Home {\n relationship us -> U many inverse U.home\n}\n"
        + "add relationship U.home -> Home inverse Home.us\n"
        + "move attribute U.s, U.x, U.y -> Home.s, Home.x, Home.why by U.home",
    ]

  @Test(arguments: Rotation.part(of: steps, oneIn: 4), [false, true])
  func `a rollback restores tables and rows, and the step can run again`(_ step: String, _ isSparse: Bool)
    async throws
  {
    let lab = try await DowngradeLab(
      [WaysBack.base, step.contains("[up]") ? "allow: lossy:U.s\n" + step : step],
      fill: GeneratedRows.statements(isSparse: isSparse))
    let before = try lab.image
    let marks = try lab.rows("SELECT entity, last FROM vault_ids ORDER BY 1")
    do { #expect(try await lab.up().steps == [2]) } catch StoreError.rowsRefused where isSparse {
      // Rows that the step rejects. Nothing has changed.
      #expect(try lab.image == before)
      return
    }
    let after = try lab.image
    #expect(try await lab.down(1).takenBack == [2])
    #expect(try lab.image == before, "\(step)")
    #expect(try await lab.up().steps == [2])
    #expect(try lab.image.physicalHash == after.physicalHash)
    // Objects that the step makes get new ids the second time.
    if !step.contains("INSERT"), !step.contains("make relationship"), !step.contains("move attribute") {
      #expect(try lab.image == after, "\(step)")
    }
    // No high-water mark is lost, whatever its entity was called meanwhile.
    let marksAfter = Dictionary(
      try lab.rows("SELECT entity, last FROM vault_ids").map { ($0[0].string ?? "", $0[1].int64 ?? 0) }
    ) { first, _ in first }
    for mark in marks { #expect(marksAfter[mark[0].string ?? ""] ?? -1 >= mark[1].int64 ?? 0) }
  }

  @Test(arguments: 1...(isTorture ? 40 : 3))
  func `a chain of steps is rolled back through each of its versions`(_ seed: UInt64) async throws {
    // Reproducible sequences: Knuth's linear congruential generator, read from its upper bits.
    var state = seed
    func next(_ count: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % count
    }
    var steps = [WaysBack.base]
    for _ in 0..<80 where steps.count < 6 {
      let longer = steps + [WaysBack.reversible[next(WaysBack.reversible.count)]]
      // A step that loses nothing by itself may lose what an earlier step made, such as an order.
      if (try? DowngradeLab.set(longer).losses(ofStep: longer.count)) == [] { steps = longer }
    }
    let lab = try await DowngradeLab(steps, fill: GeneratedRows.statements(isSparse: false))
    var images = [try lab.image]
    for version in 2...steps.count {
      try await lab.up(version)
      images.append(try lab.image)
    }
    for version in (1..<steps.count).reversed() {
      try await lab.down(version)
      #expect(try lab.image == images[version - 1], "back to \(version): \(steps.dropFirst())")
    }
    try await lab.up()
    #expect(try lab.image == images[steps.count - 1])
    // All at once, by the rollbacks that the store carries.
    try await lab.down(1, MigrationSet([]))
    #expect(try lab.image == images[0])
  }

  @Test func `rows that were entered after a step survive its rollback, under the former names`() async throws
  {
    let lab = try await DowngradeLab(
      [
        WaysBack.base,
        "rename entity U -> T\nrename attribute T.s -> t\nrename relationship T.r -> q\nmake T.t optional",
      ], fill: GeneratedRows.statements(isSparse: false))
    try await lab.up()
    try lab.run(
      "INSERT INTO T(id, t, y, q_id) VALUES (9000, 'later', 5, 6);"
        + "INSERT INTO T_tags(T_id, V_id) VALUES (9000, 6)")
    try await lab.down(1)
    #expect(try lab.rows("SELECT s, y, r_id FROM U WHERE id = 9000") == [["later", 5, 6]])
    #expect(try lab.rows("SELECT V_id FROM U_tags WHERE U_id = 9000") == [[6]])
    _ = try lab.image
  }

  @Test func `a store can be rolled back to version 0, and up again`() async throws {
    let lab = try await DowngradeLab([WaysBack.base, "add index U(s)"], at: 2)
    try await lab.down(0)
    #expect(try lab.version == 0 && lab.image.rows.isEmpty)
    #expect(try lab.open().tableNames().filter { !$0.hasPrefix("vault_") }.isEmpty)
    #expect(try await lab.up().steps == [1, 2])
    #expect(try lab.rows("SELECT kind FROM vault_migrations") == [["migration"], ["migration"]])
  }
}
