// What steps come to before they run, for a screen and for a limit. The rows are counted by RowForecast.

internal import CipherSQLite

/// What running steps comes to.
public struct MigrationCost: Sendable, Hashable {
  /// The rows that are written again, moved or indexed, and those of lists of values (`INSERT … VALUES`). Of a table of more than
  /// 10,000 it is how far its ids reach, which is more where many were deleted: counting takes longer the more there are.
  public let rows: Int
  /// How long it may take, in seconds: a guess for a machine of some years, from the rows, the size of the file, whose
  /// references are checked, and the copy that is made before.
  public let seconds: Double

  /// 300,000 rows of 200 bytes with two indexes took 2.0 s to copy, drop and index; their references were checked in 0.16 s, of
  /// 62 MB, and are before the steps and behind them.
  init(rows: Int, storeBytes: Int, makesBackup: Bool) {
    self.rows = rows
    seconds = Double(rows) * 7e-6 + Double(storeBytes) * (makesBackup ? 15e-9 : 5e-9)
  }

  /// - Parameter rows: Of each step.
  init(_ work: MigrationWork, rows: [Int], storeBytes: Int, makesBackups: Bool) {
    let sum = rows.reduce(0, +)
    self.init(
      rows: sum, storeBytes: work.isNothing && sum == 0 ? 0 : storeBytes,
      makesBackup: makesBackups && work.steps.contains(where: \.wantsBackup))
  }
}

/// How much an opening may do before it returns.
public struct MigrationLimit: Sendable, Hashable {
  private enum Bound: Hashable {
    case rows(Int)
    case seconds(Double)
  }
  private let bound: Bound

  /// So many rows may be written again, moved, indexed or inserted from lists of values. With 0 run only steps that touch no
  /// row, such as `create entity` or `add attribute … optional`.
  public static func rows(_ count: Int) -> MigrationLimit { MigrationLimit(bound: .rows(count)) }
  /// So many seconds, as far as they can be guessed.
  public static func seconds(_ seconds: Double) -> MigrationLimit { MigrationLimit(bound: .seconds(seconds)) }

  func admits(_ cost: MigrationCost) -> Bool {
    switch bound {
    case .rows(let count): cost.rows <= count
    case .seconds(let seconds): cost.seconds <= seconds
    }
  }
}
