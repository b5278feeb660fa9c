// Interleaved runs of the floor and of the library ("ours"), medians, quartiles, the table and the JSON.

import CFloor
import CipherSQLite
import Foundation
import ObjectVault

struct Measured: Codable {
  var number: Int
  let name: String
  let rows: Int
  let floor: Double
  let ours: Double
  let ratio: Double
  let quartiles: [Double]
  /// The same values of processor time, which other programs of the machine disturb less; nil where it is
  /// not taken, as where another process does the work. It is the time of one thread; with
  /// `countsProcess` and `processSeconds`, that of all threads.
  var threadFloor: Double?
  var threadOurs: Double?
  var threadRatio: Double?
  var threadQuartiles: [Double]?
  let firstStage: Double
  var goal: Double
  /// Whether the row is only compared with the one before it, and has no goal of its own.
  var isBeside: Bool?
  /// The unit of `floor` and `ours`; nil for seconds.
  var unit: MeasuredUnit?
  /// In row 33, the ratio divided by that of the smallest table.
  var slope: Double?

  /// The rows of which a second thread reads a part at the same time.
  private static let readByTwo: Set = [2, 3, 4, 32]

  /// The ratio that is judged: of processor time, if it was taken and no second thread reads a part; of
  /// wall time otherwise.
  var counted: Double { Self.readByTwo.contains(number) ? ratio : threadRatio ?? ratio }

  /// Whether the goal is reached. Row 33 is judged by its slope, which is computed from `counted`.
  var isReached: Bool { slope.map { $0 <= SlopeBench.limit } ?? (counted <= goal) }
}

/// The unit of a measurement that is not in seconds.
enum MeasuredUnit: String, Codable { case bytes }

@MainActor struct Workload {
  let number: Int
  let name: String
  let rows: Int
  let firstStage: Double
  let goal: Double
  var unit: MeasuredUnit?
  /// Whether it is only compared with the workload before it, and has no goal of its own.
  var isBeside = false
  /// Whether the processor time of all threads is taken, and not that of one.
  var countsProcess = false
  /// Both return the seconds of their timed part, or a number in `unit`.
  let floor: @MainActor () async throws -> Double
  let ours: @MainActor () async throws -> Double

  func measure(runs: Int, showingEach: Bool = false) async throws -> Measured {
    var (walls, threads): (Pairs, Pairs) = (Pairs(), Pairs())
    for _ in 0..<runs {
      let (floor, floorThread) = try await timed(floor)
      let (ours, oursThread) = try await timed(ours)
      walls.add(floor, ours)
      threads.add(floorThread, oursThread)
    }
    if showingEach { FileHandle.standardError.write(Data((walls.lines + threads.lines).utf8)) }
    let isThread = threads.ratio.isFinite
    return Measured(
      number: number, name: name, rows: rows, floor: walls.floor, ours: walls.ours, ratio: walls.ratio,
      quartiles: walls.quartiles, threadFloor: isThread ? threads.floor : nil,
      threadOurs: isThread ? threads.ours : nil, threadRatio: isThread ? threads.ratio : nil,
      threadQuartiles: isThread ? threads.quartiles : nil, firstStage: firstStage, goal: goal,
      isBeside: isBeside ? true : nil, unit: unit)
  }

  private func timed(_ body: @MainActor () async throws -> Double) async throws -> (Double, thread: Double) {
    (lastThreadSeconds, lastProcessSeconds, takesProcessTime) = (.nan, .nan, countsProcess)
    let seconds = try await body()
    return (seconds, countsProcess ? lastProcessSeconds : lastThreadSeconds)
  }
}

/// The results of the floor and of the library, run after run.
struct Pairs {
  private var floors: [Double] = []
  private var all: [Double] = []

  mutating func add(_ floor: Double, _ ours: Double) {
    floors.append(floor)
    all.append(ours)
  }

  private func quantile(_ values: [Double], _ share: Double) -> Double {
    let sorted = values.sorted()
    let place = Double(sorted.count - 1) * share
    let (low, part) = (Int(place), place - place.rounded(.down))
    // Interpolated between two values, as for the quartiles of seven.
    return low + 1 < sorted.count ? sorted[low] + part * (sorted[low + 1] - sorted[low]) : sorted[low]
  }

  private var ratios: [Double] { zip(floors, all).map { $1 / $0 } }
  var floor: Double { quantile(floors, 0.5) }
  var ours: Double { quantile(all, 0.5) }
  var ratio: Double { ratios.contains { !$0.isFinite } ? .nan : quantile(ratios, 0.5) }
  var quartiles: [Double] { [quantile(ratios, 0.25), quantile(ratios, 0.75)] }
  var lines: String { zip(floors, all).map { "  floor \($0) s, ours \($1) s\n" }.joined() }
}

func seconds(_ body: () throws -> Void) rethrows -> Double {
  settleAllocator()
  // The time of all threads is taken only if it is requested: short work is timed many times, and this
  // call is slow.
  let startOfProcess = takesProcessTime ? clock(CLOCK_PROCESS_CPUTIME_ID) : .nan
  let startOfThread = clock(CLOCK_THREAD_CPUTIME_ID)
  let start = DispatchTime.now().uptimeNanoseconds
  try body()
  let wall = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
  lastThreadSeconds = clock(CLOCK_THREAD_CPUTIME_ID) - startOfThread
  if takesProcessTime { lastProcessSeconds = clock(CLOCK_PROCESS_CPUTIME_ID) - startOfProcess }
  return wall
}

/// Returns the wall time of work that moves from thread to thread. `lastProcessSeconds` then has the
/// processor time of all threads.
@MainActor func secondsOfAll(_ body: () async throws -> Void) async rethrows -> Double {
  settleAllocator()
  let (startOfProcess, start) = (clock(CLOCK_PROCESS_CPUTIME_ID), DispatchTime.now().uptimeNanoseconds)
  try await body()
  lastProcessSeconds = clock(CLOCK_PROCESS_CPUTIME_ID) - startOfProcess
  return Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
}

/// Makes the allocator join the small blocks that were freed before. It does so only at the next request
/// for a large block. Without this call, the first request for a page in a run would pay for all blocks
/// that the run before has freed.
private func settleAllocator() { free(malloc(1 << 16)) }

/// Makes all threads share one arena of the allocator. Otherwise each thread in which a store reads has
/// an arena of its own, which grows by one system call for each page that a connection's cache requests.
/// The arena of the main thread, in which a loop runs, grows by 32 pages at a time.
func shareAllocator() {
  #if os(Linux)
    mallopt(M_ARENA_MAX, 1)
  #endif
}

/// Returns free memory to the system. Otherwise it depends on the runs before whether a run that fills a
/// connection's cache pays for the first use of each page.
func giveMemoryBack() {
  #if os(Linux)
    malloc_trim(0)
  #endif
}

private func clock(_ id: clockid_t) -> Double {
  var time = timespec()
  clock_gettime(id, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// The processor time of the thread in the last timed part. It is written by that thread, and read after
/// it is done: one workload runs at a time.
nonisolated(unsafe) var lastThreadSeconds = Double.nan
/// The processor time of all threads of the process in the last timed part.
nonisolated(unsafe) var lastProcessSeconds = Double.nan
/// Whether `lastProcessSeconds` is taken, too.
nonisolated(unsafe) private var takesProcessTime = false

/// The peak memory of this process, in bytes; 0 where the system does not report it.
func peakBytes() -> Int {
  let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
  let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
  return (line?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0) * 1024
}

/// Runs this program with these options in another process, and returns the number that it prints.
func inFreshProcess(_ options: String...) throws -> Double {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
  process.arguments = options
  let output = Pipe()
  process.standardOutput = output
  try process.run()
  let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
  process.waitUntilExit()
  return Double(text.trimmingCharacters(in: .whitespacesAndNewlines)) ?? .nan
}

struct Output: Encodable {
  let engine: String
  let revision: String
  let workloads: [Measured]
}

/// Prints the measurements, as JSON or as a table.
func show(_ results: [Measured], runs: Int, asJSON: Bool) throws {
  let revision = ProcessInfo.processInfo.environment["VAULT_REVISION"] ?? "unknown"
  if asJSON {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let output = Output(engine: Engine.current.cipherVersion, revision: revision, workloads: results)
    print(String(decoding: try encoder.encode(output), as: UTF8.self))
  } else {
    print("\(Engine.current), revision \(revision), \(runs) interleaved runs\n\n\(table(results))")
  }
}

func table(_ rows: [Measured]) -> String {
  func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }
  func time(_ seconds: Double, _ unit: MeasuredUnit?) -> String {
    if unit == .bytes { return "\((seconds / 1e5).rounded() / 10) MB" }
    if seconds < 1e-6 { return "\((seconds * 1e10).rounded() / 10) ns" }
    return seconds < 0.001 ? "\((seconds * 1e7).rounded() / 10) µs" : "\((seconds * 1e5).rounded() / 100) ms"
  }
  var lines = [
    "| # | workload | rows | floor | ours | ratio (quartiles) | of the thread: floor | ours | ratio (quartiles) | goal |",
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
  ]
  for row in rows {
    let two = { (value: Double) in "\((value * 100).rounded() / 100)" }
    let both = { (ratio: Double, quartiles: [Double]) in
      "\(two(ratio)) (\(two(quartiles[0]))–\(two(quartiles[1])))"
    }
    var line =
      "| \(row.number) | \(padded(row.name, 34)) | \(row.rows) | "
    line += "\(time(row.floor, row.unit)) | \(time(row.ours, row.unit)) | "
    line += both(row.ratio, row.quartiles)
    if let floor = row.threadFloor, let ours = row.threadOurs, let ratio = row.threadRatio {
      line +=
        " | \(time(floor, nil)) | \(time(ours, nil)) | \(both(ratio, row.threadQuartiles ?? row.quartiles))"
    } else {
      line += " | | |"
    }
    let goal = row.slope == nil ? "\(row.goal)" : two(row.goal)
    line += row.isBeside == true ? " | beside" : " | ≤ \(goal) \(row.isReached ? "✓" : "✗")"
    lines.append(line + (row.slope.map { " (slope \(two($0)))" } ?? "") + " |")
  }
  return lines.joined(separator: "\n")
}
