// The functions of libcrypto, checked with the vectors of their specifications.

import CipherSQLite
import Testing

@Suite(.tags(.pure)) struct PrimitiveVectors {
  static func bytes(_ hex: String) -> [UInt8] {
    stride(from: 0, to: hex.count, by: 2).map { offset in
      let start = hex.index(hex.startIndex, offsetBy: offset)
      return UInt8(hex[start..<hex.index(start, offsetBy: 2)], radix: 16) ?? 0
    }
  }

  static func secure(_ hex: String) throws -> SecureBytes { try SecureBytes(copying: bytes(hex)) }

  @Test(arguments: [
    (
      "password", "NaCl", 10, 8, 16,
      "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"
        + "2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640"
    ),
    (
      "pleaseletmein", "SodiumChloride", 14, 8, 1,
      "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
        + "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887"
    ),
  ])
  func `scrypt gives the values of RFC 7914`(
    _ secret: String, _ salt: String, _ logN: Int, _ r: Int, _ p: Int, _ expected: String
  ) throws {
    let work = try #require(ScryptWork(logN: logN, r: r, p: p))
    let key = try SecureBytes(copying: Array(secret.utf8)).withBytes {
      try Primitives.scrypt($0, salt: Array(salt.utf8), work: work, count: 64)
    }
    #expect(key.withBytes { Array($0) } == Self.bytes(expected))
  }

  @Test func `HKDF gives the value of the first case of RFC 5869`() throws {
    let key = try Self.secure(String(repeating: "0b", count: 22)).withBytes {
      try Primitives.hkdf(
        $0, salt: Self.bytes("000102030405060708090a0b0c"), info: Self.bytes("f0f1f2f3f4f5f6f7f8f9"),
        count: 42)
    }
    #expect(
      key.withBytes { Array($0) }
        == Self.bytes("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"))
  }

  @Test func `HMAC-SHA256 gives the value of the second case of RFC 4231`() throws {
    let mac = Primitives.hmac(Array("what do ya want for nothing?".utf8), key: try Self.secure("4a656665"))
    #expect(mac == Self.bytes("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"))
  }

  @Test func `AES-256-GCM gives test case 16 of its specification, and refuses any change`() throws {
    let key = try Self.secure("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308")
    let nonce = Self.bytes("cafebabefacedbaddecaf888")
    let plain = Self.bytes(
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
        + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39")
    let associated = Self.bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2")
    let sealed = try Primitives.seal(
      SecureBytes(copying: plain), key: key, nonce: nonce, associated: associated)
    #expect(
      sealed
        == Self.bytes(
          "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
            + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b"))
    let opened = try Primitives.open(sealed, key: key, nonce: nonce, associated: associated)
    #expect(opened?.withBytes { Array($0) } == plain)
    for index in sealed.indices {
      var changed = sealed
      changed[index] ^= 1
      #expect(try Primitives.open(changed, key: key, nonce: nonce, associated: associated) == nil)
    }
    #expect(try Primitives.open(sealed, key: key, nonce: nonce, associated: associated + [0]) == nil)
  }
}
