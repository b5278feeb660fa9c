// Compares two builds of this program in alternating runs: whether they differ by more than runs of one
// program do.

import Foundation

/// Runs workloads with two programs, in pairs of runs.
struct Comparison {
  /// The program of the other revision, and this program.
  let former: String
  let present = CommandLine.arguments[0]
  let options: [String]

  /// The results of a workload with both programs, run after run.
  struct Row {
    let name: String
    /// The ratios to the floor of the same run. A slow moment of the machine affects both alike.
    var ratios = Turns()
    /// The times of the library alone, which do not depend on a floor that differs between the revisions.
    var times = Turns()
  }

  func run(pairs: Int) throws -> String {
    var rows: [String: Row] = [:]
    var order: [String] = []
    for pair in 0..<pairs {
      FileHandle.standardError.write(Data("pair \(pair + 1) of \(pairs) …\n".utf8))
      // The programs take turns in running first, so that warming up or cooling down affects both.
      let former: [Measured]
      let present: [Measured]
      if pair % 2 == 0 {
        former = try measured(by: self.former)
        present = try measured(by: self.present)
      } else {
        present = try measured(by: self.present)
        former = try measured(by: self.former)
      }
      for one in present {
        guard let other = former.first(where: { $0.name == one.name }) else { continue }
        if rows[one.name] == nil {
          order.append(one.name)
          rows[one.name] = Row(name: "\(one.number) | \(one.name)")
        }
        rows[one.name]?.ratios.add(other.counted, one.counted)
        rows[one.name]?.times.add(other.threadOurs ?? other.ours, one.threadOurs ?? one.ours)
      }
    }
    let head =
      "| # | workload | before | now | faster in | sign test | ours alone: now by before | faster in | sign test |\n"
      + "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    return ([head] + order.compactMap { rows[$0]?.line }).joined(separator: "\n")
  }

  private struct Answer: Decodable { let workloads: [Measured] }

  private func measured(by program: String) throws -> [Measured] {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = ["--json", "--runs", "1"] + options
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return try JSONDecoder().decode(Answer.self, from: data).workloads
  }
}

/// The results of two programs in alternating runs.
struct Turns {
  private var former: [Double] = []
  private var present: [Double] = []

  mutating func add(_ former: Double, _ present: Double) {
    self.former.append(former)
    self.present.append(present)
  }

  private func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
  var before: Double { median(former) }
  var now: Double { median(present) }
  /// The median of the present result divided by the former one.
  var share: Double { median(zip(former, present).map { $1 / $0 }) }
  private var wins: Int { zip(former, present).filter { $0 > $1 }.count }

  /// The p-value of the two-sided sign test: the probability of a result that is at least as uneven, if
  /// both programs are equally fast.
  private var chance: Double {
    let different = zip(former, present).filter { $0 != $1 }.count
    let extreme = max(wins, different - wins)
    guard different > 0 else { return 1 }
    var ways = 1.0
    var sum = 0.0
    for count in 0...different {
      if count >= extreme { sum += ways }
      ways = ways * Double(different - count) / Double(count + 1)
    }
    return min(1, 2 * sum / pow(2, Double(different)))
  }

  /// In how many pairs the present program was faster, and the result of the sign test.
  var verdict: String {
    let word = chance > 0.05 ? "no difference seen" : wins * 2 > former.count ? "faster" : "slower"
    return "\(wins) of \(former.count) | \(word) (p = \((chance * 10_000).rounded() / 10_000))"
  }
}

extension Comparison.Row {
  fileprivate var line: String {
    let two = { (value: Double) in "\((value * 100).rounded() / 100)" }
    return
      "| \(name) | \(two(ratios.before)) | \(two(ratios.now)) | \(ratios.verdict) | \(two(times.share)) | \(times.verdict) |"
  }
}
