// Processes that only come by: they open a file, write a line, and go, or cannot open it and say why.

import CipherSQLite
import Foundation
import TestSupport

/// Creates a file by a path that depends on the working directory, and says which one it is.
func createRelative(_ given: String) throws {
  _ = try Connection.create(given, key: childKeys.first) {
    try $0.executeScript("CREATE TABLE t(x); INSERT INTO t VALUES (1)")
  }
  acknowledge(try DatabasePath(given).path)
}

/// Creates a file, or says that another process was faster.
func createOnce(_ path: String) throws -> String {
  do {
    _ = try Connection.create(path, key: childKeys.first) { try $0.executeScript("CREATE TABLE t(x)") }
    return "created"
  } catch SQLError.alreadyExists { return "exists" }
}

/// Opens a file when the process has no descriptor left.
func openWithoutDescriptors(_ path: String) {
  while open("/dev/null", O_RDONLY) >= 0 {}
  do { _ = try Connection.open(path, key: childKeys.first) } catch {
    // Standard output is open already.
    acknowledge("\(error)")
  }
}

/// Opens a file again and again with either key, adds a row each time, and acknowledges it; says what else it met.
func visit(_ path: String, seconds: Double) {
  let end = Date().addingTimeInterval(seconds)
  var configuration = Connection.Configuration()
  configuration.busyTimeout = 20
  while Date() < end {
    do {
      let connection = try Connection.open(path, key: childKeys.first, configuration: configuration)
      defer { connection.close() }
      try connection.execute("INSERT INTO visit(who) VALUES (\(Int64(getpid())))")
      acknowledge("\(connection.lastInsertedID)")
    } catch {
      acknowledge("error \(error)")
    }
  }
}
