// The output of rows while they are read: to standard output in blocks of 32 KB, so that the memory use
// does not depend on the number of rows.

import CipherSQLite
import Foundation

/// The output of a command that writes rows.
final class RowSink: Sendable {
  private static let capacity = 32 << 10
  private let waiting = Locked("")

  /// Whether anything was written. From then on, an error can no longer be the only JSON object on
  /// standard output.
  var hasBegun: Bool { begun.withLock { $0 } }
  private let begun = Locked(false)

  /// Collects a text, and writes what was collected when that is enough for a block.
  /// - Throws: ``ReaderGone``, ``OutputError``.
  func write(_ text: String) throws {
    let full = waiting.withLock { waiting -> String? in
      waiting += text
      guard waiting.utf8.count >= Self.capacity else { return nil }
      defer { waiting = "" }
      return waiting
    }
    if let full { try flush(full) }
  }

  /// Writes the rest of the collected text.
  /// - Throws: ``ReaderGone``, ``OutputError``.
  func finish() throws {
    try flush(
      waiting.withLock { waiting in
        defer { waiting = "" }
        return waiting
      })
  }

  private func flush(_ text: String) throws {
    guard !text.isEmpty else { return }
    begun.withLock { $0 = true }
    guard !StandardStream.output.write(text) else { return }
    let code = StandardStream.output.failure ?? EIO
    if code == EPIPE { throw ReaderGone() }
    throw OutputError(
      description: "The rows could not be written to standard output (\(systemText(code))).")
  }
}
