// Type names and string literals for generated Swift.

import ObjectVault

enum SwiftName {
  /// The words that Swift reserves where a type is declared or used.
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

  /// Returns whether a text can be the name of a type without change.
  static func isType(_ text: String) -> Bool {
    let letters = text.unicodeScalars
    let isWord = letters.allSatisfy { $0 == "_" || $0.properties.isXIDContinue }
    let begins = letters.first.map { $0 == "_" || $0.properties.isXIDStart } ?? false
    return begins && isWord && !reserved.contains(text)
  }
}

/// String literals of Swift.
enum SwiftLiteral {
  /// Returns a whole literal, with quotation marks.
  static func quoted(_ text: String) -> String { "\"\(body(text))\"" }

  /// Returns the text between the quotation marks. Quotation marks, backslashes and invisible characters,
  /// such as line breaks, are escaped.
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
