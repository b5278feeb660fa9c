// The progress of a run of steps, in rows. The rows of a part are spread over its statements by cost: a
// table that is copied is also dropped and indexed, and its rows count as done after that.

internal import CipherSQLite
package import Foundation

/// Updates a `Progress` with the rows that are written, and with one more unit for each step, so that a
/// step without rows is visible, too.
package final class RunMeter {
  private var progress: Progress?
  /// The forecast rows of each part of the remaining steps.
  private var steps: ArraySlice<[Int]> = []
  private var parts: ArraySlice<Int> = []
  /// The present part: the units before it, its rows, and the cost of its statements.
  private var part: (begin: Int64, rows: Int, cost: Double) = (0, 0, 0)
  /// The cost of the part's finished statements, and the cost of the present statement.
  private var paid = 0.0
  private var cost = 0.0
  /// The finished fraction of the present statement, from 0 to 1.
  private var fraction = 0.0
  private var end: Int64 = 0
  /// The units of committed steps.
  private var kept: Int64 = 0

  package init() {}

  /// Begins an attempt, after the committed steps of earlier ones.
  /// - Parameter rows: The forecast rows of each part of each remaining step.
  package func begin(_ progress: Progress, rows: [[Int]]) {
    steps = rows[...]
    (self.progress, end) = (progress, kept)
    // The total first: an observer between the two assignments must not see more than the whole.
    progress.totalUnitCount = kept + rows.reduce(0) { $0 + Self.units($1) }
    progress.completedUnitCount = kept
  }

  private static func units(_ parts: [Int]) -> Int64 { parts.reduce(1) { $0 + Int64($1) } }

  /// Records that the finished steps were committed.
  package func keep() { kept = end }

  package func beginStep() {
    guard let parts = steps.popFirst() else { return }
    self.parts = parts[...]
    part = (end, 0, 0)
    end += Self.units(parts)
  }

  /// Begins a part.
  /// - Parameter cost: The cost of all its statements.
  package func beginPart(cost: Double) {
    part = (part.begin + Int64(part.rows), parts.popFirst() ?? 0, cost)
    (paid, self.cost, fraction) = (0, 0, 0)
    show()
  }

  /// Begins a statement.
  /// - Parameters:
  ///   - cost: Its share of the cost of the part.
  ///   - doing: The text shown meanwhile.
  package func beginStatement(cost: Double, _ doing: @autoclosure () -> String) {
    (self.cost, fraction) = (cost, 0)
    progress?.setUserInfoObject(doing(), forKey: .storeRunsStatement)
  }

  package func endStatement() {
    paid += cost
    (cost, fraction) = (0, 0)
    show()
  }

  /// Updates the finished fraction of the present statement.
  package func reached(_ fraction: Double) {
    self.fraction = min(1, max(self.fraction, fraction))
    show()
  }

  /// Adds written rows to the present statement; there may be more than were forecast.
  package func wrote(_ rows: Int) {
    guard part.rows > 0 else { return }
    reached(fraction + Double(rows) / Double(part.rows))
  }

  /// Adds executed engine instructions to the present statement. The number per row is an estimate, so
  /// the fraction stays below 1.
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
  /// The text of what runs at the moment; absent while no statement of a step runs.
  package static let storeRunsStatement = ProgressUserInfoKey(
    rawValue: "ObjectVault.storeRunsStatement")
}

extension CompiledStatement {
  /// The cost per row, relative to other statements. Measured: a copy of 300,000 rows took 0.6 s,
  /// dropping them 1.0 s, an index 0.25 s.
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

  /// The approximate number of engine instructions per row.
  var instructionsPerRow: Int { isIndex ? 10 : 20 }

  /// Whether the run counts rows while the statement runs.
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
