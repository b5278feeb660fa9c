// rekey: another key for the same store.

import CipherSQLite
import Foundation

enum RekeyCommand: Command {
  static let name = "rekey"
  static let summary = "Encrypt the store under another key, verified"
  static let positionalCount = 1
  static let help = """
    EXAMPLES
      store-migrate rekey notes.store                                   asks for both keys
      store-migrate rekey notes.store --key-file old.txt --new-key-file new.txt

    One transaction: the store opens with the old key or the new one, never with neither. When another
    process keeps the write lock longer than --lock-timeout, it ends with 11 and the old key stays.
    """

  struct RekeyReport: Report {
    let store: StoreSummary
    let seconds: Double
    var description: String {
      "\(store.path) is encrypted under the new key, and was read with it (\((seconds * 100).rounded() / 100) s).\n"
        + "Copies and backups made before still open with the old key."
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let key = try session.key()
    let newKey = try session.newKey()
    var configuration = ConnectionPool.Configuration()
    configuration.connection.busyTimeout = try session.lockTimeout()
    let start = Date()
    let pool = try ConnectionPool(path: session.storePath, key: key, configuration: configuration)
    defer { pool.close() }
    let bar = ProgressBar("rekey", session)
    try pool.rekey(to: newKey) { bar.show($0, of: $1) }
    bar.finish()
    let size = try? FileManager.default.attributesOfItem(atPath: session.storePath)[.size] as? Int
    return RekeyReport(
      store: StoreSummary(path: session.storePath, bytes: size ?? 0), seconds: Date().timeIntervalSince(start)
    )
  }
}
