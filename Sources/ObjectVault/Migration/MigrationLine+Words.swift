// Where the words of a line begin and end, and where a bracket closes.

extension MigrationLine {
  private static let escapes: [Character: Character] = ["n": "\n", "r": "\r"]

  static func words(of line: String) -> [Word] {
    var words: [Word] = []
    let characters = Array(line)
    var index = 0
    while index < characters.count {
      let start = index
      let character = characters[index]
      if character.isWhitespace {
        index += 1
      } else if character == "\"" {
        var text = ""
        index += 1
        while index < characters.count, characters[index] != "\"" {
          if characters[index] == "\\", index + 1 < characters.count {
            index += 1
            text.append(Self.escapes[characters[index]] ?? characters[index])
          } else {
            text.append(characters[index])
          }
          index += 1
        }
        // A text without its end is none, and no word that has a meaning either.
        let isWhole = index < characters.count
        index += 1
        words.append(Word(text: isWhole ? text : "\"" + text, column: start, isString: isWhole))
      } else if character == "-", index + 1 < characters.count, characters[index + 1] == ">" {
        index += 2
        words.append(Word(text: "->", column: start, isString: false))
      } else if "{}(),".contains(character) {
        index += 1
        words.append(Word(text: String(character), column: start, isString: false))
      } else {
        while index < characters.count, !characters[index].isWhitespace,
          !"{}(),\"".contains(characters[index])
        { index += 1 }
        words.append(Word(text: String(characters[start..<index]), column: start, isString: false))
      }
    }
    return words
  }

  /// The bracket that closes the one at `open`, of those that are in no quotes.
  static func closing(in line: String, from open: String.Index) -> String.Index? {
    var depth = 0
    var quote: Character?
    for index in line[open...].indices {
      let character = line[index]
      if let end = quote {
        if character == end { quote = nil }
        continue
      }
      switch character {
      case "'", "\"", "`": quote = character
      case "[": quote = "]"
      case "(": depth += 1
      case ")":
        depth -= 1
        if depth == 0 { return index }
      default: break
      }
    }
    return nil
  }
}
