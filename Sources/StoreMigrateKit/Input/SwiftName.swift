// What stands in generated Swift: the names of types, and texts.

import ObjectVault

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

/// Texts as Swift has them between two quotation marks.
enum SwiftLiteral {
  /// A whole literal.
  static func quoted(_ text: String) -> String { "\"\(body(text))\"" }

  /// What stands between the marks. No sign is left in it that ends the literal, or that the compiler does not take.
  static func body(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { body, scalar in
      switch scalar {
      case "\\", "\"": body += "\\\(scalar)"
      case _ where scalar.isHidden: body += "\\u{\(String(scalar.value, radix: 16))}"
      default: body.unicodeScalars.append(scalar)
      }
    }
  }
}
