// What a step remembers of those that were folded into it. How a set stands with them is in MigrationSet+Folds.

/// A step that was folded into another one, as the header of that names it: `replaces: 0001 initial s1:… until 4.1`.
public struct FoldedStep: Sendable, Hashable {
  /// Its number.
  public let number: Int
  /// Its name.
  public let name: String
  /// The checksum by which stores know it.
  public let checksum: String
  /// The last release that has the step itself, where it is known.
  public let release: String?

  package init(number: Int, name: String, checksum: String, release: String?) {
    (self.number, self.name, self.checksum, self.release) = (number, name, checksum, release)
  }

  /// - Parameter text: What stands behind `replaces:`; nil for what is no such line.
  init?(_ text: String) {
    // The name of a file may have spaces in it; the checksum stands behind it.
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

  /// A name as the header writes it: in quotes where it would else lose a space at an end, or quotes of its own.
  private static func quoted(_ name: String) -> String {
    let isPlain =
      name.first?.isWhitespace == false && name.last?.isWhitespace == false && unquoted(name[...]) == nil
    return isPlain ? name : "\"\(name)\""
  }

  private static func unquoted(_ text: Substring) -> String? {
    text.count > 1 && text.hasPrefix("\"") && text.hasSuffix("\"") ? String(text.dropFirst().dropLast()) : nil
  }

  /// What a checksum begins with.
  private static let mark = "s1:"

  private static func words(_ text: Substring) -> [String] {
    text.split(whereSeparator: \.isWhitespace).map(String.init)
  }
}

extension FoldedStep: CustomStringConvertible {
  /// As the header writes it.
  public var description: String {
    "\(numbered(number)) \(Self.quoted(name)) \(checksum)" + (release.map { " until \($0)" } ?? "")
  }
}

extension FoldedStep {
  /// The checksums of the steps that a file replaces, in their order, without reading the file: a store that has been through
  /// them opens by these. By bytes, as there is a line for each step.
  /// - Returns: Empty where a line is not as ``description`` writes it; who reads the file tells what is wrong.
  static func checksums(inHeadOf text: String) -> [String] {
    var checksums: [String] = []
    for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
      if line.first == UInt8(ascii: "[") { break }
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
