// Swift text without its comments and literals: words and signs remain. Values that are interpolated into a
// literal are code, and remain as well.

/// The words of a Swift file, in order.
struct SwiftWords {
  /// A name, a number, or one sign.
  struct Word: Equatable {
    let text: String
  }

  private(set) var words: [Word] = []
  private let bytes: [UInt8]
  private var next = 0

  init(_ text: String) {
    bytes = Array(text.utf8)
    readCode(isInterpolated: false)
  }

  // MARK: Code

  /// - Parameter isInterpolated: Whether a closing bracket without an opening one ends the code.
  private mutating func readCode(isInterpolated: Bool) {
    var brackets = 0
    while let byte = peek() {
      if skipComment() || skipLiteral() { continue }
      if isWord(byte) {
        readWord()
        continue
      }
      if byte == UInt8(ascii: "(") { brackets += 1 }
      if byte == UInt8(ascii: ")") {
        if isInterpolated, brackets == 0 { return }
        brackets -= 1
      }
      if byte > 32 { words.append(Word(text: String(UnicodeScalar(byte)))) }
      next += 1
    }
  }

  private mutating func readWord() {
    let start = next
    while let byte = peek(), isWord(byte) { next += 1 }
    words.append(Word(text: String(decoding: bytes[start..<next], as: UTF8.self)))
  }

  /// Letters, digits, `_`, and all bytes that are not ASCII.
  private func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), 0x80...: true
    default: false
    }
  }

  // MARK: Comments

  private mutating func skipComment() -> Bool {
    if starts(with: "//") {
      while let byte = peek(), byte != UInt8(ascii: "\n") { next += 1 }
      return true
    }
    guard starts(with: "/*") else { return false }
    var depth = 0
    repeat {
      if starts(with: "/*") {
        depth += 1
        next += 2
      } else if starts(with: "*/") {
        depth -= 1
        next += 2
      } else {
        next += 1
      }
    } while depth > 0 && next < bytes.count
    return true
  }

  // MARK: Literals

  private mutating func skipLiteral() -> Bool {
    var hashes = 0
    while peek(hashes) == UInt8(ascii: "#") { hashes += 1 }
    if hashes > 0, peek(hashes) == UInt8(ascii: "/") {
      skipRegularExpression(hashes)
      return true
    }
    guard peek(hashes) == UInt8(ascii: "\"") else { return false }
    next += hashes
    let isMultiline = starts(with: "\"\"\"")
    next += isMultiline ? 3 : 1
    readString(hashes, isMultiline: isMultiline)
    return true
  }

  private mutating func skipRegularExpression(_ hashes: Int) {
    next += hashes + 1
    let end = "/" + String(repeating: "#", count: hashes)
    while next < bytes.count, !starts(with: end) { next += 1 }
    next += end.utf8.count
  }

  private mutating func readString(_ hashes: Int, isMultiline: Bool) {
    let marks = String(repeating: "#", count: hashes)
    let (end, escape) = ((isMultiline ? "\"\"\"" : "\"") + marks, "\\" + marks)
    while let byte = peek() {
      if starts(with: end) {
        next += end.utf8.count
        return
      }
      if starts(with: escape + "(") {
        next += escape.utf8.count + 1
        readCode(isInterpolated: true)
        next += 1
      } else if starts(with: escape) {
        next += escape.utf8.count + 1
      } else {
        // A literal of one line ends here, even if its end is missing.
        if byte == UInt8(ascii: "\n"), !isMultiline { return }
        next += 1
      }
    }
  }

  // MARK: Bytes

  private func peek(_ offset: Int = 0) -> UInt8? {
    next + offset < bytes.count ? bytes[next + offset] : nil
  }

  private func starts(with text: String) -> Bool {
    var index = next
    for byte in text.utf8 {
      guard index < bytes.count, bytes[index] == byte else { return false }
      index += 1
    }
    return true
  }
}
