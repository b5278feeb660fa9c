// Names of tables and columns, as SQLite writes and compares them.

/// An SQL identifier in double quotes, with every quote in it doubled.
public func quoted(_ identifier: String) -> String {
  // Few names hold a quote, and looking for one takes a tenth of the time of replacing none.
  let isPlain = !identifier.utf8.contains(UInt8(ascii: "\""))
  return "\"" + (isPlain ? identifier : identifier.replacing("\"", with: "\"\"")) + "\""
}

extension String {
  /// As SQLite compares names: only the 26 letters of ASCII have a case.
  package var asciiLowercased: String {
    guard utf8.contains(where: { (0x41...0x5A).contains($0) }) else { return self }
    return String(decoding: utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
  }
}
