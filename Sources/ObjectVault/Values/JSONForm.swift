// Checks that JSON has the form in which this library stores it. Comparisons are of the text, so they do
// not find JSON in another form.

private import Foundation

enum JSONForm {
  /// Returns whether a text is JSON without white space between its parts, without escaped slashes, and
  /// with the keys of each object in order.
  static func isStored(_ text: String) -> Bool {
    guard (try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)) != nil else {
      return false
    }
    let bytes = Array(text.utf8)
    // For each open object or array: whether it is an object, whether a key is next, and the last key.
    var open: [(isObject: Bool, isKeyNext: Bool, key: [UInt8]?)] = []
    var index = 0
    while index < bytes.count {
      switch bytes[index] {
      // JSONSerialization accepts a trailing comma, which is never stored.
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if index > 0, bytes[index - 1] == UInt8(ascii: ",") { return false }
        open.removeLast()
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): return false
      case UInt8(ascii: "{"): open.append((true, true, nil))
      case UInt8(ascii: "["): open.append((false, false, nil))
      case UInt8(ascii: ","): if open.last?.isObject == true { open[open.count - 1].isKeyNext = true }
      case UInt8(ascii: "\""):
        let start = index
        index += 1
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
          if bytes[index] == UInt8(ascii: "\\") {
            index += 1
            // JSON is stored without escaped slashes.
            if index < bytes.count, bytes[index] == UInt8(ascii: "/") { return false }
          }
          index += 1
        }
        guard open.last?.isKeyNext == true else { break }
        guard let key = key(bytes[start..<min(index + 1, bytes.count)]) else { return false }
        // Keys are in the order of their UTF-8, which differs from the order of Swift strings.
        if let last = open[open.count - 1].key, !last.lexicographicallyPrecedes(key) { return false }
        open[open.count - 1].key = key
        open[open.count - 1].isKeyNext = false
      default: break
      }
      index += 1
    }
    return true
  }

  private static func key(_ literal: ArraySlice<UInt8>) -> [UInt8]? {
    if !literal.contains(UInt8(ascii: "\\")) { return Array(literal.dropFirst().dropLast()) }
    let text = try? JSONSerialization.jsonObject(with: Data(literal), options: .fragmentsAllowed) as? String
    return text.map { Array($0.utf8) }
  }
}
