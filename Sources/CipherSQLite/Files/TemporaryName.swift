// The names of files that are being built. A name proves that this library made it, so a user's file with
// a similar name is never touched.

private import Foundation

/// Temporary names: `NAME.new-` and 16 hexadecimal digits, of which 12 are random, and 4 are derived from
/// these and NAME.
package enum TemporaryName {
  private static let mark = ".new-"
  private static let digits = (random: 12, proof: 4)
  /// How many bytes longer a temporary name is than its final name.
  static var addedBytes: Int { mark.utf8.count + digits.random + digits.proof }
  /// `NAME_MAX` of the usual file systems.
  private static let maximumBytes = 255

  /// Returns a new temporary name for a file that is to be called `name`.
  package static func random(for name: String) throws -> String {
    guard let bytes = randomBytes(digits.random / 2) else {
      throw SQLError.system(file: name, operation: "RAND_bytes", code: 0)
    }
    let chance = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let room = maximumBytes - mark.utf8.count - digits.random - digits.proof - 8
    var base = name
    // Cut by whole characters: a name that is cut within a character would not be UTF-8.
    while base.utf8.count > room { base.removeLast() }
    return base + mark + chance + proof(base: base, chance: chance)
  }

  /// Whether a name was made by ``random(for:)``, or is that of a journal, log or index of such a file.
  package static func isOurs(_ name: String) -> Bool { base(of: name) != nil }

  /// Returns the final name of a file with a temporary name, possibly shortened to fit; nil for any other
  /// name.
  static func base(of name: String) -> String? {
    var name = Substring(name)
    if let suffix = DatabasePath.companionSuffixes.first(where: name.hasSuffix) {
      name = name.dropLast(suffix.count)
    }
    guard let range = name.range(of: mark, options: .backwards) else { return nil }
    let (base, digits) = (name[..<range.lowerBound], name[range.upperBound...])
    guard digits.utf8.count == Self.digits.random + Self.digits.proof,
      digits.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
    else { return nil }
    return digits.suffix(Self.digits.proof) == proof(base: base, chance: digits.prefix(Self.digits.random))
      ? String(base) : nil
  }

  private static func proof(base: some StringProtocol, chance: some StringProtocol) -> String {
    String(sha256(Array("ObjectVault temporary\0\(base)\0\(chance)".utf8)).prefix(digits.proof))
  }
}

extension DatabasePath {
  /// Returns the path of a file in this folder under a temporary name; errors still name this path.
  func temporary(_ name: String) -> DatabasePath { DatabasePath(temporary: sibling(name), of: self) }
}
