// Assigns numbers to names when they first occur. Names are slices of a buffer; no String is made of
// them.

import Foundation

/// Names, each once, numbered from 0.
struct ByteNames {
  /// All names, one after the other.
  private var bytes: [UInt8] = []
  /// The end of each name in `bytes`, and its hash.
  private var names: [(end: Int, hash: UInt64)] = []
  /// A hash table with open addressing: the numbers of names, and -1 in free places. Its size is a power
  /// of two, and at most half of it is in use.
  private var places = [Int32](repeating: -1, count: 1024)

  var count: Int { names.count }

  /// Returns the number of a name. A new name gets the next number.
  mutating func number(of name: Slice) -> Int {
    let hash = Self.hash(name)
    var place = Int(truncatingIfNeeded: hash) & (places.count - 1)
    while places[place] >= 0 {
      let number = Int(places[place])
      if names[number].hash == hash, isName(number, name) { return number }
      place = (place + 1) & (places.count - 1)
    }
    let number = names.count
    bytes.append(contentsOf: name)
    names.append((bytes.count, hash))
    places[place] = Int32(number)
    if names.count * 2 > places.count { makeRoom() }
    return number
  }

  private func isName(_ number: Int, _ name: Slice) -> Bool {
    let start = number == 0 ? 0 : names[number - 1].end
    guard names[number].end - start == name.count else { return false }
    return bytes.withUnsafeBytes { own in
      guard let own = own.baseAddress, let name = name.baseAddress else { return true }
      return memcmp(own + start, name, names[number].end - start) == 0
    }
  }

  private mutating func makeRoom() {
    places = [Int32](repeating: -1, count: places.count * 2)
    for (number, name) in names.enumerated() {
      var place = Int(truncatingIfNeeded: name.hash) & (places.count - 1)
      while places[place] >= 0 { place = (place + 1) & (places.count - 1) }
      places[place] = Int32(number)
    }
  }

  // Eight bytes at a time are multiplied and mixed. That is enough, because package names are not chosen
  // by an attacker.
  private static func hash(_ name: Slice) -> UInt64 {
    var hash = UInt64(truncatingIfNeeded: name.count) &* 0x9E37_79B9_7F4A_7C15
    var start = 0
    while start < name.count {
      var word: UInt64 = 0
      let length = min(8, name.count - start)
      withUnsafeMutableBytes(of: &word) { word in
        word.copyMemory(from: Slice(rebasing: name[start..<(start + length)]))
      }
      hash = (hash ^ word) &* 0xFF51_AFD7_ED55_8CCD
      hash ^= hash >> 32
      start += 8
    }
    return hash
  }
}
