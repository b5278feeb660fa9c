// Words of command lines that messages offer: what is copied from a screen into a shell has to mean the same file there, and
// the screen shows no sign that a terminal would obey.

internal import CipherSQLite

/// A word as a shell takes it for one. Signs that a screen does not show as they are stand as `$'\\033'`, which bash, zsh and
/// POSIX since 2024 take for the sign.
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

/// The path of a file as an argument that no command takes for an option.
package func argumentPath(_ path: String) -> String { path.hasPrefix("-") ? "./\(path)" : path }

/// The same as a shell takes it.
package func shellPath(_ path: String) -> String { shellWord(argumentPath(path)) }

private func spelledWord(_ word: String) -> String {
  var result = "$'"
  for scalar in word.unicodeScalars {
    switch scalar {
    case "'", "\\": result += "\\\(scalar)"
    case "\n": result += "\\n"
    case "\t": result += "\\t"
    // Its bytes, three octal digits each: with fewer, or in hexadecimal ones, a digit behind would belong to them.
    case _ where scalar.isHidden:
      for byte in String(scalar).utf8 { result += "\\" + String(Int(byte) + 0o1000, radix: 8).dropFirst() }
    default: result.unicodeScalars.append(scalar)
    }
  }
  return result + "'"
}

extension Unicode.Scalar {
  /// Whether it would move the cursor of a terminal, end a line, or turn its direction, and shows nothing itself.
  package var isHidden: Bool {
    switch value {
    case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200B, 0x200E, 0x200F, 0x2028...0x202E, 0x2060, 0x2066...0x2069,
      0xFEFF:
      true
    default: false
    }
  }
}
