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

  init(number: Int, name: String, checksum: String, release: String?) {
    (self.number, self.name, self.checksum, self.release) = (number, name, checksum, release)
  }

  /// - Parameter text: What stands behind `replaces:`; nil for what is no such line.
  init?(_ text: String) {
    let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
    guard words.count == 3 || words.count > 4 && words[3] == "until", let number = Int(words[0]) else {
      return nil
    }
    (self.number, name, checksum) = (number, words[1], words[2])
    release = words.count > 4 ? words[4...].joined(separator: " ") : nil
  }
}

extension FoldedStep: CustomStringConvertible {
  /// As the header writes it.
  public var description: String {
    "\(numbered(number)) \(name) \(checksum)" + (release.map { " until \($0)" } ?? "")
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
      let words = line.split(separator: UInt8(ascii: " "), maxSplits: 4)
      guard words.count > 3, words[0].count == "replaces:".utf8.count,
        Int(Substring(words[1])) == checksums.count + 1
      else { return [] }
      checksums.append(String(Substring(words[3])))
    }
    return checksums
  }
}
