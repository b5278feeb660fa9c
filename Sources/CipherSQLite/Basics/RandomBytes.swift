// Random bytes from libcrypto's generator.

private import CLibCrypto

/// Returns random bytes for values that are not secret: salts, nonces, parts of names. Returns
/// nil if the generator fails.
func randomBytes(_ count: Int) -> [UInt8]? {
  var bytes = [UInt8](repeating: 0, count: count)
  return unsafe RAND_bytes(&bytes, Int32(count)) == 1 ? bytes : nil
}
