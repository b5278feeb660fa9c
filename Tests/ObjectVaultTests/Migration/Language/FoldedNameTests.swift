// Names that a file's name can have and a line of the head would lose a part of.

import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite(.tags(.pure)) struct FoldedNames {
  @Test(arguments: [" first", "first ", " first step ", "\"first\"", "a \"first\"", "\""])
  func `a step of such a name is folded, and known again by it`(_ name: String) throws {
    let texts = [
      "create entity A {\n attribute n int\n}", "add attribute A.m int optional", "add index A(n)",
    ]
    let names = [name, "second", name]
    let set = try MigrationSet(
      zip(names, texts).enumerated().map { index, step in
        try MigrationStep(number: index + 1, name: step.0, text: "format: 1\n[up]\n\(step.1)\n")
      })
    for last in 2...3 {
      let fold = try set.folded(to: last, release: "4.1")
      let read = try MigrationStep(number: last, name: names[last - 1], text: fold.step.text)
      #expect(
        read.folds.map(\.name) == Array(names[..<last]) && read.text == fold.step.text, "\(fold.step.text)")
    }
  }
}
