// SHA-256 through libcrypto, for checksums of schemas and migration steps.

private import CLibCrypto
public import Foundation

/// Returns the SHA-256 digest of `bytes` as 64 hexadecimal digits (FIPS 180-4).
public func sha256(_ bytes: some DataProtocol) -> String {
  let input = Array(bytes)
  var digest = [UInt8](repeating: 0, count: 32)
  var count: UInt32 = 0
  unsafe EVP_Digest(input, input.count, &digest, &count, EVP_sha256(), nil)
  return digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}
