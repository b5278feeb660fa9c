// Reports errors of objects that have no context to report them.

internal import CipherSQLite
private import Foundation

enum ContextlessErrors {
  struct Handler {
    var custom: (@Sendable (any Error) -> Void)?
    /// The texts written so far. Each is written once, and at most 100 are, so that a loop fills neither
    /// the memory nor a log.
    var told: Set<String> = []
  }
  static let handler = Locked(Handler())

  static func tell(_ error: StoreError) {
    let custom = handler.withLock { $0.custom }
    if let custom { return custom(error) }
    let text = "\(error)"
    let isNew = handler.withLock { $0.told.count < 100 && $0.told.insert(text).inserted }
    if isNew { FileHandle.standardError.write(Data("ObjectVault: \(text)\n".utf8)) }
  }
}
