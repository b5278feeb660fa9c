// A step that was folded (squashed) into a later one, as the header of the later step records it.
// MigrationSet+Folds relates the steps of a set to folded ones.

/// A step that was folded into a later one. A line in the header of the later step has this form:
/// `replaces: 0001 initial s1:… until 4.1`.
public struct FoldedStep: Sendable, Hashable {
  /// The number of the step.
  public let number: Int
  /// The name of the step.
  public let name: String
  /// The checksum that stores recorded for the step.
  public let checksum: String
  /// The last release that has the step itself; nil if it is unknown.
  public let release: String?

  package init(number: Int, name: String, checksum: String, release: String?) {
    (self.number, self.name, self.checksum, self.release) = (number, name, checksum, release)
  }

  /// Parses the text after `replaces:`; returns nil for text in another form.
  init?(_ text: String) {
    // The step's name may contain spaces, so the checksum after it is found from the end.
    let checksum = text.indices.last {
      text[$0].isWhitespace && text[text.index(after: $0)...].hasPrefix(Self.mark)
    }
    guard let checksum else { return nil }
    let (front, words) = (text[..<checksum].drop(while: \.isWhitespace), Self.words(text[checksum...]))
    let digits = front.prefix { !$0.isWhitespace }
    let (name, parts) = (front[digits.endIndex...].dropFirst(), Self.words(front[digits.endIndex...]))
    guard words.count == 1 || words.count > 2 && words[1] == "until", let number = Int(digits), !parts.isEmpty
    else { return nil }
    self.number = number
    self.name = Self.unquoted(name) ?? (parts.count == 1 ? parts[0] : String(name))
    self.checksum = words[0]
    release = words.count > 2 ? words[2...].joined(separator: " ") : nil
  }

  /// Returns the name for the header: in quotes if it begins or ends with a space, or has quotes around
  /// it.
  private static func quoted(_ name: String) -> String {
    let isPlain =
      name.first?.isWhitespace == false && name.last?.isWhitespace == false && unquoted(name[...]) == nil
    return isPlain ? name : "\"\(name)\""
  }

  private static func unquoted(_ text: Substring) -> String? {
    text.count > 1 && text.hasPrefix("\"") && text.hasSuffix("\"") ? String(text.dropFirst().dropLast()) : nil
  }

  /// The prefix of every checksum.
  private static let mark = "s1:"

  private static func words(_ text: Substring) -> [String] {
    text.split(whereSeparator: \.isWhitespace).map(String.init)
  }
}

extension FoldedStep: CustomStringConvertible {
  /// The text that the header has after `replaces:`.
  public var description: String {
    "\(numbered(number)) \(Self.quoted(name)) \(checksum)" + (release.map { " until \($0)" } ?? "")
  }
}

extension FoldedStep {
  /// Returns the checksums of the steps that a file replaces, in their order, without parsing the file.
  /// Opening a store compares these checksums with those that the store recorded. The function works on
  /// bytes, for speed: the header has a line for each replaced step, and so may have many.
  /// - Returns: An empty array if the file replaces no steps, or if the text after `replaces:` is not in
  ///   the form of ``description``. In the second case the file is parsed later: parsing accepts other
  ///   spacing and reports errors.
  static func checksums(inHeadOf text: String) -> [String] {
    var checksums: [String] = []
    for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
      if line.first == UInt8(ascii: "[") { break }
      let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
      guard line.starts(with: "replaces:".utf8) else { continue }
      let words = line.split(separator: UInt8(ascii: " "))
      guard words.count > 3, words[0].count == "replaces:".utf8.count,
        Int(Substring(words[1])) == checksums.count + 1,
        let checksum = words.dropFirst(3).last(where: { $0.starts(with: mark.utf8) })
      else { return [] }
      checksums.append(String(Substring(checksum)))
    }
    return checksums
  }
}
