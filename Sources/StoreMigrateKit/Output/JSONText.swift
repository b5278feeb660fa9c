// The text of a JSON attribute as part of other JSON. It is validated strictly by RFC 8259. Whitespace
// between values is removed so that it stays on one line, and so is a byte-order mark at its beginning.
// Foundation's reader is more lenient: it accepts UTF-16, too.

/// Reads a JSON text once, and copies the significant bytes.
struct JSONText {
  /// A value that is nested deeper is treated as text, because other readers have a limit, too.
  private static let deepest = 500

  private let bytes: [UInt8]
  private var place = 0
  private var kept: [UInt8] = []

  /// Returns the text without whitespace between values; nil when it is not JSON. A leading byte-order
  /// mark is omitted.
  static func compact(_ text: String) -> String? {
    var reader = JSONText(text)
    guard reader.readValue(depth: 0) else { return nil }
    reader.skipSpace()
    return reader.place == reader.bytes.count ? String(decoding: reader.kept, as: UTF8.self) : nil
  }

  private init(_ text: String) {
    let bytes = Array(text.utf8)
    self.bytes = bytes
    kept.reserveCapacity(bytes.count)
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { place = 3 }
  }

  private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || (0x09...0x0A).contains(byte) || byte == 0x0D { place += 1 }
  }

  /// Copies the next byte if it is this character, and returns whether it was.
  private mutating func keep(_ character: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: character) else { return false }
    kept.append(bytes[place])
    place += 1
    return true
  }

  private mutating func readValue(depth: Int) -> Bool {
    skipSpace()
    switch next {
    case UInt8(ascii: "{"): return readMembers(from: "{", to: "}", depth: depth)
    case UInt8(ascii: "["): return readMembers(from: "[", to: "]", depth: depth)
    case UInt8(ascii: "\""): return readString()
    case UInt8(ascii: "t"): return readWord("true")
    case UInt8(ascii: "f"): return readWord("false")
    case UInt8(ascii: "n"): return readWord("null")
    default: return readNumber()
    }
  }

  /// Reads an object or an array. The elements of an array have no names.
  private mutating func readMembers(from open: Unicode.Scalar, to close: Unicode.Scalar, depth: Int) -> Bool {
    guard depth < Self.deepest, keep(open) else { return false }
    skipSpace()
    if keep(close) { return true }
    repeat {
      skipSpace()
      if open == "{" {
        guard readString() else { return false }
        skipSpace()
        guard keep(":") else { return false }
      }
      guard readValue(depth: depth + 1) else { return false }
      skipSpace()
    } while keep(",")
    return keep(close)
  }

  private mutating func readString() -> Bool {
    guard keep("\"") else { return false }
    while let byte = next, byte >= 0x20 {
      if keep("\"") { return true }
      if keep("\\") {
        guard let escaped = next, "\"\\/bfnrtu".utf8.contains(escaped) else { return false }
        kept.append(escaped)
        place += 1
        if escaped == UInt8(ascii: "u"), !readHexadecimal(4) { return false }
      } else {
        kept.append(byte)
        place += 1
      }
    }
    return false
  }

  private mutating func readHexadecimal(_ count: Int) -> Bool {
    for _ in 0..<count {
      guard let byte = next, Character(Unicode.Scalar(byte)).isHexDigit else { return false }
      kept.append(byte)
      place += 1
    }
    return true
  }

  private mutating func readWord(_ word: String) -> Bool { word.unicodeScalars.allSatisfy { keep($0) } }

  private mutating func readNumber() -> Bool {
    _ = keep("-")
    let begin = place
    guard readDigits() else { return false }
    // Leading zeros are not allowed.
    if bytes[begin] == UInt8(ascii: "0"), place > begin + 1 { return false }
    if keep("."), !readDigits() { return false }
    if keep("e") || keep("E") {
      _ = keep("+") || keep("-")
      return readDigits()
    }
    return true
  }

  private mutating func readDigits() -> Bool {
    let begin = place
    while let byte = next, (0x30...0x39).contains(byte) {
      kept.append(byte)
      place += 1
    }
    return place > begin
  }
}
