// Quoting and case folding of names, by SQLite's rules.

/// Returns an SQL identifier in double quotes; each double quote in it is doubled.
public func quoted(_ identifier: String) -> String {
  identifier.enclosed(in: "\"")
}

extension String {
  /// Returns the text between two quotes, with each quote in it replaced by `escaped` (by default,
  /// doubled). SQL, CSV and shells read such texts.
  ///
  /// It works on Unicode scalars, as those readers do: a quote followed by a combining mark is a
  /// different `Character` in Swift, but still ends the text.
  package func enclosed(in quote: Unicode.Scalar, escaped: String? = nil) -> String {
    let mark = String(quote)
    // Few texts contain a quote. Checking for one takes a tenth of the time of a copy.
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

  /// The text in lower case, by SQLite's rule for comparing names: only the 26 ASCII letters have a case.
  package var asciiLowercased: String {
    guard utf8.contains(where: { (0x41...0x5A).contains($0) }) else { return self }
    return String(decoding: utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
  }
}
