// Workload 33: how the cost of workloads 1 to 4 grows from 10,000 rows to 1,000,000. The cost of a row is
// compared with that in the floor at the same size, because the engine's cache is a smaller part of a
// larger file, which slows both.

import Foundation
import ObjectVault

@MainActor enum SlopeBench {
  static let sizes = [10_000, 100_000, 1_000_000]
  /// The limit of the slope, which is the ratio of a larger table divided by that of the smallest one.
  nonisolated static let limit = 1.05

  /// Measures each workload at each size. Workloads 2 to 4 are judged by wall time, because a second
  /// thread reads a part of larger tables; workload 1 by the processor time of all threads. Both times
  /// are reported. A process that is bound to one processor (`taskset -c 1`) reads with one thread.
  static func measure(runs: Int, showingEach: Bool) async throws -> [Measured] {
    var results: [Int: [Measured]] = [:]
    for size in sizes {
      let place = try await Place(size)
      for workload in place.workloads {
        FileHandle.standardError.write(Data("33 \(workload.name) …\n".utf8))
        results[workload.number, default: []].append(
          try await workload.measure(runs: runs, showingEach: showingEach))
      }
    }
    return results.keys.sorted().flatMap { compared(results[$0] ?? []) }
  }

  /// Returns the results of one workload as rows of workload 33, with their slopes.
  /// - Parameter rows: The results, from the smallest size to the largest.
  private static func compared(_ rows: [Measured]) -> [Measured] {
    guard let smallest = rows.first?.counted else { return [] }
    return rows.map { row in
      var row = row
      (row.number, row.goal, row.slope) = (33, smallest * limit, row.counted / smallest)
      return row
    }
  }

  /// A store and a file of the floor, for tables of one size.
  @MainActor private final class Place {
    private let size: Int
    private let bench: Bench
    private let tracks: [TrackRow]

    init(_ size: Int) async throws {
      self.size = size
      bench = try await Bench()
      tracks = sampleTracks(size)
      try bench.fillTens(size)
    }

    // The insertions come first, because they leave the tracks that are fetched.
    var workloads: [Workload] {
      [
        workload(1, "insert") {
          $0.bench.floorInsert($0.tracks)
        } ours: {
          try $0.bench.oursInsert($0.tracks)
        },
        workload(2, "integers, untouched") {
          $0.bench.floorTens()
        } ours: {
          try await $0.bench.oursTens(readingAll: false)
        },
        workload(3, "integers, read") {
          $0.bench.floorTens()
        } ours: {
          try await $0.bench.oursTens(readingAll: true)
        },
        workload(4, "mixed, read") {
          $0.bench.floorTracks()
        } ours: {
          try await $0.bench.oursTracks()
        },
      ]
    }

    private func workload(
      _ number: Int, _ name: String, floor: @escaping @MainActor (Place) async throws -> Double,
      ours: @escaping @MainActor (Place) async throws -> Double
    ) -> Workload {
      Workload(
        number: number, name: "\(number) of \(size): \(name)", rows: size, firstStage: 1, goal: 1,
        countsProcess: true
      ) {
        try await self.summed(floor)
      } ours: {
        try await self.summed(ours)
      }
    }

    /// Returns the mean time of several runs for a small table: together they have 200,000 rows, so that
    /// the time to read the clock does not matter.
    private func summed(_ body: @MainActor (Place) async throws -> Double) async throws -> Double {
      let repeats = max(1, 200_000 / size)
      var (wall, process) = (0.0, 0.0)
      for _ in 0..<repeats {
        wall += try await body(self)
        process += lastProcessSeconds
      }
      lastProcessSeconds = process / Double(repeats)
      return wall / Double(repeats)
    }
  }
}
