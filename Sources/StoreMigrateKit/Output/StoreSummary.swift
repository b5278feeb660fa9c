// The store, as every report tells of it.

import CipherSQLite

/// The store in a report.
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

  /// A store as it lies there now.
  init(at path: String) {
    self.init(path: path, bytes: (try? DatabasePath(path))?.byteCount ?? 0)
  }

  private enum CodingKeys: String, CodingKey { case path, bytes, encrypted, cipher, sqlite }
}
