// Where a run of steps is, in rows. Those of a part of a step are spread over its statements by what each costs: a table that is
// copied is dropped and indexed, too, and its rows are done behind that.

internal import CipherSQLite
package import Foundation

/// Tells a `Progress` of the rows that are written, and of one more for each step, so that one without rows is seen, too.
package final class RunMeter {
  private var progress: Progress?
  /// The rows of each part of the steps that are left, as foreseen.
  private var steps: ArraySlice<[Int]> = []
  private var parts: ArraySlice<Int> = []
  /// The present part: what stands before it, its rows, and what its statements cost.
  private var part: (begin: Int64, rows: Int, cost: Double) = (0, 0, 0)
  /// What was paid of that, and what the present statement costs.
  private var paid = 0.0
  private var cost = 0.0
  /// How far the present statement is, from 0 to 1.
  private var fraction = 0.0
  private var end: Int64 = 0
  /// What stands, whatever becomes of the rest.
  private var kept: Int64 = 0

  package init() {}

  /// Begins an attempt: behind what stands of earlier ones.
  /// - Parameter rows: Those of each part of each step that is left, as foreseen.
  package func begin(_ progress: Progress, rows: [[Int]]) {
    steps = rows[...]
    (self.progress, end) = (progress, kept)
    // The total first: who draws a bar between the two shall not see more than the whole.
    progress.totalUnitCount = kept + rows.reduce(0) { $0 + Self.units($1) }
    progress.completedUnitCount = kept
  }

  private static func units(_ parts: [Int]) -> Int64 { parts.reduce(1) { $0 + Int64($1) } }

  /// The steps that have ended were committed.
  package func keep() { kept = end }

  package func beginStep() {
    guard let parts = steps.popFirst() else { return }
    self.parts = parts[...]
    part = (end, 0, 0)
    end += Self.units(parts)
  }

  /// - Parameter cost: What all of its statements cost.
  package func beginPart(cost: Double) {
    part = (part.begin + Int64(part.rows), parts.popFirst() ?? 0, cost)
    (paid, self.cost, fraction) = (0, 0, 0)
    show()
  }

  /// - Parameters:
  ///   - cost: What it costs, of that of the part.
  ///   - doing: What is shown of it meanwhile.
  package func beginStatement(cost: Double, _ doing: @autoclosure () -> String) {
    (self.cost, fraction) = (cost, 0)
    progress?.setUserInfoObject(doing(), forKey: .storeRunsStatement)
  }

  package func endStatement() {
    paid += cost
    (cost, fraction) = (0, 0)
    show()
  }

  /// The present statement is so far.
  package func reached(_ fraction: Double) {
    self.fraction = min(1, max(self.fraction, fraction))
    show()
  }

  /// The present statement is so many rows further; there may be more than were foreseen.
  package func wrote(_ rows: Int) {
    guard part.rows > 0 else { return }
    reached(fraction + Double(rows) / Double(part.rows))
  }

  /// The engine has done so many instructions for the present statement. How many a row takes is a guess, and what is left to be
  /// done is never nothing.
  package func worked(_ instructions: Int, perRow: Int) {
    guard part.rows > 0, fraction < Self.nearlyAll else { return }
    reached(min(Self.nearlyAll, fraction + Double(instructions) / Double(perRow * part.rows)))
  }
  private static let nearlyAll = 0.95

  package func endStep() {
    progress?.completedUnitCount = end
    progress?.setUserInfoObject(nil, forKey: .storeRunsStatement)
  }

  private func show() {
    guard let progress, part.cost > 0 else { return }
    let done = min(1, (paid + fraction * cost) / part.cost)
    let reached = part.begin + Int64((done * Double(part.rows)).rounded(.down))
    progress.completedUnitCount = max(progress.completedUnitCount, min(max(end - 1, 0), reached))
  }
}

extension ProgressUserInfoKey {
  /// What runs at the moment, in words; absent while no statement of a step does.
  package static let storeRunsStatement = ProgressUserInfoKey(
    rawValue: "ObjectVault.storeRunsStatement")
}

extension CompiledStatement {
  /// What it costs for each row, of its part's: a copy of 300,000 rows took 0.6 s, to drop them 1.0 s, an index 0.25 s.
  var cost: Double {
    switch self {
    case .copy: 2
    case .data: 3
    case .transform: 10
    case .raw(let statement) where statement.object.kind == .index: 1
    case .sql(let sql):
      sql.hasPrefix("DROP TABLE ") ? 3 : isIndex ? 1 : changesRows ? 3 : 0.01
    case .mustBeEmpty, .require: 0.3
    case .raw, .rawMustFit: 0.01
    }
  }

  /// How many instructions of the engine a row takes, about.
  var instructionsPerRow: Int { isIndex ? 10 : 20 }

  /// Whether rows are counted while it runs.
  var countsRows: Bool {
    switch self {
    case .copy, .transform: true
    default: false
    }
  }

  private var isIndex: Bool {
    switch self {
    case .sql(let sql): sql.hasPrefix("CREATE INDEX ") || sql.hasPrefix("CREATE UNIQUE INDEX ")
    case .raw(let statement): statement.object.kind == .index
    default: false
    }
  }
}
