// Turns names of a model into Swift names: in backticks where they are keywords, and qualified with a
// module where a class of the model hides a name of a library.

internal import ObjectVault

/// Writes the names of a model, and of libraries, as Swift code that compiles beside the model's classes.
struct SwiftNames {
  private let entities: Set<String>

  init(_ schema: Schema) { entities = Set(schema.entities.map(\.name)) }

  /// A name of the model, as it is declared and referred to.
  static func quoted(_ name: String) -> String { words.contains(name) ? "`\(name)`" : name }

  /// A name of the model after a dot, as in a key path. After a type or a leading dot, `Type` and
  /// `Protocol` keep their special meaning even in backticks; after another component of the path they do
  /// not, so `self.` is put in front.
  static func path(_ name: String) -> String {
    (["Type", "Protocol"].contains(name) ? "self." : "") + quoted(name)
  }

  /// A name of a library, qualified if a class of the model hides it.
  func name(_ name: String, of module: String) -> String {
    entities.contains(name) ? "\(module).\(name)" : name
  }

  /// A name that no class has: this one, or this one with a number appended.
  func free(_ name: String) -> String {
    guard entities.contains(name) else { return name }
    return (2...).lazy.map { "\(name)\($0)" }.first { !entities.contains($0) } ?? name
  }

  /// Keywords, and names with a special meaning after a dot.
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
  /// The text as a Swift string literal.
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
