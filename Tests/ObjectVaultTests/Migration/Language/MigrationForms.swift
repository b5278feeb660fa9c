// A line for each form of an operation, with all of its options. The random tests start with these lines.

import ObjectVault
import Testing

@Suite(.tags(.pure)) struct MigrationForms {
  /// The lines, by the words that they begin with in the parser's own table.
  static let seeds: [String: [String]] = [
    "create entity": [
      "create entity E {\n attribute a string optional unique indexed default \"q\"\n relationship r -> E many ordered "
        + "inverse E.s on delete cascade\n relationship s -> E required inverse E.r\n index (a, s) unique\n}",
      "create entity E : P {\n}", "create entity E history full {\n}",
      "create entity E : P history changes {\n}",
    ],
    "create raw": [
      "create raw view V {\n SELECT $E.a FROM $E\n}",
      "create raw index I unique { ON $E (length($E.a)) WHERE 1 }",
      "create raw trigger T { BEFORE DELETE ON $E BEGIN SELECT RAISE(ABORT, 'no'); END }",
    ],
    "set history": ["set history of E to full", "set history of E to changes", "set history of E to none"],
    "drop entity": ["drop entity E"], "drop attribute": ["drop attribute E.a"],
    "drop relationship": ["drop relationship E.r"], "drop index": ["drop index E(a, b)"],
    "drop raw": ["drop raw view V", "drop raw trigger T", "drop raw index I"],
    "rename entity": ["rename entity E -> F"], "rename attribute": ["rename attribute E.a -> b"],
    "rename relationship": ["rename relationship E.r -> s"],
    "add attribute": [
      "add attribute E.a decimal optional unique indexed default \"1.50\"",
      "add attribute E.a date filling 0",
    ],
    "add relationship": [
      "add relationship E.r -> F many ordered inverse F.s on delete deny",
      "add relationship E.r -> F required on delete nullify filling 7",
    ],
    "add index": ["add index E(a, b) unique", "add index E(a)"],
    "retype": [
      "retype E.a to int", "retype E.a to string using (($E.a || ')') || \"b\" || [c])",
      "retype E.a to uuid using swift convert",
    ],
    "make entity": ["make entity E a relationship A.r -> B inverse B.s from a"],
    "make relationship": ["make relationship A.r an entity E (a, b) inverse A.es, B.es"],
    "make Entity.property required": ["make E.a required filling \"x\"", "make E.a required"],
    "make Entity.property optional": ["make E.a optional"],
    "make Entity.property lazy": ["make E.a lazy"], "make Entity.property eager": ["make E.a eager"],
    "make Entity.property many": ["make E.r many"],
    "make Entity.property one": ["make E.r one picking ($F.a, $F.b DESC)", "make E.r one"],
    "make Entity.property ordered": ["make E.r ordered"],
    "make Entity.property unordered": ["make E.r unordered"],
    "move": ["move attribute E.a, E.b -> F.c, F.d by E.r"],
    "merge": ["merge entity E into F with E.a -> F.b, E.r -> F.s"],
    "set delete": ["set delete rule of E.r to cascade"],
    "set parent": ["set parent of E to P", "set parent of E to none"],
    "set": ["set default of E.a to -1.5e3", "set default of E.a to none"],
    "transform": [
      "transform sql { UPDATE $E SET $E.a = '}' }", "transform sql reads E.a, F writes E.b { UPDATE $E }",
    ],
    "transform swift": ["transform swift f on E reads E.a, F writes E.b batch 7", "transform swift f on E"],
    "seed": ["seed { INSERT INTO $E ($E.a) VALUES ('$$') }"],
    "require": ["require \"it \\\"is\\\" so\" { SELECT 1 }"],
  ]

  @Test func `each operation of the parser has a line here that survives parsing and printing`() throws {
    // A new operation needs a line above.
    #expect(Set(Self.seeds.keys).symmetricDifference(MigrationOperation.beginnings) == [])
    for (form, lines) in Self.seeds {
      let words = form.split(separator: " ").map(String.init).filter { $0 != "Entity.property" }
      for line in lines {
        let said = line.split { " \n({".contains($0) }.map(String.init)
        #expect(words.allSatisfy(said.contains), "\(form): \(line)")
        let step = try MigrationStep(number: 1, name: "s", text: "format: 1\n[up]\n\(line)\n")
        #expect(!step.operations.isEmpty, "\(line)")
        #expect(try MigrationStep(number: 1, name: "s", text: step.text) == step, "\(line)")
        #expect(try MigrationStep(number: 1, name: "s", text: step.fileText).checksum == step.checksum)
      }
    }
  }
}
