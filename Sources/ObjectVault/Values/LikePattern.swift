// Matching of LIKE patterns, in time proportional to the length of the text. A run is a part of the
// pattern between stars. For a run with question marks, the time is multiplied by a 64th of the run's
// length, rounded up.

/// A parsed LIKE pattern. `*` matches any number of characters and `?` any one code point. A backslash
/// makes the next character literal; at the end of the pattern it is literal itself.
struct LikePattern {
  let source: String
  /// The runs between the stars, in order.
  private let runs: [Run]

  init(_ source: String) {
    self.source = source
    var runs: [[UInt32?]] = [[]]
    var isEscaped = false
    for scalar in source.unicodeScalars {
      if isEscaped {
        runs[runs.count - 1].append(scalar.value)
        isEscaped = false
        continue
      }
      switch scalar {
      case "*": runs.append([])
      case "?": runs[runs.count - 1].append(nil)
      case "\\": isEscaped = true
      default: runs[runs.count - 1].append(scalar.value)
      }
    }
    // The pattern ends with a backslash, so that backslash is literal.
    if isEscaped { runs[runs.count - 1].append(UInt32(UInt8(ascii: "\\"))) }
    self.runs = runs.map { Run($0) }
  }

  /// Returns whether the whole text matches the pattern.
  func matches(_ text: String) -> Bool {
    let text = text.unicodeScalars.map(\.value)
    guard let first = runs.first, let last = runs.last, first.fits(text, at: 0) else { return false }
    if runs.count == 1 { return text.count == first.elements.count }
    var position = first.elements.count
    // The leftmost match of each run leaves the most text for the runs after it.
    for run in runs.dropFirst().dropLast() where !run.elements.isEmpty {
      guard let found = run.find(in: text, from: position) else { return false }
      position = found + run.elements.count
    }
    let end = text.count - last.elements.count
    return end >= position && last.fits(text, at: end)
  }

  /// The elements between two stars.
  private struct Run {
    /// The code points of the run; nil matches any code point.
    let elements: [UInt32?]
    /// For a run without question marks: the failure function of Knuth, Morris and Pratt.
    private let borders: [Int]?
    /// For a run with question marks: for each code point, a bit mask of the positions in the run that it
    /// matches. `anywhere` has the positions of the question marks, which every code point matches.
    private var places: [UInt32: [UInt64]] = [:]
    private var anywhere: [UInt64] = []

    init(_ elements: [UInt32?]) {
      self.elements = elements
      if elements.contains(nil) {
        borders = nil
        let words = (elements.count + 63) / 64
        anywhere = [UInt64](repeating: 0, count: words)
        for (index, element) in elements.enumerated() where element == nil {
          anywhere[index / 64] |= 1 << UInt64(index % 64)
        }
        for (index, element) in elements.enumerated() {
          guard let element else { continue }
          places[element, default: anywhere][index / 64] |= 1 << UInt64(index % 64)
        }
      } else {
        var borders = [Int](repeating: 0, count: elements.count)
        var length = 0
        for index in elements.indices.dropFirst() {
          while length > 0, elements[index] != elements[length] { length = borders[length - 1] }
          if elements[index] == elements[length] { length += 1 }
          borders[index] = length
        }
        self.borders = borders
      }
    }

    func fits(_ text: [UInt32], at start: Int) -> Bool {
      guard start >= 0, text.count - start >= elements.count else { return false }
      return elements.indices.allSatisfy { elements[$0] == nil || elements[$0] == text[start + $0] }
    }

    /// Returns the first index from `start` on at which the run matches.
    func find(in text: [UInt32], from start: Int) -> Int? {
      guard let borders else { return findByBits(in: text, from: start) }
      // The algorithm of Knuth, Morris and Pratt.
      var length = 0
      for index in start..<max(start, text.count) {
        while length > 0, elements[length] != text[index] { length = borders[length - 1] }
        if elements[length] == text[index] { length += 1 }
        if length == elements.count { return index + 1 - length }
      }
      return nil
    }

    /// Searches by shift-and: bit `i` of the state is set if the first `i + 1` elements of the run match
    /// the text that ends at the current index.
    private func findByBits(in text: [UInt32], from start: Int) -> Int? {
      var state = [UInt64](repeating: 0, count: anywhere.count)
      let (lastWord, lastBit) = ((elements.count - 1) / 64, UInt64((elements.count - 1) % 64))
      for index in start..<max(start, text.count) {
        let mask = places[text[index]] ?? anywhere
        var carry: UInt64 = 1
        for word in state.indices {
          let next = state[word] >> 63
          state[word] = (state[word] << 1 | carry) & mask[word]
          carry = next
        }
        if state[lastWord] >> lastBit & 1 == 1 { return index + 1 - elements.count }
      }
      return nil
    }
  }
}
