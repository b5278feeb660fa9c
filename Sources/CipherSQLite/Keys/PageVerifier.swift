// Verifies the HMAC of a page with a key.

private import CLibCrypto
private import Foundation

/// Verifies pages one after another: the values that depend on the key alone are computed once.
@safe final class PageVerifier {
  private let profile: CipherProfile
  // Used by this object alone; libcrypto wipes it when it is freed.
  private let context: OpaquePointer?

  init(_ key: UnlockedKey) {
    profile = key.profile
    let mac = unsafe EVP_MAC_fetch(nil, "HMAC", nil)
    let context = unsafe EVP_MAC_CTX_new(mac)
    unsafe EVP_MAC_free(mac)
    // The parameters point to both texts, so both must live until EVP_MAC_init has read them.
    let kind = Array("digest".utf8CString)
    var name = Array(profile.hash.rawValue.utf8CString)
    unsafe kind.withUnsafeBufferPointer { kind in
      unsafe name.withUnsafeMutableBufferPointer { name in
        var parameters = unsafe [
          OSSL_PARAM_construct_utf8_string(kind.baseAddress, name.baseAddress, 0), OSSL_PARAM_construct_end(),
        ]
        unsafe key.bytes.withBytes { bytes in
          let macKey = unsafe bytes.baseAddress.map { unsafe ($0 + 32).assumingMemoryBound(to: UInt8.self) }
          _ = unsafe EVP_MAC_init(context, macKey, 32, &parameters)
        }
      }
    }
    unsafe self.context = unsafe context
  }

  deinit { unsafe EVP_MAC_CTX_free(context) }

  /// Whether a page has the correct HMAC under the key. The page's memory is changed during the call, and
  /// restored.
  func verifies(_ page: UnsafeMutableRawBufferPointer, number: Int) -> Bool {
    // The HMAC covers the encrypted bytes and the IV (page 1: without the salt, or without a header in
    // clear), then the page number, 4 bytes, little-endian. The number is written over the stored HMAC,
    // directly after the covered bytes.
    let start = number == 1 ? max(16, profile.clearHeaderBytes) : 0
    let covered = profile.pageBytes - profile.reservedBytes + 16
    let digestBytes = profile.digestBytes
    guard page.count == profile.pageBytes else { return false }
    guard let base = page.baseAddress else { return false }
    return unsafe withUnsafeTemporaryAllocation(byteCount: 128, alignment: 8) { room in
      guard let stored = room.baseAddress else { return false }
      let computed = unsafe stored + 64
      unsafe stored.copyMemory(from: base + covered, byteCount: digestBytes)
      unsafe (base + covered).storeBytes(of: UInt32(truncatingIfNeeded: number).littleEndian, as: UInt32.self)
      // Without a key argument, the context restarts with its present key.
      let isDone =
        unsafe EVP_MAC_init(context, nil, 0, nil) == 1
        && EVP_MAC_update(context, (base + start).assumingMemoryBound(to: UInt8.self), covered + 4 - start)
          == 1
        && EVP_MAC_final(context, computed.assumingMemoryBound(to: UInt8.self), nil, 64) == 1
      unsafe (base + covered).copyMemory(from: stored, byteCount: digestBytes)
      return unsafe isDone && memcmp(stored, computed, digestBytes) == 0
    }
  }
}
