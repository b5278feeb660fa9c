// The option `--cipher`, for settings that a file does not record, and `--new-cipher`, for the settings
// of a new file.

import CipherSQLite
import Foundation

/// Cipher settings in the form of the options: `sqlcipher4,rounds=500000,page=8192`.
struct CipherSettings {
  let profile: CipherProfile
  /// The salt of a file whose header is in clear. It is not secret.
  let salt: [UInt8]?

  /// The syntax of the settings, for the help.
  static let help =
    "sqlcipher3 or sqlcipher4, or page=BYTES, rounds=N, hmac=HASH, kdf=HASH, header=BYTES, salt=HEX"

  /// Returns the settings that an option gives; nil without the option.
  /// - Throws: ``UsageError``, which names the part that is wrong.
  static func given(_ option: String, in arguments: Arguments) throws -> CipherSettings? {
    try arguments.value(option).map { try CipherSettings($0, option: option) }
  }

  /// Parses settings.
  /// - Throws: ``UsageError``, which names the part that is wrong.
  init(_ text: String, option: String) throws {
    var profile = CipherProfile.engineDefault
    var salt: [UInt8]?
    var seen: Set<String> = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let words = part.split(separator: "=", maxSplits: 1).map(String.init)
      try Self.check(words.first ?? "", seen: seen, option: option)
      seen.insert(words.first ?? "")
      switch (words.first ?? "", words.count > 1 ? words[1] : nil) {
      case ("sqlcipher3", nil): profile = .sqlcipher3
      case ("sqlcipher4", nil): profile = .sqlcipher4
      case ("page", let value?): profile.pageBytes = try Self.number(value, option: option, part: part)
      case ("rounds", let value?): profile.rounds = try Self.number(value, option: option, part: part)
      case ("header", let value?):
        profile.clearHeaderBytes = try Self.number(value, option: option, part: part)
      case ("hmac", let value?): profile.hash = try Self.hash(value, option: option, part: part)
      case ("kdf", let value?): profile.derivationHash = try Self.hash(value, option: option, part: part)
      case ("salt", let value?):
        guard let bytes = decodedHex(Array(value.utf8)), bytes.count == 16 else {
          throw UsageError("\(option): a salt is 32 hexadecimal digits, not \"\(value)\".")
        }
        salt = bytes
      case (let name, _):
        let known = ["sqlcipher3", "sqlcipher4", "page", "rounds", "hmac", "kdf", "header", "salt"]
        throw UsageError(
          "\(option) takes a comma-separated list of \(Self.help). It does not take \"\(part)\"."
            + didYouMean(name, among: known))
      }
    }
    self.profile = profile
    self.salt = salt
  }

  /// Returns the option that a file with these settings needs to open; nil when it needs none.
  static func option(for profile: CipherProfile) -> String? {
    let usual: CipherProfile = profile.derivationHash == .sha1 ? .sqlcipher3 : .sqlcipher4
    var parts: [String] = []
    if profile.rounds != usual.rounds { parts.append("rounds=\(profile.rounds)") }
    if profile.hash != usual.hash { parts.append("hmac=\(profile.hash.rawValue.lowercased())") }
    if profile.derivationHash != usual.derivationHash {
      parts.append("kdf=\(profile.derivationHash.rawValue.lowercased())")
    }
    if profile.clearHeaderBytes > 0 { parts.append("header=\(profile.clearHeaderBytes),salt=HEX") }
    guard !parts.isEmpty else { return nil }
    return "--cipher " + (usual == .sqlcipher3 ? "sqlcipher3," : "sqlcipher4,") + parts.joined(separator: ",")
  }

  /// Checks that no part is given twice, as one of them would be ignored silently, and that the version
  /// is first, as it would reset the parts before it.
  private static func check(_ name: String, seen: Set<String>, option: String) throws {
    guard !seen.contains(name) else {
      throw UsageError("\(option) has \(name) twice. Remove one of them.")
    }
    guard !name.hasPrefix("sqlcipher") || seen.isEmpty else {
      throw UsageError(
        "\(option): write \(name) first and only once, then the settings that differ from its defaults.")
    }
  }

  private static func number(_ text: String, option: String, part: Substring) throws -> Int {
    guard let number = Int(text), number >= 0 else {
      throw UsageError("\(option): \"\(part)\" needs a number after the equals sign.")
    }
    return number
  }

  private static func hash(_ text: String, option: String, part: Substring) throws -> CipherProfile.Hash {
    guard let hash = CipherProfile.Hash(rawValue: text.uppercased()) else {
      throw UsageError("\(option): \"\(part)\" needs sha1, sha256 or sha512 after the equals sign.")
    }
    return hash
  }
}

/// Returns the bytes that hexadecimal digits represent; nil for any other text.
func decodedHex(_ digits: [UInt8]) -> [UInt8]? {
  guard digits.count.isMultiple(of: 2) else { return nil }
  var result: [UInt8] = []
  for index in stride(from: 0, to: digits.count, by: 2) {
    guard let high = Character(Unicode.Scalar(digits[index])).hexDigitValue,
      let low = Character(Unicode.Scalar(digits[index + 1])).hexDigitValue
    else { return nil }
    result.append(UInt8(high * 16 + low))
  }
  return result
}
