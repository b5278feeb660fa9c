// Names of a model as Swift takes them: in backticks where they are words of the language, with their module where a class
// of the model hides what they mean.

internal import ObjectVault

/// What names stand for in the classes of one model.
struct SwiftNames {
  private let entities: Set<String>

  init(_ schema: Schema) { entities = Set(schema.entities.map(\.name)) }

  /// A name of the model, as it is declared and referred to.
  static func quoted(_ name: String) -> String { words.contains(name) ? "`\(name)`" : name }

  /// A name of the model behind a dot, as a key path names it. With a type or a dot in front `Type` and `Protocol` are words
  /// of the language in backticks, too, but not behind another step of the path.
  static func path(_ name: String) -> String {
    (["Type", "Protocol"].contains(name) ? "self." : "") + quoted(name)
  }

  /// A name of a library, which a class of the model may hide.
  func name(_ name: String, of module: String) -> String {
    entities.contains(name) ? "\(module).\(name)" : name
  }

  /// A name that no class has: this one, or with a number behind it.
  func free(_ name: String) -> String {
    guard entities.contains(name) else { return name }
    return (2...).lazy.map { "\(name)\($0)" }.first { !entities.contains($0) } ?? name
  }

  /// Words that the language keeps for itself, and those that mean something behind a dot.
  private static let words: Set<String> = [
    "Any", "Protocol", "Self", "Type", "as", "associatedtype", "async", "await", "break", "case", "catch",
    "class", "continue", "default", "defer", "deinit", "do", "else", "enum", "extension", "fallthrough",
    "false",
    "fileprivate", "for", "func", "guard", "if", "import", "in", "init", "inout", "internal", "is", "let",
    "nil",
    "operator", "precedencegroup", "private", "protocol", "public", "repeat", "rethrows", "return", "self",
    "static", "struct", "subscript", "super", "switch", "throw", "throws", "true", "try", "typealias", "var",
    "where", "while",
  ]
}

extension String {
  /// The text as a literal of Swift.
  var swiftLiteral: String {
    "\""
      + unicodeScalars.map { scalar -> String in
        switch scalar {
        case "\\": return "\\\\"
        case "\"": return "\\\""
        case "\n": return "\\n"
        case "\r": return "\\r"
        case "\t": return "\\t"
        default:
          let isPlain =
            scalar.properties.generalCategory != .control && scalar.properties.generalCategory != .format
          return isPlain ? String(scalar) : "\\u{\(String(scalar.value, radix: 16))}"
        }
      }.joined() + "\""
  }
}
