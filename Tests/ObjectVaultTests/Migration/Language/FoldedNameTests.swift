// Names of steps that are possible in a file's name, but would lose a part in a line of the header.

import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite(.tags(.pure)) struct FoldedNames {
  @Test(arguments: [" first", "first ", " first step ", "\"first\"", "a \"first\"", "\""])
  func `a step whose name has spaces or quotes at its ends is folded, and its name is read back`(
    _ name: String
  ) throws {
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
