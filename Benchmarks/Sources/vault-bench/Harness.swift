// Interleaved runs of floor and ours, medians, quartiles, the table and the JSON.

import CipherSQLite
import Foundation
import ObjectVault

struct Measured: Encodable {
  let number: Int
  let name: String
  let rows: Int
  let floor: Double
  let ours: Double
  let ratio: Double
  let quartiles: [Double]
  let firstStage: Double
  let goal: Double
}

@MainActor struct Workload {
  let number: Int
  let name: String
  let rows: Int
  let firstStage: Double
  let goal: Double
  /// Both return the seconds of their timed part. Without a floor the unit is given as its time.
  let floor: @MainActor () async throws -> Double
  let ours: @MainActor () async throws -> Double

  func measure(runs: Int, showingEach: Bool = false) async throws -> Measured {
    var pairs: [(floor: Double, ours: Double)] = []
    for _ in 0..<runs { pairs.append((try await floor(), try await ours())) }
    if showingEach {
      let lines = pairs.map { "  floor \($0.floor) s, ours \($0.ours) s\n" }.joined()
      FileHandle.standardError.write(Data(lines.utf8))
    }
    let ratios = pairs.map { $0.ours / $0.floor }.sorted()
    func quantile(_ values: [Double], _ share: Double) -> Double {
      let sorted = values.sorted()
      return sorted[Int((Double(sorted.count - 1) * share).rounded())]
    }
    return Measured(
      number: number, name: name, rows: rows, floor: quantile(pairs.map(\.floor), 0.5),
      ours: quantile(pairs.map(\.ours), 0.5), ratio: quantile(ratios, 0.5),
      quartiles: [quantile(ratios, 0.25), quantile(ratios, 0.75)], firstStage: firstStage, goal: goal)
  }
}

func seconds(_ body: () throws -> Void) rethrows -> Double {
  let start = DispatchTime.now().uptimeNanoseconds
  try body()
  return Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
}

/// The number that this program prints when another process runs it with `option`.
func inFreshProcess(_ option: String) throws -> Double {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
  process.arguments = [option]
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

func table(_ rows: [Measured]) -> String {
  func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }
  func time(_ seconds: Double) -> String {
    seconds < 0.001 ? "\((seconds * 1e7).rounded() / 10) µs" : "\((seconds * 1e5).rounded() / 100) ms"
  }
  var lines = [
    "| # | workload | rows | floor | ours | ratio (quartiles) | first stage | goal |",
    "| --- | --- | --- | --- | --- | --- | --- | --- |",
  ]
  for row in rows {
    let two = { (value: Double) in "\((value * 100).rounded() / 100)" }
    lines.append(
      "| \(row.number) | \(padded(row.name, 34)) | \(row.rows) | \(time(row.floor)) | \(time(row.ours)) | "
        + "\(two(row.ratio)) (\(two(row.quartiles[0]))–\(two(row.quartiles[1]))) | "
        + "≤ \(row.firstStage) \(row.ratio <= row.firstStage ? "✓" : "✗") | ≤ \(row.goal) \(row.ratio <= row.goal ? "✓" : "✗") |"
    )
  }
  return lines.joined(separator: "\n")
}
