// Names of tables and columns, as SQLite writes and compares them.

/// An SQL identifier in double quotes, with every quote in it doubled.
public func quoted(_ identifier: String) -> String {
  identifier.enclosed(in: "\"")
}

extension String {
  /// The text between two quotes, with every quote in it in another form, doubled where nothing else is said: as SQL, CSV and
  /// shells read it. They read scalars: a quote with a mark behind it is another character of Swift's, and ends the text all
  /// the same.
  package func enclosed(in quote: Unicode.Scalar, escaped: String? = nil) -> String {
    let mark = String(quote)
    // Few texts hold a quote, and looking for one takes a tenth of the time of replacing none.
    return mark + (unicodeScalars.contains(quote) ? replacing(quote, with: escaped ?? mark + mark) : self)
      + mark
  }

  private func replacing(_ quote: Unicode.Scalar, with other: String) -> String {
    var result = String.UnicodeScalarView()
    for scalar in unicodeScalars {
      if scalar == quote { result.append(contentsOf: other.unicodeScalars) } else { result.append(scalar) }
    }
    return String(result)
  }

  /// As SQLite compares names: only the 26 letters of ASCII have a case.
  package var asciiLowercased: String {
    guard utf8.contains(where: { (0x41...0x5A).contains($0) }) else { return self }
    return String(decoding: utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
  }
}
