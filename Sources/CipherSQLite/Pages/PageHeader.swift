// Reads SQLite's own header in the first page of an encrypted file, without the engine.

private import CLibCrypto

/// The fields of the header that are needed without opening the file. Format: SQLite's "Database File
/// Format", 1.3.
struct PageHeader {
  /// Whether the file is read and written with a write-ahead log.
  let isWriteAheadLogged: Bool

  /// Decrypts the header.
  /// - Parameters:
  ///   - file: The file.
  ///   - key: Its key and settings.
  ///   - reserved: Bytes at the end of each page for IV and HMAC; the IV is first.
  /// - Returns: nil when the result is no valid header: the key does not fit.
  init?(of file: borrowing RawFile, _ key: UnlockedKey, reserved: Int) {
    let size = key.profile.pageBytes
    guard let page = file.read(size, at: 0) else { return nil }
    let bytes: [UInt8]
    if key.profile.clearHeaderBytes > 0 {
      bytes = Array(page[16..<32])
    } else {
      // The first 16 bytes are the salt. The ciphertext begins with the second block, chained to the IV.
      let initial = page[(size - reserved)..<(size - reserved + 16)]
      guard let block = key.decrypted(Array(page[16..<32]), initial: Array(initial)) else { return nil }
      bytes = block
    }
    let pageBytes = Int(bytes[0]) << 8 + Int(bytes[1])
    // Page size, the two versions, the reserved bytes, and three numbers that are equal in every file.
    guard pageBytes == size || pageBytes == 1 && size == 65_536, (1...2).contains(bytes[2]),
      (1...2).contains(bytes[3]), Int(bytes[4]) == reserved, bytes[5...7].elementsEqual([64, 32, 32])
    else { return nil }
    isWriteAheadLogged = bytes[3] == 2
  }
}

extension UnlockedKey {
  /// Decrypts one block of AES-256-CBC; nil when libcrypto fails.
  fileprivate func decrypted(_ block: [UInt8], initial: [UInt8]) -> [UInt8]? {
    let context = unsafe EVP_CIPHER_CTX_new()
    defer { unsafe EVP_CIPHER_CTX_free(context) }
    return unsafe bytes.withBytes { key in
      var (output, count) = ([UInt8](repeating: 0, count: 32), Int32(0))
      let keyBytes = unsafe key.baseAddress?.assumingMemoryBound(to: UInt8.self)
      guard unsafe EVP_DecryptInit_ex(context, EVP_aes_256_cbc(), nil, keyBytes, initial) == 1,
        unsafe EVP_CIPHER_CTX_set_padding(context, 0) == 1,
        unsafe EVP_DecryptUpdate(context, &output, &count, block, Int32(block.count)) == 1, count == 16
      else { return nil }
      return Array(output.prefix(16))
    }
  }
}
