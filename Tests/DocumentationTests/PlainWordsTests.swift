// Signs of code that is hard to read: calls without labels, long comment lines, private words.

import Foundation
import TestSupport
import Testing

@Suite(.tags(.pure)) struct PlainWords {
  /// Functions that may have three parameters without labels, or two of one type: operands of a
  /// comparison, lists of options whose order has no meaning, SQL with its values and a closure.
  private static let unlabelled: [String: Set<String>] = [
    "CipherSQLite/Connection/Connection+Rows.swift": ["query", "cursor"],
    "ObjectVault/Declaration/PropertyWrappers.swift": ["init"],
    // The members, their property, and the arguments of a format.
    "ObjectVault/Fetch/ObjectAnnotation.swift": ["average", "maximum", "minimum", "sum"],
    "ObjectVault/Fetch/Fetch+Groups.swift": ["grouped"], "ObjectVault/Fetch/PendingMerge.swift": ["precedes"],
    "ObjectVault/Migration/Difference/SchemaDifference+Operations.swift": ["isUnpaired"],
  ]

  @Test(arguments: Architecture.layers.keys.sorted())
  func `a call reads without its declaration`(_ target: String) throws {
    for file in try Architecture.sources(target) {
      for function in Signatures(file.text).found
      where function.unlabelled.count >= 3 || Set(function.unlabelled).count < function.unlabelled.count {
        #expect(
          Self.unlabelled[file.path]?.contains(function.name) == true,
          "\(file.path): \(function.name) has the unlabelled parameters \(function.unlabelled); label them")
      }
    }
  }

  @Test(arguments: Architecture.layers.keys.sorted())
  func `comments have short lines and the words of the glossary`(_ target: String) throws {
    // CONTRIBUTING.md, "Words".
    let wrong = #/\bbehind\b|^/// The same\b|\b([Nn]obody|[Ss]omebody|[Aa]nybody|[Ww]hoever|[Ww]hom)\b/#
    for file in try Architecture.sources(target) {
      for (index, line) in file.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
        let comment = line.drop { $0 == " " }
        guard comment.hasPrefix("//") else { continue }
        #expect(line.count <= 110, "\(file.path):\(index + 1)")
        #expect(comment.firstMatch(of: wrong) == nil, "\(file.path):\(index + 1): \(comment)")
      }
    }
  }

  @Test func `unlabelled parameters are counted in any form of a declaration`() {
    let source = """
      func plain(_ a: Int, _ b: [String: Int] = [:], c: Int, d: (Int, Int) -> Void) {}
      init?<Value: Hashable>(_ value: Value, _ other: Value) {}
      subscript(_ row: Int, _ column: Int, depth: Int) -> Int { 0 }
      static func labelled(a: Int, b: Int, c: Int) { call(_: 1, "_ x: Int") }
      func two(_ body: (_ a: Int, _ b: Int) -> Void, _ text: String) {}
      """
    let found = Signatures(source).found.map { "\($0.name) \($0.unlabelled.joined(separator: "; "))" }
    #expect(
      found == [
        "plain Int; [String:Int]", "init Value; Value", "subscript Int; Int", "labelled ",
        "two (_a:Int,_b:Int)->Void; String",
      ])
  }
}

/// The functions that a file declares.
private struct Signatures {
  struct Function {
    let name: String
    /// The types of the parameters without a label.
    let unlabelled: [String]
  }

  private(set) var found: [Function] = []

  init(_ text: String) {
    let words = SwiftWords(text).words.map(\.text)
    for (index, word) in words.enumerated() where ["func", "init", "subscript"].contains(word) {
      if index > 0, words[index - 1] == "." { continue }
      let start = word == "func" ? index + 2 : index + 1
      guard let bracket = Self.bracket(words, from: start) else { continue }
      let name = word == "func" && index + 1 < words.count ? words[index + 1] : word
      found.append(Function(name: name, unlabelled: Self.unlabelled(words, after: bracket)))
    }
  }

  /// Returns the index of the bracket that opens the parameters, after `?` and generic parameters.
  private static func bracket(_ words: [String], from start: Int) -> Int? {
    var (index, depth) = (start, 0)
    while index < words.count {
      switch words[index] {
      case "<": depth += 1
      case ">": depth -= 1
      case "?", "!": break
      case "(" where depth == 0: return index
      default: if depth == 0 { return nil }
      }
      index += 1
    }
    return nil
  }

  private static func unlabelled(_ words: [String], after bracket: Int) -> [String] {
    var (parameters, depth): ([[String]], Int) = ([[]], 1)
    for index in words.indices.dropFirst(bracket + 1) {
      let word = words[index]
      switch word {
      case "(", "[", "{", "<": depth += 1
      case ")", "]", "}": depth -= 1
      case ">" where words[index - 1] != "-": depth -= 1
      default: break
      }
      if depth == 0 { break }
      if word == ",", depth == 1 {
        parameters.append([])
      } else {
        parameters[parameters.count - 1].append(word)
      }
    }
    return parameters.compactMap { parameter in
      guard parameter.count > 3, parameter[0] == "_", parameter[2] == ":" else { return nil }
      return parameter[3...].prefix { $0 != "=" }.joined()
    }
  }
}
