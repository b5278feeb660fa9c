// Each way to create a file, for properties that all of them share, here and in another process.

public import CipherSQLite
import Foundation

/// Each way to create a file at a path.
/// - Parameter store: The database that is copied. A plain copy beside it serves the ways that need one.
public func fileMakers(beside store: Connection) throws -> [(name: String, make: (String) throws -> Void)] {
  let plain = URL(fileURLWithPath: store.path).deletingLastPathComponent().appendingPathComponent(
    "plain.sqlite"
  ).path
  try? FileManager.default.removeItem(atPath: plain)
  try store.exportPlaintext(to: plain)
  return [
    (
      "create",
      { _ = try Connection.create($0, key: childKeys.first) { try $0.execute("CREATE TABLE t(x)") } }
    ),
    ("backup", { try store.backup(to: $0) }),
    ("copy", { try store.copy(to: $0, key: childKeys.first) }),
    ("export", { try store.exportPlaintext(to: $0) }),
    ("encrypt", { try Connection.encrypt(plaintext: plain, to: $0, key: childKeys.first) }),
    ("restore", { try Connection.restore(store.path, to: $0, key: childKeys.first) }),
    ("keys", { _ = try KeyFile.create(at: $0, slot: "token", unlock: childKeys.token) }),
  ]
}
