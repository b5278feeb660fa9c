// Two builds of this program, one after the other and again: whether they differ by more than the machine
// does.

import Foundation

/// Runs workloads by two programs in pairs.
struct Comparison {
  /// The program of the other revision, and this one.
  let former: String
  let present = CommandLine.arguments[0]
  let options: [String]

  /// What a workload took by each of both, run after run.
  struct Row {
    let name: String
    /// Of the floor of the same run, which the machine slows down as it does ours.
    var ratios = Turns()
    /// By itself: a floor that was changed between the two revisions does not show in it.
    var times = Turns()
  }

  func run(pairs: Int) throws -> String {
    var rows: [String: Row] = [:]
    var order: [String] = []
    for pair in 0..<pairs {
      FileHandle.standardError.write(Data("pair \(pair + 1) of \(pairs) …\n".utf8))
      // Taking turns in who goes first: what warms up or cools down meets both.
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

/// What two programs took, in turns.
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
  /// The median of what the one is of the other.
  var share: Double { median(zip(former, present).map { $1 / $0 }) }
  private var wins: Int { zip(former, present).filter { $0 > $1 }.count }

  /// How likely it is that of two programs of one speed the one wins at least so often, or at most.
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

  /// In how many turns the present one was faster, and what that says.
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
