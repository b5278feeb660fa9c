// The progress of a run: the rows of a part are spread over its statements, and every statement moves the
// bar.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct RunMeters {
  private let progress = Progress(totalUnitCount: 1)
  private let meter = RunMeter()

  @Test func `all rows of a part are counted only after its last statement`() {
    meter.begin(progress, rows: [[1000, 500], []])
    #expect(progress.totalUnitCount == 1502)
    meter.beginStep()
    meter.beginPart(cost: 6)
    meter.beginStatement(cost: 2, "copy")
    #expect(progress.userInfo[.storeRunsStatement] as? String == "copy")
    meter.wrote(500)
    #expect(progress.completedUnitCount == 166)
    meter.wrote(700)
    #expect(progress.completedUnitCount == 333)
    meter.endStatement()
    meter.beginStatement(cost: 3, "drop")
    meter.endStatement()
    #expect(progress.completedUnitCount == 833)
    meter.beginStatement(cost: 1, "index")
    // Work beyond the estimate never completes a statement.
    for _ in 0..<100 { meter.worked(1000, perRow: 10) }
    #expect(progress.completedUnitCount == 991)
    meter.endStatement()
    #expect(progress.completedUnitCount == 1000)
    meter.beginPart(cost: 3)
    meter.beginStatement(cost: 3, "update")
    meter.worked(5000, perRow: 20)
    #expect(progress.completedUnitCount == 1250)
    meter.endStatement()
    // The unit of the step itself counts at its end.
    #expect(progress.completedUnitCount == 1500)
    meter.endStep()
    #expect(progress.completedUnitCount == 1501)
    #expect(progress.userInfo[.storeRunsStatement] == nil)
    meter.beginStep()
    meter.endStep()
    #expect(progress.completedUnitCount == 1502)
  }

  @Test func `a data block and an index move the progress while they run`() async throws {
    let rows = 150_000
    let lab = try await FunctionLab(
      [
        "create entity U {\n attribute n int\n attribute m int optional\n}",
        "transform sql { UPDATE $U SET $U.m = $U.n * 2 }", "add index U(m)",
      ], [],
      fill: [
        "INSERT INTO U(n) WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k LIMIT \(rows)) SELECT i FROM k"
      ])
    let (progress, seen, isDone) = (Progress(totalUnitCount: 0), Locked<Set<Int64>>([]), Locked(false))
    // A thread, because on a busy machine a task may not run meanwhile.
    let watcher = Thread {
      while !isDone.withLock({ $0 }) {
        seen.withLock { _ = $0.insert(progress.completedUnitCount) }
        usleep(1000)
      }
    }
    watcher.start()
    try await Store.migrate(
      at: lab.url, key: testKey, migrations: lab.set, makesBackups: false, progress: progress)
    isDone.withLock { $0 = true }
    #expect(progress.totalUnitCount == Int64(2 * rows + 2) && progress.isFinished)
    let places = seen.withLock { $0 }
    let (data, index) = (Int64(1)..<Int64(rows), Int64(rows + 2)..<Int64(2 * rows))
    #expect(places.count { data.contains($0) } > 3 && places.count { index.contains($0) } > 1, "\(places)")
  }
}
