// Workload 33: how the cost of workloads 1 to 4 grows from 10,000 rows to 1,000,000. What a row costs is
// compared with what it costs the floor at the same size: that a cache is a smaller part of a larger file
// is the engine's doing, and meets both.

import Foundation
import ObjectVault

@MainActor enum SlopeBench {
  static let sizes = [10_000, 100_000, 1_000_000]
  /// How much more of the floor a row may cost in a larger table than in the smallest one.
  nonisolated static let limit = 1.05

  /// Each workload at each size. Judged by the clock where a second thread reads a part, which it does of
  /// larger tables alone; that of all threads stands beside it. Bound to one processor (`taskset -c 1`)
  /// nothing is read by two.
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

  /// The rows of one workload, from the smallest size to the largest.
  private static func compared(_ rows: [Measured]) -> [Measured] {
    guard let smallest = rows.first?.counted else { return [] }
    return rows.map { row in
      var row = row
      (row.number, row.goal, row.slope) = (33, smallest * limit, row.counted / smallest)
      return row
    }
  }

  /// A store and a floor's file with so many rows of both kinds.
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

    // The insertions first: they leave the tracks that are fetched.
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

    /// A small table several times, so that every run takes as many rows, and the clock is no part of
    /// what is seen.
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
