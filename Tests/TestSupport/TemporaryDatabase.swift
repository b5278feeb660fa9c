// An encrypted file and a connection to it, for tests of SQL alone.

public import CipherSQLite

/// An encrypted file in a folder of its own.
public struct TemporaryDatabase {
  /// The folder.
  public let folder: TemporaryFolder
  /// The file.
  public let path: String
  /// An open connection.
  public let connection: Connection

  /// Creates the file and runs a script.
  public init(_ script: String = "", configuration: Connection.Configuration = .init()) throws {
    folder = try TemporaryFolder()
    path = folder.path("a.store")
    _ = try Connection.create(path, key: testKey) {
      try $0.executeScript("CREATE TABLE vault_first(x);" + script)
    }
    connection = try Connection.open(path, key: testKey, configuration: configuration)
  }

  /// Another connection to the file.
  public func again(_ configuration: Connection.Configuration = .init()) throws -> Connection {
    try Connection.open(path, key: testKey, configuration: configuration)
  }
}

/// Whether `body` fails because of a lock that this process has on a file, after a wait of `seconds`.
public func isBusy(_ path: String, after seconds: ClosedRange<Double>, _ body: () throws -> Void) -> Bool {
  do { try body() } catch SQLError.busy(path, let waited, let holders) {
    return seconds.contains(waited) && holders.map(\.isThisProcess) == [true]
  } catch {}
  return false
}
