// Whether two connections stand on one state of the file: told by the head of the index of its log, which every commit,
// of whatever process, writes anew before it ends.
//
// Source: "WAL-Index Header" of sqlite.org/walformat.html: two copies of 48 bytes at the beginning of the shared memory,
// which differ while one is being written. They hold the number of the change, the length of the log and the checksum
// of its last frame.

private import CVaultShims

/// The state of a file that a read would see which began now.
package struct SharedState: Equatable, Sendable {
  private let head: SIMD16<UInt32>
  // Where the index lies in this process: the engine maps that of one file once, however many connections it has, so that
  // two of different files, of which one was given the other's name, do not meet here.
  private let place: UInt

  private static let words = 12

  /// - Returns: nil while somebody commits: the copies differ.
  init?(_ memory: UnsafeMutableRawPointer) {
    var copies: (SIMD16<UInt32>, SIMD16<UInt32>) = (.zero, .zero)
    // The region is mapped for as long as the connection is open, and larger than both copies. The first one is read whole
    // before the second, as they are written in the other order.
    for word in 0..<Self.words { unsafe copies.0[word] = vault_load_shared(memory, Int32(word)) }
    for word in 0..<Self.words {
      unsafe copies.1[word] = vault_load_shared(memory, Int32(Self.words + word))
    }
    guard copies.0 == copies.1, copies.0 != .zero else { return nil }
    head = copies.0
    place = UInt(bitPattern: memory)
  }
}
