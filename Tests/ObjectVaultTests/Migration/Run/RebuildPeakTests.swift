// The peak of disk space and memory during a rebuild: trap A15 of the measurements that the design of
// migrations is based on.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct RebuildPeaks {
  private static let base = """
    create entity Parent {
      attribute name string indexed
      attribute text string
    }
    """
  /// Rebuilds the table, on both engines.
  private static let rebuild = "retype Parent.name to string using (upper($Parent.name))"
  private static let rows = 40_000
  private static let fill =
    "INSERT INTO Parent(name, text) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT \(rows)) SELECT 'parent ' || i, hex(randomblob(350)) FROM n"

  private let lab: MigrationLab
  init() async throws { lab = try await MigrationLab(Self.base, fill: [Self.fill]) }

  /// The total size of the files in a folder. No file is opened: closing it would release the engine's
  /// locks.
  private static func bytes(_ folder: URL) -> Int {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.reduce(0) { sum, name in
      let file = folder.appendingPathComponent(name).path
      return sum + ((try? FileManager.default.attributesOfItem(atPath: file)[.size] as? Int) ?? 0)
    }
  }

  @Test func `A15: a rebuild never takes more disk space than the plan requires`() async throws {
    let set = try lab.set([Self.base, Self.rebuild])
    let folder = lab.folder.url
    let before = Self.bytes(folder)
    let plan = try await Store.plan(at: lab.url, key: testKey, migrations: set)
    #expect(plan.neededBytes > 0 && before > Self.rows * 700)
    let peak = Locked((bytes: 0, looks: 0, isOver: false))
    let looked = DispatchSemaphore(value: 0)
    // The watcher measures before the run begins: on a busy machine it may else start after the run.
    async let watching: Void = onThread {
      while peak.withLock({ state in
        state.bytes = max(state.bytes, Self.bytes(folder))
        state.looks += 1
        return !state.isOver
      }) {
        looked.signal()
        usleep(500)
      }
    }
    try await onThread { looked.wait() }
    defer { peak.withLock { $0.isOver = true } }
    try await Store.migrate(at: lab.url, key: testKey, migrations: set)
    peak.withLock { $0.isOver = true }
    try await watching
    let found = peak.withLock { $0 }
    // The watcher has seen the copy of the table: the peak exceeds the store and its backup.
    #expect(found.looks > 2 && found.bytes > before * 2, "\(found), \(before) before")
    #expect(
      found.bytes <= before + plan.neededBytes, "\(found), \(before) before, \(plan.neededBytes) asked for")
  }

  #if os(Linux)
    @Test func `A15: a rebuild of a large table takes no more memory than its caches`() async throws {
      let steps = lab.folder.url.appendingPathComponent("Steps")
      try FileManager.default.createDirectory(at: steps, withIntermediateDirectories: false)
      for step in try lab.set([Self.base, Self.rebuild]).steps {
        try Data(step.text.utf8).write(to: steps.appendingPathComponent(step.fileName))
      }
      let store = Self.bytes(lab.folder.url)
      let peaks = try runChild("measure-lead", lab.url.path).compactMap { Int($0) }
      try #require(peaks.count == 2)
      // The connection's default page cache of 32 MiB, and half of the store's size.
      #expect(peaks[1] - peaks[0] < (32 << 20) + store / 2, "\(peaks), the store has \(store)")
      #expect(
        try lab.rows("SELECT count(*) FROM Parent WHERE name GLOB 'PARENT *'") == [
          [.integer(Int64(Self.rows))]
        ])
    }
  #endif
}
