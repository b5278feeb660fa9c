// Quotes words for command lines that messages show. A copied command line has to mean the same file in a
// shell, and must not contain characters that a terminal interprets.

internal import CipherSQLite

/// Quotes a word for a shell. A word with hidden characters is quoted as `$'…'` with octal escapes such
/// as `\033`, which bash, zsh and POSIX shells since 2024 decode.
package func shellWord(_ word: String) -> String {
  if word.unicodeScalars.contains(where: \.isHidden) { return spelledWord(word) }
  let isPlain =
    !word.isEmpty
    && word.unicodeScalars.allSatisfy { scalar in
      scalar.isASCII
        && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil
          || "_@%+=:,./-".unicodeScalars.contains(scalar))
    }
  return isPlain ? word : word.enclosed(in: "'", escaped: "'\\''")
}

/// Returns a file's path in a form that no command reads as an option.
package func argumentPath(_ path: String) -> String { path.hasPrefix("-") ? "./\(path)" : path }

/// Returns a file's path as a quoted argument for a shell, in a form that no command reads as an option.
package func shellPath(_ path: String) -> String { shellWord(argumentPath(path)) }

private func spelledWord(_ word: String) -> String {
  var result = "$'"
  for scalar in word.unicodeScalars {
    switch scalar {
    case "'", "\\": result += "\\\(scalar)"
    case "\n": result += "\\n"
    case "\t": result += "\\t"
    // Each byte gets three octal digits. With fewer, or in hexadecimal, a following digit would be read
    // as part of it.
    case _ where scalar.isHidden:
      for byte in String(scalar).utf8 { result += "\\" + String(Int(byte) + 0o1000, radix: 8).dropFirst() }
    default: result.unicodeScalars.append(scalar)
    }
  }
  return result + "'"
}

extension Unicode.Scalar {
  /// Whether a scalar is invisible: a control character, a line separator, a mark that changes the
  /// direction of text, or a space without width.
  package var isHidden: Bool {
    switch value {
    case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200B, 0x200E, 0x200F, 0x2028...0x202E, 0x2060, 0x2066...0x2069,
      0xFEFF:
      true
    default: false
    }
  }
}
