// The text of `transform swift` and of `retype … using swift`, and the errors for wrong forms.

import ObjectVault
import Testing

@Suite(.tags(.pure)) struct SwiftTransformTexts {
  @Test func `Swift transforms have one canonical text, and wrong forms are errors with a reason`() throws {
    for (line, canonical) in [
      ("transform swift f on E", "transform swift f on E batch 500"),
      (
        "transform  swift f on E batch 7 writes F, E.b,E.a reads E.c # why",
        "transform swift f on E reads E.c writes E.a, E.b, F batch 7"
      ),
      ("retype E.a to int using  swift f", "retype E.a to int using swift f"),
      ("retype E.a to int using (swift)", "retype E.a to int using (swift)"),
    ] {
      let step = try MigrationStep(number: 1, name: "s", text: "format: 1\n[up]\n\(line)\n")
      #expect(step.canonicalText == canonical)
      #expect(try MigrationStep(number: 1, name: "s", text: step.text) == step)
    }
    for (line, reason) in [
      ("transform swift", "the function's name is missing"), ("transform swift f E", "on is missing"),
      ("transform swift f on E batch", "the size of the batches"),
      ("transform swift f on E batch 0", "a number from 1"),
      ("transform swift f on E write E.a", "did you mean \"writes\"?"),
      ("transform swift f on E reads E.a reads E.b", "each at most once"),
      ("transform f on E", "sql is missing"),
      ("transform swift f on E writes", "is missing"), ("retype E.a to int using swift", "function's name"),
    ] {
      #expect {
        _ = try MigrationStep(number: 1, name: "s", text: "format: 1\n[up]\n\(line)\n")
      } throws: { "\($0)".contains(reason) }
    }
  }
}
