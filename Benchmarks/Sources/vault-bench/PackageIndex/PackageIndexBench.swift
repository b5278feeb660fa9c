// Workloads 40 to 44: the package index of Debian as a graph. A process of its own imports it, against
// package_index.py. Then versions are changed, a section is deleted and packages are found, against
// hand-written SQL on a copy of the same file.

import CFloor
import Foundation
import ObjectVault

/// The package index of this machine, and a store with its content.
@MainActor final class PackageIndexBench {
  private let script: String
  let folder: URL
  private let index: URL
  let imported: URL
  private let versions: Int
  private let objects: Int
  /// The bytes of the index, and of its rows as objects store them.
  private let sourceBytes: Int
  /// The peak memory of each import.
  private var peaks: [Int] = []

  /// - Parameter script: The path of package_index.py.
  /// - Returns: nil without an index on this machine.
  init?(script: String) async throws {
    self.script = script
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("vault-bench-\(UUID().uuidString)")
    (index, imported) = (
      folder.appendingPathComponent("Packages"), folder.appendingPathComponent("index.store")
    )
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    guard try PackageLists.write(to: index) else {
      try FileManager.default.removeItem(at: folder)
      return nil
    }
    let (rows, _) = try Self.runImport(
      CommandLine.arguments[0], ["--import-index", index.path, imported.path])
    versions = rows.rows["Version"] ?? 0
    objects = rows.rows.filter { $0.key != "Tag_packages" }.values.reduce(0, +)
    let bytes = try FileManager.default.attributesOfItem(atPath: index.path)[.size] as? Int ?? 0
    sourceBytes = bytes + Self.packedBytes(imported.path)
    expected = rows.rows
  }

  private let expected: [String: Int]

  isolated deinit { try? FileManager.default.removeItem(at: folder) }

  var workloads: [Workload] {
    [
      Workload(number: 40, name: "import a package index, CPU", rows: objects, firstStage: 0.92, goal: 0.6) {
        try self.floorImport()
      } ours: {
        try self.oursImport()
      },
      // The peak memory of the imports that workload 40 has just measured.
      Workload(
        number: 41, name: "its peak memory (index and rows)", rows: objects, firstStage: 1.3, goal: 1.3,
        unit: .bytes
      ) {
        Double(self.sourceBytes)
      } ours: {
        // If workload 40 did not run, imports once for this measurement.
        if self.peaks.isEmpty { _ = try self.oursImport() }
        return Double(self.peaks.removeFirst())
      },
      Workload(
        number: 42, name: "a tenth of the versions changed", rows: versions / 10, firstStage: 1.1, goal: 1.1
      ) {
        try await self.floorUpdate()
      } ours: {
        try await self.oursUpdate()
      },
      // No row leaves the engine here, so a program that has to read the rows cannot do this.
      Workload(
        number: 42, name: "the same, by one UPDATE", rows: versions / 10, firstStage: 1.1, goal: 1.1,
        isBeside: true
      ) {
        try await self.floorUpdateAtOnce()
      } ours: {
        try await self.oursUpdate()
      },
      Workload(number: 43, name: "a section deleted, cascading", rows: 1, firstStage: 1.1, goal: 1.1) {
        try await self.floorDelete()
      } ours: {
        try await self.oursDelete()
      },
      Workload(number: 44, name: "who needs a package", rows: 1, firstStage: 1.1, goal: 1.1) {
        try await self.floorNeeds()
      } ours: {
        try await self.oursNeeds()
      },
    ]
  }

  // MARK: 40 and 41

  private func floorImport() throws -> Double {
    let (report, seconds) = try Self.runImport("/usr/bin/env", ["python3", script, index.path])
    let differing = expected.filter { report.rows[$0.key] != $0.value }
    if !differing.isEmpty || report.rows.count != expected.count {
      fatalError("Python counts \(report.rows), and the store has \(expected)")
    }
    return seconds
  }

  private func oursImport() throws -> Double {
    let store = folder.appendingPathComponent("again.store")
    defer {
      for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store.path + suffix) }
    }
    let (report, seconds) = try Self.runImport(
      CommandLine.arguments[0], ["--import-index", index.path, store.path])
    peaks.append(report.peak)
    return seconds
  }

  /// Runs an import.
  /// - Returns: Its report, and its processor time in seconds, in user mode and in the kernel together.
  private static func runImport(_ program: String, _ arguments: [String]) throws -> (ImportReport, Double) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    let output = Pipe()
    process.standardOutput = output
    let before = childSeconds()
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { fatalError("\(program) \(arguments) failed") }
    return (try JSONDecoder().decode(ImportReport.self, from: data), childSeconds() - before)
  }

  /// The processor time of the child processes that this process has waited for.
  private static func childSeconds() -> Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &usage)
    return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
      + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
  }

  /// Returns the bytes of all rows as objects store them: for each value a byte and a word, the bytes
  /// padded to words; the bytes of the texts; and two words for each link.
  private static func packedBytes(_ path: String) -> Int {
    let floor = Floor(path)
    let tables = floor.rows(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'vault%' AND name NOT LIKE 'sqlite%'"
    )
    return tables.reduce(0) { sum, table in
      let columns = floor.rows("PRAGMA table_info(\"\(table[0])\")").map { $0[1] }.filter {
        !["id", "_version"].contains($0)
      }
      let texts = columns.map {
        "CASE typeof(\"\($0)\") WHEN 'text' THEN length(CAST(\"\($0)\" AS BLOB)) ELSE 0 END"
      }
      let fixed = table[0] == "Package_tags" ? 16 : (columns.count + 7) / 8 * 8 + columns.count * 8
      let sql = "SELECT sum(\(fixed) + \(texts.joined(separator: " + "))) FROM \"\(table[0])\""
      return sum + (floor.rows(sql).first.flatMap { Int($0[0]) } ?? 0)
    }
  }
}

extension PackageIndexBench {
  /// Calls `body` with a copy of the store.
  private func withCopy(_ body: (URL) async throws -> Double) async throws -> Double {
    let copy = folder.appendingPathComponent("copy.store")
    try FileManager.default.copyItem(at: imported, to: copy)
    defer {
      for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: copy.path + suffix) }
    }
    giveMemoryBack()
    return try await body(copy)
  }

  func withFloor(_ body: (Floor) -> Double) async throws -> Double {
    try await withCopy { url in
      let floor = Floor(url.path)
      defer { floor.close() }
      return body(floor)
    }
  }

  func withStore(_ body: (Store) async throws -> Double) async throws -> Double {
    try await withCopy { url in
      let store = try await DebianIndex.open(url)
      defer { store.close() }
      return try await body(store)
    }
  }
}
