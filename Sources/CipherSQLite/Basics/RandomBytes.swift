// Chance, from libcrypto's generator.

private import CLibCrypto

/// Random bytes that are no secret: salts, nonces, parts of names. nil when the generator fails.
func randomBytes(_ count: Int) -> [UInt8]? {
  var bytes = [UInt8](repeating: 0, count: count)
  return unsafe RAND_bytes(&bytes, Int32(count)) == 1 ? bytes : nil
}
