// Tables and indexes share one namespace: the names that a step makes are compared with all others.

import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.pure, .slow)) struct NameClashes {
  /// Something that exists, and a step that would make something of the same name.
  static let cases: [(there: String, step: String)] = [
    ("create entity A_r {\n attribute x int\n}", "add relationship A.r -> B many"),
    ("add relationship A.r -> B many", "create entity A_R {\n attribute x int\n}"),
    ("add relationship A.r -> B many", "create entity C {\n attribute x int\n}\nrename entity C -> A_r"),
    ("create entity ix_A_n {\n attribute x int\n}", "add index A(n)"),
    ("create entity ux_a_N {\n attribute x int\n}", "add index A(n) unique"),
    ("add index A(n)", "create entity Ix_A_n {\n attribute x int\n}"),
    ("create entity ix_A_b {\n attribute x int\n}", "add relationship A.b -> B"),
    // A new inverse gives the links another name.
    (
      "add relationship B.parts -> A many\ncreate entity A_bs {\n attribute x int\n}",
      "add relationship A.bs -> B many inverse B.parts"
    ),
    ("create entity ix_A_r_target {\n attribute x int\n}", "add relationship A.r -> B many"),
    ("create entity A_b {\n attribute d int\n}\nadd index A_b(d, d2)", "add index A(b_d, d2)"),
  ]
  private static let base =
    "create entity A {\n attribute n int\n attribute b_d int\n attribute d2 int\n}\n"
    + "create entity B {\n attribute n int\n}\ncreate entity Other {\n attribute o int\n}"

  private func set(_ texts: [String]) throws -> MigrationSet {
    try MigrationSet(
      texts.enumerated().map { index, text in
        try MigrationStep(number: index + 1, name: "s\(index + 1)", text: "format: 1\n[up]\n\(text)\n")
      })
  }

  @Test(arguments: cases)
  func `a step that makes an existing name is refused, and is accepted without that name`(
    _ there: String, _ step: String
  ) throws {
    let there = there.replacing(
      "add index A_b(d, d2)", with: "add attribute A_b.d2 int\nadd index A_b(d, d2)")
    let both = try set([Self.base, there, step])
    #expect(try both.model(at: 2).entities.count > 2)
    for run in [{ _ = try both.model(at: 3) }, { _ = try both.findings() }] {
      #expect {
        try run()
      } throws: { error in
        guard case StoreError.migrationFailed(3, _, _, let reason) = error else { return false }
        return reason.contains("have the same name") || reason.contains("name")
      }
    }
    let alone = try set(
      [Self.base] + (step.contains("B.parts") ? ["add relationship B.parts -> A many"] : []) + [step])
    try alone.model(at: alone.version).validate()
  }

  @Test func `checking the names of a step has the same result as checking the whole model`() throws {
    var random = SeededGenerator(seed: 77)
    for _ in 0..<60 {
      var schema = RandomSchemas.schema(&random)
      for _ in 0..<4 {
        let new = RandomSchemas.changed(schema, &random)
        let creating = try MigrationSet.creating(schema)
        let step = try MigrationStep(
          number: 2, name: "next",
          text: "format: 1\n[up]\n\(try creating.proposal(for: new).lines.joined(separator: "\n"))\n")
        // Both models are valid, and so is the step between them.
        #expect(try MigrationSet(creating.steps + [step]).model(at: 2) == new)
        schema = new
      }
    }
  }

  @Test func `the time for a step does not grow with the entities that it does not change`() async throws {
    func time(_ others: Int) throws -> Double {
      let model = (0..<others).map { number in
        "create entity E\(number) {\n attribute a int\n attribute b int indexed\n relationship e -> E\(max(0, number - 1)) many\n}"
      }
      let pairs = Array(
        repeating: [
          "add attribute Own.b int default 1\nadd index Own(a, b)",
          "drop index Own(a, b)\nmake Own.b optional",
          "rename attribute Own.b -> c",
        ].map { $0 }, count: 1
      ).flatMap { $0 }
      let set = try set(
        [(["create entity Own {\n attribute a int\n}"] + model).joined(separator: "\n")] + pairs
          + (0..<20).map { "add attribute Own.x\($0) int default 0" })
      return try threadTime { _ = try set.findings(after: 1) }
    }
    let factor = try await timeFactor(from: 2, to: 60, below: 12) { try time($0) }
    #expect(factor < 12)
  }
}
