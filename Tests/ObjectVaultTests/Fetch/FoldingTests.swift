// Folding by a table, compared with its definition for every character and for random texts.

import Foundation
import ObjectVault
import TestSupport
import Testing

/// The definition: decompose, remove marks and compose; then apply lower, upper and lower case.
private func defined(_ text: String, _ options: StringOptions) -> String {
  var result = text
  if options.contains(.diacriticInsensitive) {
    var scalars = String.UnicodeScalarView()
    for scalar in result.decomposedStringWithCanonicalMapping.unicodeScalars
    where scalar.properties.generalCategory != .nonspacingMark { scalars.append(scalar) }
    result = String(scalars).precomposedStringWithCanonicalMapping
  }
  guard options.contains(.caseInsensitive) else { return result }
  var folded = String.UnicodeScalarView()
  for scalar in result.unicodeScalars {
    guard scalar.value >= 0x80, scalar != "\u{131}" else {
      folded.append(contentsOf: scalar.properties.lowercaseMapping.unicodeScalars)
      continue
    }
    let lower = scalar.properties.lowercaseMapping.unicodeScalars
    for upper in lower.flatMap({ Array($0.properties.uppercaseMapping.unicodeScalars) }) {
      folded.append(contentsOf: upper.properties.lowercaseMapping.unicodeScalars)
    }
  }
  return String(folded)
}

@Suite(.tags(.pure, .random, .slow)) struct FoldingTable {
  static let choices: [StringOptions] = [
    .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive],
  ]

  /// Compares bytes, because to Swift composed and decomposed texts are equal. To the engine they are
  /// not.
  private func expectSame(_ text: String, _ options: StringOptions) {
    let (found, expected) = (Folding.fold(text, options), defined(text, options))
    guard !found.utf8.elementsEqual(expected.utf8) else { return }
    let numbers = text.unicodeScalars.map { String($0.value, radix: 16) }
    Issue.record("\(numbers) with \(options.rawValue): \(Array(found.utf8)), not \(Array(expected.utf8))")
  }

  @Test(arguments: choices)
  func `folding every character, alone and between others, gives the defined result`(_ options: StringOptions)
  {
    // Torture tests all characters. Most of those beyond these ranges are not assigned.
    let ranges: [ClosedRange<UInt32>] =
      isTorture
      ? [0...0x10FFFF] : [0...0x33FF, 0xA000...0xABFF, 0xF900...0xFFFF, 0x10400...0x104FF, 0x11000...0x119FF]
    for number in ranges.joined() {
      guard let scalar = Unicode.Scalar(number) else { continue }
      expectSame(String(scalar), options)
      expectSame("Aé\(scalar)\u{301}ẞ", options)
    }
  }

  @Test(arguments: choices)
  func `folding random texts of letters, marks and syllables gives the defined result`(
    _ options: StringOptions
  ) {
    let seed = UInt64(ProcessInfo.processInfo.environment["VAULT_SEED"].flatMap { Int($0) } ?? 4711)
    var random = SeededGenerator(seed: seed)
    let kinds: [ClosedRange<UInt32>] = [
      0x20...0x7E, 0xC0...0x24F, 0x300...0x36F, 0x370...0x4FF, 0x900...0xDFF, 0x1100...0x11FF,
      0x1E00...0x1FFF,
      0x3040...0x30FF, 0x4E00...0x9FFF, 0xAC00...0xD7A3, 0xFB00...0xFB4F, 0x11130...0x1135F,
      0x1F600...0x1F64F,
    ]
    for _ in 0..<(isTorture ? 100_000 : 4000) {
      var scalars = String.UnicodeScalarView()
      for _ in 0..<Int.random(in: 0...12, using: &random) {
        let kind = kinds[Int.random(in: kinds.indices, using: &random)]
        if let scalar = Unicode.Scalar(UInt32.random(in: kind, using: &random)) { scalars.append(scalar) }
      }
      expectSame(String(scalars), options)
    }
  }

  @Test(arguments: choices)
  func `comparing two texts gives the order of the bytes of their defined foldings`(_ options: StringOptions)
  {
    let seed = UInt64(ProcessInfo.processInfo.environment["VAULT_SEED"].flatMap { Int($0) } ?? 4712)
    var random = SeededGenerator(seed: seed)
    // Few letters, so that many texts are equal or have a common beginning.
    let letters: [Unicode.Scalar] = [
      "a", "A", "b", "k", "\u{212A}", "\u{301}", "\u{338}", "e", "\u{E9}", "\u{DF}", "\u{1E9E}", "s",
      "\u{130}",
      "i", "\u{0}", " ", "\u{1112}", "\u{1161}", "\u{D55C}", "\u{903}", "\u{1F600}",
    ]
    func text() -> String {
      var scalars = String.UnicodeScalarView()
      for _ in 0..<Int.random(in: 0...5, using: &random) {
        scalars.append(letters[Int.random(in: letters.indices, using: &random)])
      }
      return String(scalars)
    }
    for _ in 0..<(isTorture ? 100_000 : 4000) {
      let (left, right) = (text(), text())
      let (a, b) = (Array(defined(left, options).utf8), Array(defined(right, options).utf8))
      let expected = a == b ? 0 : a.lexicographicallyPrecedes(b) ? -1 : 1
      let found = Folding.compare(Array(left.utf8), with: Array(right.utf8), options).signum()
      if found != expected {
        Issue.record("seed \(seed): \(Array(left.utf8)), \(Array(right.utf8)), \(options.rawValue): \(found)")
      }
    }
  }

  @Test func `folding without options changes nothing`() {
    #expect(Folding.fold("Ångström ẞ", []).utf8.elementsEqual("Ångström ẞ".utf8))
  }
}
