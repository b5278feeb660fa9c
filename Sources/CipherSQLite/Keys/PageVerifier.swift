// The HMAC of a page: whether it is the one that a key gives it.

private import CLibCrypto
private import Foundation

/// Checks pages one after another: what depends on the key alone is computed once.
@safe final class PageVerifier {
  private let profile: CipherProfile
  // Used by this object alone; libcrypto wipes it when it is freed.
  private let context: OpaquePointer?

  init(_ key: UnlockedKey) {
    profile = key.profile
    let mac = unsafe EVP_MAC_fetch(nil, "HMAC", nil)
    let context = unsafe EVP_MAC_CTX_new(mac)
    unsafe EVP_MAC_free(mac)
    // Both texts are kept by their addresses until the parameters were read.
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

  /// Whether a page carries the HMAC that the key gives it. The page is used as room meanwhile, and put right again.
  func verifies(_ page: UnsafeMutableRawBufferPointer, number: Int) -> Bool {
    // The HMAC covers the encrypted bytes and the IV (page 1 without the salt, or without a header in clear), then
    // the number, 4 bytes, little-endian: it is written over the stored HMAC, behind what is covered.
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
      // Without a key it begins anew with the one it has.
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
