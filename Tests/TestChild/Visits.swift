// Short processes: they open a file, write a row and end, or print why they cannot open it.

import CipherSQLite
import Foundation
import TestSupport

/// Creates a file by a path that depends on the working directory, and prints its whole path.
func createRelative(_ given: String) throws {
  _ = try Connection.create(given, key: childKeys.first) {
    try $0.executeScript("CREATE TABLE t(x); INSERT INTO t VALUES (1)")
  }
  acknowledge(try DatabasePath(given).path)
}

/// Creates a file, or reports that another process was faster.
func createOnce(_ path: String) throws -> String {
  do {
    _ = try Connection.create(path, key: childKeys.first) { try $0.executeScript("CREATE TABLE t(x)") }
    return "created"
  } catch SQLError.alreadyExists { return "exists" }
}

/// Opens a file when the process has no free descriptor.
func openWithoutDescriptors(_ path: String) {
  while open("/dev/null", O_RDONLY) >= 0 {}
  do { _ = try Connection.open(path, key: childKeys.first) } catch {
    // Standard output is open already.
    acknowledge("\(error)")
  }
}

/// Opens a file repeatedly, adds a row each time, and acknowledges it; prints any other outcome. It runs for
/// the given seconds, and until the given number of visits: a process that replaces the file has it locked
/// most of the time.
func visit(_ path: String, seconds: Double, atLeast visits: Int) {
  let (end, deadline) = (Date().addingTimeInterval(seconds), Date().addingTimeInterval(seconds + 600))
  var configuration = Connection.Configuration()
  configuration.busyTimeout = 60
  var count = 0
  while Date() < end || (count < visits && Date() < deadline) {
    do {
      let connection = try Connection.open(path, key: childKeys.first, configuration: configuration)
      defer { connection.close() }
      try connection.execute("INSERT INTO visit(who) VALUES (\(Int64(getpid())))")
      acknowledge("\(connection.lastInsertedID)")
      count += 1
    } catch {
      acknowledge("error \(error)")
    }
  }
}

/// Creates a file in each way beside a store, with an umask that forbids nothing, and prints the mode of
/// each. `control` is a file that was given no mode.
func makeFiles(_ path: String) throws {
  umask(0)
  let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
  func file(_ name: String) -> String { folder.appendingPathComponent(name).path }
  close(open(file("control"), O_CREAT | O_WRONLY, 0o666))
  for (name, make) in try fileMakers(beside: Connection.open(path, key: childKeys.first)) {
    try make(file("new." + name))
  }
  let pool = try ConnectionPool(path: file("new.create"), key: childKeys.first)
  try pool.withWriter { _ = try $0.execute("INSERT INTO t VALUES (1)") }
  for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
    let mode = try FileManager.default.attributesOfItem(atPath: file(name))[.posixPermissions] as? Int ?? 0
    acknowledge("\(name) \(String(mode, radix: 8))")
  }
  pool.close()
}

/// Inspects a file in several threads at once. Prints failures, and the number of inspections.
func inspect(_ path: String) {
  let (group, done) = (DispatchGroup(), Locked(0))
  for _ in 0..<4 {
    group.enter()
    Thread.detachNewThread {
      for _ in 0..<200 {
        do {
          _ = try Inspection(path: path, key: childKeys.first)
          done.withLock { $0 += 1 }
        } catch { acknowledge("error \(error)") }
      }
      group.leave()
    }
  }
  group.wait()
  acknowledge("\(done.withLock { $0 })")
}
