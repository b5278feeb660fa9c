// The rollbacks of steps, as far as models are concerned. The tests of the runner cover rows.

import Foundation
import Migrations
import ObjectVault
import TestSupport
import Testing

@Suite struct WaysBack {
  static let base = """
    create entity U {
        attribute s string
        attribute small int16 default 3
        attribute x int optional indexed
        attribute y int default 7
        relationship r -> V inverse V.us
        relationship tags -> V many inverse V.tagged
    }
    create entity V {
        attribute n string unique
        relationship us -> U many inverse U.r on delete cascade
        relationship tagged -> U many inverse U.tags
    }
    """

  private func step(_ up: String, down: String? = nil) throws -> MigrationStep {
    try MigrationStep(
      number: 2, name: "step",
      text: "format: 1\nname: step\n[up]\n\(up)\n" + (down.map { "[down]\n\($0)\n" } ?? ""))
  }

  private var model: Schema {
    get throws {
      let first = try MigrationStep(number: 1, name: "base", text: "format: 1\n[up]\n\(Self.base)\n")
      return try MigrationSet([first]).model(at: 1)
    }
  }

  private func after(_ step: MigrationStep) throws -> Schema {
    let first = try MigrationStep(number: 1, name: "base", text: "format: 1\n[up]\n\(Self.base)\n")
    return try MigrationSet([first, step]).model(at: 2)
  }

  static let reversible = [
    "rename entity U -> W", "rename attribute U.s -> t", "rename relationship U.r -> q",
    "rename relationship V.tagged -> marked", "add attribute U.z int default 3",
    "add attribute U.z string unique optional",
    "add relationship U.more -> V many", "add relationship U.next -> U",
    "add relationship U.a -> V many inverse V.b\nadd relationship V.b -> U many inverse U.a",
    "drop relationship V.us", "drop relationship U.tags", "drop relationship V.tagged", "make U.s optional",
    "make U.s optional\nmake U.s optional",
    "make U.s required\nadd index U(s)", "make U.r required", "make U.x required",
    "set default of U.y to 9", "make U.x lazy", "make U.s lazy\nadd attribute U.z int default 3",
    "add attribute U.z data optional lazy\nadd index U(y)",
    "set default of U.y to none",
    "make U.r many", "set default of U.x to 5",
    "set delete rule of V.us to deny", "add index U(s)",
    "add index U(s, y) unique",
    "add index U(x) unique", "drop index U(x)", "drop index V(n)", "retype U.small to int",
    "retype U.small to int32",
    "create entity W {\n attribute a int\n}",
    "create entity W {\n relationship u -> U inverse U.ws\n}\nadd relationship U.ws -> W many inverse W.u",
    "create entity P {\n relationship q -> Q inverse Q.p\n}\ncreate entity Q {\n relationship p -> P many inverse P.q\n}",
    "rename entity U -> W\nrename attribute W.s -> t\nadd index W(t)\nset default of W.y to 1",
    "add attribute U.z int optional\nrename attribute U.z -> w\nadd index U(w, y)",
    "require \"something\" {\n SELECT 1\n}",
    "create raw view Few {\n SELECT $U.s FROM $U\n WHERE $U.x IS NULL\n}",
    "create raw index byLength unique { ON $U (length($U.s), $U.id) }\nrename attribute U.s -> t",
    "make U.tags ordered", "make V.us ordered\nrename relationship U.r -> q", "make V.tagged ordered",
    "add relationship U.rank -> V many ordered",
    "create raw trigger kept { BEFORE DELETE ON $V BEGIN SELECT RAISE(ABORT, 'no'); END }",
  ]

  @Test(arguments: reversible)
  func `operations that lose nothing have a derived rollback`(_ up: String) throws {
    let step = try step(up)
    guard case .operations(let back) = try step.rollback(from: model) else {
      Issue.record("\(try step.rollback(from: model))")
      return
    }
    let (before, after) = (try model, try after(step))
    // The store keeps the rollback as text, so the text is parsed again.
    let text = back.map(\.description).joined(separator: "\n")
    let reverse = try MigrationStep(number: 3, name: "back", text: "format: 1\n[up]\n\(text)\n")
    let first = try MigrationStep(number: 1, name: "base", text: "format: 1\n[up]\n\(Self.base)\n")
    #expect(try MigrationSet([first, step, reverse]).model(at: 3) == before)
    #expect(after != before || up.hasPrefix("require"))
  }

  @Test(
    arguments: [
      ("drop entity U\ndrop relationship V.us", nil), ("drop attribute U.s", "its values are lost"),
      ("drop relationship U.r", "its links are lost"),
      ("retype U.y to string", "not every string is a valid int"),
      ("retype U.s to int using (length($U.s))", "the former values are lost"),
      ("make U.x required filling 5", "it is no longer known which objects had no value"),
      ("transform sql {\n UPDATE $U SET $U.s = ''\n}", "it overwrites values and does not keep them"),
      ("seed {\n INSERT INTO $V ($V.n) VALUES ('a')\n}", "it is no longer known which objects it created"),
      ("rename attribute U.s -> t\ndrop attribute U.y", "drop attribute U.y: its values are lost"),
    ] as [(String, String?)])
  func `the reason for a missing rollback names what is lost`(_ up: String, _ reason: String?) throws {
    guard let reason else { return }
    guard case .none(let found) = try step(up).rollback(from: model) else {
      Issue.record("\(up) has a rollback")
      return
    }
    #expect(found.hasSuffix(reason))
  }

  @Test func `a [down] section is used if it results in the model before the step`() throws {
    let up = "add attribute U.first string default \"\"\ndrop attribute U.s"
    let down =
      "add attribute U.s string default \"\"\ntransform sql {\n UPDATE $U SET $U.s = $U.first\n}\n"
      + "drop attribute U.first\nset default of U.s to none"
    let back = try step(up, down: down).rollback(from: model)
    #expect(back == .operations(try #require(try step(up, down: down).down)))
    guard case .none(let reason) = try step(up, down: "drop attribute U.first").rollback(from: model) else {
      Issue.record("an incomplete [down] section is accepted")
      return
    }
    #expect(reason == "its [down] section does not restore the model before the step")
    guard case .none(let unfit) = try step(up, down: "drop attribute U.frst").rollback(from: model) else {
      Issue.record("a [down] section that fits no model is accepted")
      return
    }
    #expect(unfit.contains("does not fit the model after the step: there is no attribute U.frst"))
  }

  @Test func `links that move to the other end are lost, although nothing is dropped`() throws {
    let base = "create entity U {\n relationship more -> V many\n}\ncreate entity V {\n}"
    let set = try DowngradeLab.set([base, "add relationship V.of -> U inverse U.more"])
    #expect(try set.losses(ofStep: 2) == ["U.more"])
    #expect(try set.steps[1].rollback(from: set.model(at: 1)) == .none(reason: "the data of U.more is lost"))
  }

  @Test func `a [down] section can declare the step irreversible, with a reason`() throws {
    let said = try step("add index U(s)", down: "irreversible \"it took \\\"days\\\"\"")
    #expect(try said.rollback(from: model) == .none(reason: "it took \"days\""))
    #expect(said.down == nil && said.irreversible == "it took \"days\"")
    let again = try MigrationStep(number: 2, name: "step", text: said.text)
    let plain = try step("add index U(s)")
    #expect(again == said && again.checksum == plain.checksum)
    #expect(
      try step("add index U(s)", down: "irreversible").irreversible == "its author declared it irreversible")
    for wrong in ["irreversible\ndrop index U(s)", "drop index U(s)\nirreversible", "irreversible because"] {
      #expect(throws: StoreError.self) { try step("add index U(s)", down: wrong) }
    }
  }

  @Test func `every step of the microblog has a rollback or a reason why it has none`() throws {
    let set = try MigrationSet.embedded(MicroblogMigrations.steps)
    var reasons: [Int: String] = [:]
    for step in set.steps {
      switch try step.rollback(from: set.model(at: step.number - 1)) {
      case .operations(let back): #expect(!back.isEmpty)
      case .none(let reason): reasons[step.number] = reason
      }
    }
    #expect(reasons.keys.contains(2) && !reasons.keys.contains(6))
  }
}
