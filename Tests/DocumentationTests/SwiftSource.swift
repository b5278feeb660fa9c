// A Swift file as the test of the folders reads it: the names that it declares for other files, and the
// names that it uses. A scanner of words reads it, and not a compiler, so that no build is needed and
// invented sources work too.

import Foundation

/// One source file of a module.
struct SwiftSource {
  /// The path in the module, such as `Files/FileLock.swift`.
  let path: String
  /// The top-level declarations that other files can see: types, protocols, aliases, functions.
  let declared: Set<String>
  /// The names that the file uses and does not declare itself: types, and functions that are called. A
  /// member belongs to its type, and does not count.
  let used: Set<String>

  /// The folder in the module, such as `Migration/Run`; nil at the top.
  var folder: String? {
    path.lastIndex(of: "/").map { String(path[..<$0]) }
  }

  /// - Parameters:
  ///   - path: The path in the module.
  ///   - text: The content of the file.
  ///   - module: The module's name, which may precede a name of the module.
  init(path: String, text: String, module: String) {
    self.path = path
    var reader = DeclarationReader(SwiftWords(text).words, module: module)
    reader.read()
    declared = reader.declared
    used = reader.used.subtracting(reader.own)
  }
}

/// Finds declarations and uses among the words of a file.
private struct DeclarationReader {
  private let words: [SwiftWords.Word]
  private let module: String
  private(set) var declared: Set<String> = []
  private(set) var used: Set<String> = []
  /// Everything that the file declares at any depth, with generic parameters: these names hide those of
  /// other files.
  private(set) var own: Set<String> = []

  private static let types: Set<String> = [
    "class", "struct", "enum", "protocol", "actor", "typealias", "associatedtype", "macro",
  ]

  init(_ words: [SwiftWords.Word], module: String) {
    self.words = words
    self.module = module
  }

  mutating func read() {
    var (depth, isPrivate) = (0, false)
    for (index, word) in words.enumerated() {
      switch word.text {
      case "{": depth += 1
      case "}": depth -= 1
      case "private", "fileprivate": isPrivate = depth == 0
      case "import", "extension", "let", "var": isPrivate = false
      case "func", "init", "subscript",
        _ where Self.types.contains(word.text):
        // `Thing.self`, `.init(…)` and `class func` declare nothing of that name.
        guard !isMember(index), index + 1 < words.count else { break }
        let name = words[index + 1].text
        let isNamed = word.text == "func" || Self.types.contains(word.text)
        if isNamed, isName(name), name != "func", name != "var" {
          own.insert(name)
          if depth == 0, !isPrivate { declared.insert(name) }
        }
        readGenericParameters(from: isNamed ? index + 2 : index + 1)
        isPrivate = false
      default: readUse(index)
      }
    }
  }

  /// Reads `<Element: Hashable, Other>` after a declared name.
  private mutating func readGenericParameters(from start: Int) {
    guard start < words.count, words[start].text == "<" else { return }
    var depth = 0
    for index in start..<words.count {
      switch words[index].text {
      case "<": depth += 1
      case ">": depth -= 1
      default:
        if depth == 1, ["<", ","].contains(words[index - 1].text) { own.insert(words[index].text) }
      }
      if depth == 0 { return }
    }
  }

  private mutating func readUse(_ index: Int) {
    let name = words[index].text
    guard isName(name), let first = name.unicodeScalars.first else { return }
    if isMember(index) {
      guard index >= 2, words[index - 2].text == module, !isMember(index - 2) else { return }
    }
    let isType = first.properties.isUppercase
    let isCalled = index + 1 < words.count && words[index + 1].text == "("
    // Declarations, and the cases of an enumeration, are not calls.
    guard isType || isCalled, index == 0 || !["func", "case"].contains(words[index - 1].text) else { return }
    used.insert(name)
  }

  private func isMember(_ index: Int) -> Bool { index > 0 && words[index - 1].text == "." }

  private func isName(_ text: String) -> Bool {
    text.unicodeScalars.first.map { $0 == "_" || $0.properties.isAlphabetic } ?? false
  }
}
