// A database that was opened before, to be tried with another key.

/// The values that are needed to open a database again: its settings, and a salt that may not be in the
/// file.
struct OpenedDatabase {
  let file: DatabasePath
  let configuration: Connection.Configuration
  let salt: [UInt8]?

  init(_ file: DatabasePath, _ configuration: Connection.Configuration, salt: [UInt8]?) {
    self.file = file
    self.configuration = configuration
    self.salt = salt
  }

  init(_ connection: Connection) {
    var configuration = connection.configuration
    configuration.profile = connection.unlocked.profile
    self.init(connection.file, configuration, salt: connection.unlocked.salt)
  }

  /// Whether the database opens with a key that was derived before.
  func opens(with unlocked: UnlockedKey) -> Bool {
    (try? Connection.open(file, unlocked: unlocked, configuration: configuration)) != nil
  }

  /// Whether the database opens with a key.
  func opens(with key: Key) -> Bool {
    let salted = salt.map { key.withSalt($0) } ?? key
    return (try? Connection.open(file, key: salted, configuration: configuration)) != nil
  }
}
