// Tables with the folded form of each character. A page of 256 characters is computed when one of them
// first occurs.

internal import CipherSQLite

// Pointers: a text lends its UTF-8 bytes for the duration of a call, and no pointer to them outlives it.
/// The folding of single characters for one choice of options.
final class FoldTable: Sendable {
  /// The tables, indexed by the bits of the options; nil where there is nothing to fold.
  static let all: [FoldTable?] = [nil] + (1...3).map { FoldTable(StringOptions(rawValue: $0)) }

  /// The folded form of a character: the number of its UTF-8 bytes in the lowest byte, then the bytes,
  /// the first one lowest.
  private typealias Entry = UInt64
  /// Marks a character that Unicode may compose with its neighbours, or that becomes more than seven
  /// bytes.
  private static let needsContext: Entry = 0xFF

  private let options: StringOptions
  private let foldsCase: Bool
  /// The pages, indexed by the code point without its last byte; a page is empty until it is needed.
  private let pages = Locked<[[Entry]]>(Array(repeating: [], count: 0x1100))

  private init(_ options: StringOptions) {
    self.options = options
    foldsCase = options.contains(.caseInsensitive)
  }

  /// Returns the folded text; nil when the text contains a `needsContext` character, and must be folded
  /// as a whole.
  func folded(_ text: UnsafeBufferPointer<UInt8>) -> String? {
    if unsafe text.reduce(0, |) < 0x80 { return unsafe ascii(text) }
    var result: [UInt8] = []
    return unsafe append(text, to: &result) ? String(decoding: result, as: UTF8.self) : nil
  }

  /// Appends the folded text to an array.
  /// - Returns: false when the text contains a `needsContext` character or invalid UTF-8, and must be
  ///   folded as a whole.
  func append(_ text: UnsafeBufferPointer<UInt8>, to result: inout [UInt8]) -> Bool {
    result.reserveCapacity(text.count + 8)
    guard unsafe appendFolded(text, to: &result) else { return false }
    // Only ASCII bytes are capital letters here: the others are folded.
    if foldsCase {
      unsafe result.withUnsafeMutableBufferPointer { bytes in
        for index in bytes.indices { unsafe bytes[index] = Self.lowered(bytes[index]) }
      }
    }
    return true
  }

  private func appendFolded(_ text: UnsafeBufferPointer<UInt8>, to result: inout [UInt8]) -> Bool {
    var pages = pages.withLock { $0 }
    var index = 0
    while index < text.count {
      let first = unsafe text[index]
      if first < 0x80 {
        var end = index + 1
        while end < text.count, unsafe text[end] < 0x80 { end += 1 }
        unsafe result.append(contentsOf: UnsafeBufferPointer(rebasing: text[index..<end]))
        index = end
        continue
      }
      // U+4000 to U+9FFF: Chinese characters, which have neither case nor marks.
      if (0xE4...0xE9).contains(first), unsafe Self.continues(text, at: index, length: 3) {
        result.append(first)
        unsafe result.append(text[index + 1])
        unsafe result.append(text[index + 2])
        index += 3
        continue
      }
      guard let (number, length) = unsafe Self.character(text, at: index) else { return false }
      index += length
      let page = Int(number >> 8)
      if pages[page].isEmpty {
        make(page)
        pages = self.pages.withLock { $0 }
      }
      var entry = pages[page][Int(number & 0xFF)]
      let count = entry & 0xFF
      guard count != Self.needsContext else { return false }
      for _ in 0..<count {
        entry >>= 8
        result.append(UInt8(truncatingIfNeeded: entry))
      }
    }
    return true
  }

  private func ascii(_ text: UnsafeBufferPointer<UInt8>) -> String {
    unsafe String(unsafeUninitializedCapacity: text.count) { room in
      for index in text.indices { unsafe room[index] = foldsCase ? Self.lowered(text[index]) : text[index] }
      return text.count
    }
  }

  /// Returns an ASCII letter in lower case, and any other byte as it is.
  @inline(__always) static func lowered(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }

  /// Returns the character whose UTF-8 begins at an index, and its length in bytes; nil for invalid UTF-8,
  /// which other programs can write.
  private static func character(
    _ text: UnsafeBufferPointer<UInt8>, at index: Int
  ) -> (number: UInt32, length: Int)? {
    let first = unsafe text[index]
    let length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
    guard (0xC2...0xF4).contains(first), unsafe continues(text, at: index, length: length) else { return nil }
    var number = UInt32(first & (0xFF >> UInt8(length + 1)))
    for next in index + 1..<index + length { number = unsafe number << 6 | UInt32(text[next] & 0x3F) }
    // A shorter form would be the valid one.
    guard number >= (length == 3 ? 0x800 : length == 4 ? 0x10000 : 0x80), number <= 0x10FFFF else {
      return nil
    }
    return (number, length)
  }

  /// Returns whether the first byte of a character is followed by as many others as it needs.
  private static func continues(_ text: UnsafeBufferPointer<UInt8>, at index: Int, length: Int) -> Bool {
    guard index + length <= text.count else { return false }
    return unsafe text[(index + 1)..<(index + length)].allSatisfy { $0 & 0xC0 == 0x80 }
  }

  // MARK: Making a page

  private func make(_ page: Int) {
    let entries = (0..<256).map { entry(UInt32(page << 8 | $0)) }
    pages.withLock { $0[page] = entries }
  }

  private func entry(_ number: UInt32) -> Entry {
    // Surrogates do not occur in text.
    guard let scalar = Unicode.Scalar(number) else { return Self.needsContext }
    let folded = Folding.whole(String(scalar), options)
    guard folded.utf8.count <= 7, !needsContext(scalar), !folded.unicodeScalars.contains(where: needsContext)
    else {
      return Self.needsContext
    }
    return folded.utf8.reversed().reduce(0) { ($0 | Entry($1)) << 8 } | Entry(folded.utf8.count)
  }

  /// Returns whether a character may combine with its neighbours once their marks are removed: parts of
  /// Hangul syllables, and spacing marks such as the vowel signs of Indic scripts.
  private func needsContext(_ scalar: Unicode.Scalar) -> Bool {
    guard options.contains(.diacriticInsensitive) else { return false }
    switch scalar.value {
    case 0x1100...0x11FF, 0xA960...0xA97F, 0xD7B0...0xD7FF: return true
    default: return scalar.properties.generalCategory == .spacingMark
    }
  }
}
