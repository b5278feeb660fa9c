// Splits a line of a migration file into words. Works on Unicode scalars: a quote followed by a combining
// mark is one Character, and would not be recognized as a quote.

struct MigrationWords {
  struct Word {
    let text: String
    /// The number of scalars before the word.
    let column: Int
    let isString: Bool
  }

  let scalars: [Unicode.Scalar]
  private(set) var words: [Word] = []
  /// The number of scalars before the SQL on the line, which begins after `using`, `picking`, or the
  /// brace that opens a block; nil if the line has no SQL. SQL is not split into words, because it has
  /// other quotes and comments.
  private(set) var sqlColumn: Int?
  /// The position of a string that does not end on this line.
  private(set) var openText: Int?
  /// The position of a backslash that begins no known escape.
  private(set) var unknownEscape: Int?
  /// The number of scalars up to and including the last word.
  private(set) var end = 0

  init(_ line: String) {
    scalars = Array(line.unicodeScalars)
    var index = 0
    while index < scalars.count, scalars[index] != "#" {
      if scalars[index].properties.isWhitespace {
        index += 1
        continue
      }
      index = scalars[index] == "\"" ? string(from: index) : word(from: index)
      end = index
      guard endsBeforeSQL else { continue }
      sqlColumn = index
      return
    }
  }

  /// Whether the words so far end where SQL begins.
  private var endsBeforeSQL: Bool {
    guard let first = words.first, let last = words.last, !first.isString, !last.isString else {
      return false
    }
    switch first.text {
    case "retype": return last.text == "using" && !isBeforeSwift
    case "make": return last.text == "picking"
    case "transform", "seed", "require": return last.text == "{"
    case "create": return last.text == "{" && words.count > 1 && words[1].text == "raw"
    default: return false
    }
  }

  /// Whether the rest of the line begins with `swift`, which precedes a function's name. SQL would begin
  /// with a bracket.
  private var isBeforeSwift: Bool {
    let rest = scalars[(words.last.map { $0.column + $0.text.unicodeScalars.count } ?? 0)...]
      .drop { $0.properties.isWhitespace }
    return rest.starts(with: "swift".unicodeScalars)
  }

  private static let escapes: [Unicode.Scalar: Unicode.Scalar] = [
    "n": "\n", "r": "\r", "\\": "\\", "\"": "\"",
  ]

  private mutating func string(from start: Int) -> Int {
    var text: [Unicode.Scalar] = []
    var index = start + 1
    while index < scalars.count, scalars[index] != "\"" {
      if scalars[index] == "\\", index + 1 < scalars.count {
        index += 1
        let escaped = Self.escapes[scalars[index]]
        if escaped == nil { unknownEscape = unknownEscape ?? index - 1 }
        text.append(escaped ?? scalars[index])
      } else {
        text.append(scalars[index])
      }
      index += 1
    }
    if index >= scalars.count { openText = openText ?? start }
    words.append(Word(text: String(text), column: start, isString: true))
    return min(index + 1, scalars.count)
  }

  private mutating func word(from start: Int) -> Int {
    var index = start + 1
    if scalars[start] == "-", index < scalars.count, scalars[index] == ">" {
      index += 1
    } else if !Self.isMark(scalars[start]) {
      while index < scalars.count, !scalars[index].properties.isWhitespace, !Self.isMark(scalars[index]),
        scalars[index] != "\"", scalars[index] != "#"
      { index += 1 }
    }
    words.append(Word(text: String(scalars[start..<index]), column: start, isString: false))
    return index
  }

  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "{", "}", "(", ")", ",", ":": true
    default: false
    }
  }
}
