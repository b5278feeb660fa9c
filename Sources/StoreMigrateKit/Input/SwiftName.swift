// What may stand as the name of a type in generated Swift.

enum SwiftName {
  /// Words that Swift keeps for itself where a type is declared or used.
  private static let reserved: Set<String> = [
    "Any", "Protocol", "Self", "Type", "as", "associatedtype", "break", "case", "catch", "class", "continue",
    "default",
    "defer", "deinit", "do", "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for",
    "func", "guard",
    "if", "import", "in", "init", "inout", "internal", "is", "let", "nil", "operator", "precedencegroup",
    "private",
    "protocol", "public", "repeat", "rethrows", "return", "self", "static", "struct", "subscript", "super",
    "switch",
    "throw", "throws", "true", "try", "typealias", "var", "where", "while", "_",
  ]

  /// Whether a text can be the name of a type as it is.
  static func isType(_ text: String) -> Bool {
    let letters = text.unicodeScalars
    let isWord = letters.allSatisfy { $0 == "_" || $0.properties.isXIDContinue }
    let begins = letters.first.map { $0 == "_" || $0.properties.isXIDStart } ?? false
    return begins && isWord && !reserved.contains(text)
  }
}
