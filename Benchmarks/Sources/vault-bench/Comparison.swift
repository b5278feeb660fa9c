// Two builds of this program, one after the other and again: whether they differ by more than the machine does.

import Foundation

/// Runs workloads by two programs in pairs.
struct Comparison {
  /// The program of the other revision, and this one.
  let former: String
  let present = CommandLine.arguments[0]
  let options: [String]

  /// A workload's ratio to the floor by each of both, run after run.
  struct Row {
    let name: String
    var former: [Double] = []
    var present: [Double] = []
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
        rows[one.name]?.former.append(other.counted)
        rows[one.name]?.present.append(one.counted)
      }
    }
    let head =
      "| # | workload | before | now | faster in | sign test |\n| --- | --- | --- | --- | --- | --- |"
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

extension Comparison.Row {
  private func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

  /// How likely it is that of two programs of one speed the one wins at least so often, or at most.
  private var chance: Double {
    let different = zip(former, present).filter { $0 != $1 }
    let wins = different.filter { $0 > $1 }.count
    let extreme = max(wins, different.count - wins)
    guard !different.isEmpty else { return 1 }
    var ways = 1.0
    var sum = 0.0
    for count in 0...different.count {
      if count >= extreme { sum += ways }
      ways = ways * Double(different.count - count) / Double(count + 1)
    }
    return min(1, 2 * sum / pow(2, Double(different.count)))
  }

  fileprivate var line: String {
    let two = { (value: Double) in "\((value * 100).rounded() / 100)" }
    let wins = zip(former, present).filter { $0 > $1 }.count
    let verdict = chance > 0.05 ? "no difference seen" : wins * 2 > former.count ? "faster" : "slower"
    return
      "| \(name) | \(two(median(former))) | \(two(median(present))) | \(wins) of \(former.count) | \(verdict) (p = \((chance * 10_000).rounded() / 10_000)) |"
  }
}
