// Comparison of the committed states that two connections read. A state is identified by the header of the
// WAL index. Every commit of any process rewrites this header before it ends.
//
// Source: "WAL-Index Header" of sqlite.org/walformat.html. There are two copies of 48 bytes at the
// beginning of the shared memory, which differ while one is being written. They contain the change
// counter, the length of the log and the checksum of its last frame.

private import CVaultShims

/// The state of a file that a read would see if it began now.
package struct SharedState: Equatable, Sendable {
  private let head: SIMD16<UInt32>
  // The address of the index in this process. The engine maps the index of a file once, however many
  // connections it has. So two different files have different addresses, even if one was renamed to the path
  // of the other.
  private let place: UInt

  private static let words = 12

  /// Reads the state from the mapped index.
  /// - Returns: nil while a commit is being written, as the copies differ then.
  init?(_ memory: UnsafeMutableRawPointer) {
    var copies: (SIMD16<UInt32>, SIMD16<UInt32>) = (.zero, .zero)
    // The region is mapped as long as the connection is open, and is larger than both copies. The first
    // copy is read completely before the second, because they are written in the opposite order.
    for word in 0..<Self.words { unsafe copies.0[word] = vault_load_shared(memory, Int32(word)) }
    for word in 0..<Self.words {
      unsafe copies.1[word] = vault_load_shared(memory, Int32(Self.words + word))
    }
    guard copies.0 == copies.1, copies.0 != .zero else { return nil }
    head = copies.0
    place = UInt(bitPattern: memory)
  }
}
