// A secret for paper: 152 random bits and a checksum that distinguishes a typing error from a wrong code.

/// A recovery code: 8 groups of 4 letters and digits, shown once.
public struct RecoveryCode: Sendable {
  private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
  /// 19 random bytes.
  let secret: SecureBytes

  /// Generates a new code.
  /// - Throws: As ``SecureBytes/random(count:)``.
  public static func random() throws(SQLError) -> RecoveryCode {
    RecoveryCode(secret: try .random(count: 19))
  }

  private init(secret: SecureBytes) { self.secret = secret }

  /// Parses a code that a user typed. Spaces, tabs, line feeds, hyphens and the case are ignored; O is
  /// read as 0, I and L as 1.
  /// - Parameter text: The code.
  /// - Throws: As ``SecureBytes/init(copying:)``; ``SQLError/recoveryCode(reason:)`` when the text has
  ///   another length, a character that no code has, or a checksum that does not match. Such a text was
  ///   mistyped: it is the code of no file.
  public init(typed text: String) throws(SQLError) {
    var digits: [UInt8] = []
    for byte in text.uppercased().utf8 where !Array(" -\n\t".utf8).contains(byte) {
      let plain: UInt8 =
        switch byte {
        case UInt8(ascii: "O"): UInt8(ascii: "0")
        case UInt8(ascii: "I"), UInt8(ascii: "L"): UInt8(ascii: "1")
        default: byte
        }
      guard let value = Self.alphabet.firstIndex(of: plain) else {
        throw SQLError.recoveryCode(reason: "it has a character that no code has")
      }
      digits.append(UInt8(value))
    }
    guard digits.count == 32 else {
      throw SQLError.recoveryCode(reason: "it has \(digits.count) letters and digits instead of 32")
    }
    // 8 digits of 5 bits are 5 bytes.
    var bytes: [UInt8] = []
    for group in stride(from: 0, to: 32, by: 8) {
      let bits = digits[group..<group + 8].reduce(UInt64(0)) { $0 << 5 | UInt64($1) }
      for shift in stride(from: 32, through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift)))
      }
    }
    defer {
      for index in bytes.indices { bytes[index] = 0 }
      for index in digits.indices { digits[index] = 0 }
    }
    guard Primitives.sha256(Array(bytes.prefix(19)))[0] == bytes[19] else {
      throw SQLError.recoveryCode(reason: "a letter or digit is wrong, or two are swapped")
    }
    secret = try SecureBytes(copying: bytes.prefix(19))
  }

  /// Returns the code for display, `7Q2M-…`. The caller shows it once and does not store it.
  public func text() -> String {
    var bytes = unsafe secret.withBytes { unsafe Array($0) }
    bytes.append(Primitives.sha256(bytes)[0])
    var text = ""
    for group in stride(from: 0, to: 20, by: 5) {
      let bits = bytes[group..<group + 5].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      for shift in stride(from: 35, through: 0, by: -5) {
        if text.utf8.count % 5 == 4 { text += "-" }
        text.unicodeScalars.append(Unicode.Scalar(Self.alphabet[Int(bits >> UInt64(shift) & 31)]))
      }
    }
    return text
  }
}

extension RecoveryCode: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The kind of value, never the code.
  public var description: String { "recovery code" }
  /// The kind of value, never the code.
  public var debugDescription: String { description }
  /// A mirror without children, so that a dump shows no code.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
