// The cryptographic primitives that key files need, all implemented by libcrypto. Visible in the package,
// so that tests can check them against the test vectors of their specifications.

private import CLibCrypto
private import Foundation

// Buffers are passed to a call with their own counts, and no call keeps them; contexts are freed where
// they are created.
package enum Primitives {
  /// Derives a key with scrypt (RFC 7914).
  /// - Parameters:
  ///   - secret: The passphrase.
  ///   - salt: Any bytes.
  ///   - work: The costs; memory is 128 · N · r bytes.
  ///   - count: Bytes of the result.
  package static func scrypt(
    _ secret: UnsafeRawBufferPointer, salt: [UInt8], work: ScryptWork, count: Int = 32
  ) throws -> SecureBytes {
    try unsafe SecureBytes(count: count) { output in
      let done = unsafe EVP_PBE_scrypt(
        secret.baseAddress?.assumingMemoryBound(to: CChar.self), secret.count, salt, salt.count,
        UInt64(1) << UInt64(work.logN), UInt64(work.r), UInt64(work.p),
        // The memory that scrypt needs, and some more for its working blocks.
        UInt64(work.memoryBytes) + (8 << 20),
        output.baseAddress?.assumingMemoryBound(to: UInt8.self), count)
      // The costs are within their ranges, so only memory can be missing; libcrypto does not report the
      // cause.
      guard done == 1 else {
        throw SQLError.system(
          file: "key file",
          operation: "allocating the \(work.memoryBytes >> 20) MiB of memory that \(work) needs",
          code: Int(ENOMEM))
      }
    }
  }

  /// Derives a key with HKDF and SHA-256 (RFC 5869), extract and expand.
  package static func hkdf(
    _ secret: UnsafeRawBufferPointer, salt: [UInt8], info: [UInt8], count: Int = 32
  ) throws -> SecureBytes {
    try unsafe SecureBytes(count: count) { output in
      let context = unsafe EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nil)
      defer { unsafe EVP_PKEY_CTX_free(context) }
      var length = count
      let isDone =
        unsafe EVP_PKEY_derive_init(context) == 1
        && EVP_PKEY_CTX_set_hkdf_md(context, EVP_sha256()) == 1
        && EVP_PKEY_CTX_set1_hkdf_salt(context, salt, Int32(salt.count)) == 1
        && EVP_PKEY_CTX_set1_hkdf_key(
          context, secret.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(secret.count)) == 1
        && EVP_PKEY_CTX_add1_hkdf_info(context, info, Int32(info.count)) == 1
        && EVP_PKEY_derive(context, output.baseAddress?.assumingMemoryBound(to: UInt8.self), &length) == 1
      guard isDone, length == count else {
        throw SQLError.system(file: "key file", operation: "HKDF", code: 0)
      }
    }
  }

  /// Computes HMAC-SHA256 (RFC 2104).
  package static func hmac(_ bytes: [UInt8], key: SecureBytes) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    unsafe key.withBytes {
      _ = unsafe HMAC(EVP_sha256(), $0.baseAddress, Int32($0.count), bytes, bytes.count, &digest, nil)
    }
    return digest
  }

  /// Whether two digests are equal, in a time that does not depend on where they differ.
  package static func areEqual(_ left: [UInt8], and right: [UInt8]) -> Bool {
    unsafe left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
  }

  /// Encrypts with AES-256-GCM (NIST SP 800-38D); returns the ciphertext, then the tag of 16 bytes.
  package static func seal(
    _ plain: SecureBytes, key: SecureBytes, nonce: [UInt8], associated: [UInt8]
  ) throws -> [UInt8] {
    var sealed = [UInt8](repeating: 0, count: plain.count + 16)
    let context = unsafe EVP_CIPHER_CTX_new()
    defer { unsafe EVP_CIPHER_CTX_free(context) }
    var length: Int32 = 0
    let isDone = unsafe key.withBytes { key in
      unsafe plain.withBytes { plain in
        unsafe sealed.withUnsafeMutableBufferPointer { output in
          guard let out = output.baseAddress else { return false }
          return unsafe EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), nil, nil, nil) == 1
            && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, Int32(nonce.count), nil) == 1
            && EVP_EncryptInit_ex(
              context, nil, nil, key.baseAddress?.assumingMemoryBound(to: UInt8.self), nonce) == 1
            && EVP_EncryptUpdate(context, nil, &length, associated, Int32(associated.count)) == 1
            && EVP_EncryptUpdate(
              context, out, &length, plain.baseAddress?.assumingMemoryBound(to: UInt8.self),
              Int32(plain.count)) == 1
            && EVP_EncryptFinal_ex(context, out + plain.count, &length) == 1
            && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, out + plain.count) == 1
        }
      }
    }
    guard isDone, key.count == 32 else {
      throw SQLError.system(file: "key file", operation: "AES-256-GCM", code: 0)
    }
    return sealed
  }

  /// Decrypts the result of ``seal(_:key:nonce:associated:)``; nil when the tag does not match.
  package static func open(
    _ sealed: [UInt8], key: SecureBytes, nonce: [UInt8], associated: [UInt8]
  ) throws -> SecureBytes? {
    guard sealed.count >= 16, key.count == 32 else { return nil }
    let count = sealed.count - 16
    var tag = Array(sealed[count...])
    let context = unsafe EVP_CIPHER_CTX_new()
    defer { unsafe EVP_CIPHER_CTX_free(context) }
    var length: Int32 = 0
    var isAuthentic = false
    let plain = try unsafe SecureBytes(count: count) { output in
      guard let out = unsafe output.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
      isAuthentic = unsafe key.withBytes { key in
        unsafe EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), nil, nil, nil) == 1
          && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, Int32(nonce.count), nil) == 1
          && EVP_DecryptInit_ex(
            context, nil, nil, key.baseAddress?.assumingMemoryBound(to: UInt8.self), nonce) == 1
          && EVP_DecryptUpdate(context, nil, &length, associated, Int32(associated.count)) == 1
          && EVP_DecryptUpdate(context, out, &length, sealed, Int32(count)) == 1
          && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, &tag) == 1
          && EVP_DecryptFinal_ex(context, out + count, &length) == 1
      }
    }
    return isAuthentic ? plain : nil
  }

  /// Returns random bytes that are not secret: salts, nonces, names.
  package static func random(_ count: Int) throws -> [UInt8] {
    guard let bytes = randomBytes(count) else {
      throw SQLError.system(file: "random bytes", operation: "RAND_bytes", code: 0)
    }
    return bytes
  }

  /// Computes SHA-256 (FIPS 180-4).
  package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    unsafe EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil)
    return digest
  }
}
