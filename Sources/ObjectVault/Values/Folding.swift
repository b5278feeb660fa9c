// Folding for the options [c] and [d]: full Unicode case folding and removal of marks, without a locale,
// and with equal results on every engine.
//
// The folded form of a character does not depend on its neighbours, except for parts from which Unicode
// composes one character. So FoldTable has the folded form of each character, and only a text with such
// parts is folded as a whole.

private import Foundation

package enum Folding {
  /// The version of the folding, which changes with the release of Unicode that the system has: 1 is that of
  /// the rules in this file. Computed once, in a few milliseconds.
  static let version: String = {
    // Letters and marks are added to the first two planes, of which each release assigns characters.
    let newest = (0..<0x2_0000 as Range<UInt32>).reduce((major: 0, minor: 0)) { newest, number in
      guard let age = Unicode.Scalar(number)?.properties.age, age > newest else { return newest }
      return age
    }
    return "1, Unicode \(newest.major).\(newest.minor)"
  }()

  /// Returns the text without case, marks or both. Costs about a nanosecond for each byte.
  package static func fold(_ text: String, _ options: StringOptions) -> String {
    var text = text
    guard let table = FoldTable.all[options.rawValue & 3] else { return text }
    return text.withUTF8 { unsafe table.folded($0) } ?? whole(text, options)
  }

  /// Appends the folded form of a text to an array.
  /// - Parameters:
  ///   - text: The UTF-8 bytes of the text.
  ///   - result: The array, which is empty.
  static func fold(_ text: UnsafeBufferPointer<UInt8>, _ options: StringOptions, into result: inout [UInt8]) {
    guard let table = FoldTable.all[options.rawValue & 3] else {
      return unsafe result.append(contentsOf: text)
    }
    if unsafe table.append(text, to: &result) { return }
    result = unsafe Array(whole(String(decoding: text, as: UTF8.self), options).utf8)
  }

  /// Returns whether the folded form of a text contains a pattern.
  /// - Parameters:
  ///   - text: The UTF-8 bytes of the text.
  ///   - pattern: Those of the pattern, which is folded.
  static func contains(
    _ text: UnsafeBufferPointer<UInt8>, pattern: UnsafeBufferPointer<UInt8>, options: StringOptions
  ) -> Bool {
    // Most texts are short enough for the stack.
    if text.count <= 1024, unsafe text.reduce(0, |) < 0x80, options.contains(.caseInsensitive) {
      return unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: text.count) { room in
        for index in text.indices { unsafe room[index] = FoldTable.lowered(text[index]) }
        return unsafe contains(UnsafeBufferPointer(room), pattern: pattern)
      }
    }
    var folded: [UInt8] = []
    unsafe fold(text, options, into: &folded)
    return unsafe folded.withUnsafeBufferPointer { unsafe contains($0, pattern: pattern) }
  }

  private static func contains(
    _ text: UnsafeBufferPointer<UInt8>, pattern: UnsafeBufferPointer<UInt8>
  ) -> Bool {
    guard let first = unsafe pattern.first else { return true }
    guard text.count >= pattern.count, let start = text.baseAddress, let wanted = pattern.baseAddress else {
      return false
    }
    var place = unsafe start
    // The last place where the pattern has room.
    let end = unsafe start + (text.count - pattern.count)
    while unsafe place <= end,
      let found = unsafe memchr(place, Int32(first), end - place + 1)?.assumingMemoryBound(to: UInt8.self)
    {
      if unsafe memcmp(found, wanted, pattern.count) == 0 { return true }
      unsafe place = UnsafePointer(found) + 1
    }
    return false
  }

  /// Compares the folded forms of two texts by their bytes.
  /// - Parameters:
  ///   - left: The UTF-8 bytes of a text.
  ///   - right: Those of the other one.
  /// - Returns: A negative number, 0 or a positive number.
  static func compare(
    _ left: UnsafeRawBufferPointer, with right: UnsafeRawBufferPointer, _ options: StringOptions
  ) -> Int {
    // The folded form of an ASCII character does not depend on its neighbours. So texts that differ in
    // one are compared without being folded.
    let isLowered = options.contains(.caseInsensitive)
    let count = min(left.count, right.count)
    var index = 0
    while index < count {
      let (a, b) = unsafe (left[index], right[index])
      if a | b >= 0x80 { return unsafe compareWhole(left, with: right, options) }
      if a != b {
        let (a, b) = isLowered ? (FoldTable.lowered(a), FoldTable.lowered(b)) : (a, b)
        if a != b { return Int(a) - Int(b) }
      }
      index += 1
    }
    // What follows in the longer text may be marks, which are ignored.
    let rest = unsafe UnsafeRawBufferPointer(rebasing: (left.count > count ? left : right)[count...])
    if let next = unsafe rest.first, next >= 0x80 { return unsafe compareWhole(left, with: right, options) }
    return left.count - right.count
  }

  /// Compares the folded forms of two texts, given as UTF-8, by their bytes.
  package static func compare(_ left: [UInt8], with right: [UInt8], _ options: StringOptions) -> Int {
    unsafe left.withUnsafeBytes { left in
      unsafe right.withUnsafeBytes { unsafe compare(left, with: $0, options) }
    }
  }

  private static func compareWhole(
    _ left: UnsafeRawBufferPointer, with right: UnsafeRawBufferPointer, _ options: StringOptions
  ) -> Int {
    var (a, b): ([UInt8], [UInt8]) = ([], [])
    unsafe fold(left.bindMemory(to: UInt8.self), options, into: &a)
    unsafe fold(right.bindMemory(to: UInt8.self), options, into: &b)
    if a == b { return 0 }
    return a.lexicographicallyPrecedes(b) ? -1 : 1
  }

  /// Folds the text as a whole, by the definition of the two options.
  static func whole(_ text: String, _ options: StringOptions) -> String {
    var result = text
    if options.contains(.diacriticInsensitive) {
      let marks = result.decomposedStringWithCanonicalMapping.unicodeScalars.filter {
        $0.properties.generalCategory != .nonspacingMark
      }
      var scalars = String.UnicodeScalarView()
      scalars.append(contentsOf: marks)
      // Composed again, so that a Hangul syllable is one code point. Its parts alone would match the
      // beginning of other syllables.
      result = String(scalars).precomposedStringWithCanonicalMapping
    }
    if options.contains(.caseInsensitive) { result = foldCase(result) }
    return result
  }

  // Full case folding: to lower case (ẞ becomes ß), upper case (SS) and lower case again (ss). The
  // dotless i is not mapped to upper case, because i has the same upper case.
  private static func foldCase(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      if scalar.value < 0x80 || scalar == "\u{131}" {
        result.unicodeScalars.append(contentsOf: scalar.properties.lowercaseMapping.unicodeScalars)
        continue
      }
      for lower in scalar.properties.lowercaseMapping.unicodeScalars {
        for upper in lower.properties.uppercaseMapping.unicodeScalars {
          result.unicodeScalars.append(contentsOf: upper.properties.lowercaseMapping.unicodeScalars)
        }
      }
    }
    return result
  }
}
