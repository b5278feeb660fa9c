// The description of a store in the reports of most commands that work on one.

import CipherSQLite

/// The description of a store in a report.
struct StoreSummary: Encodable {
  let path: String
  let bytes: Int
  let encrypted = true
  let cipher: String
  let sqlite: String

  init(path: String, bytes: Int) {
    self.path = path
    self.bytes = bytes
    cipher = Engine.current.cipherVersion
    sqlite = Engine.current.sqliteVersion
  }

  /// Creates the description of a store as it is now.
  init(at path: String) {
    self.init(path: path, bytes: (try? DatabasePath(path))?.byteCount ?? 0)
  }

  private enum CodingKeys: String, CodingKey { case path, bytes, encrypted, cipher, sqlite }
}
