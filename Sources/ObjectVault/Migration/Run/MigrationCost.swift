// The estimated cost of steps, for screens and for a limit. RowForecast counts the rows.

internal import CipherSQLite

/// The estimated cost of running steps.
public struct MigrationCost: Sendable, Hashable {
  /// The number of rows that are copied, moved or indexed, and of rows in lists of values (`INSERT
  /// … VALUES`).
  ///
  /// The rows of a table are counted up to 10,000. Above that, the range of its ids is the estimate, if
  /// it has ids, because counting takes time in proportion to the rows. The estimate is too high where
  /// many rows were deleted.
  public let rows: Int
  /// The estimated duration in seconds on a machine some years old. It follows from the rows, from the size
  /// of the file, whose references are checked, and from the copy that is made before the run.
  public let seconds: Double

  /// Measured: 300,000 rows of 200 bytes with two indexes took 2.0 s to copy, drop and index. Checking
  /// their references took 0.16 s for 62 MB, and happens before and after the steps.
  init(rows: Int, storeBytes: Int, makesBackup: Bool) {
    self.rows = rows
    seconds = Double(rows) * 7e-6 + Double(storeBytes) * (makesBackup ? 15e-9 : 5e-9)
  }

  /// - Parameter rows: The rows of each step.
  init(_ work: MigrationWork, rows: [Int], storeBytes: Int, makesBackups: Bool) {
    let sum = rows.reduce(0, +)
    self.init(
      rows: sum, storeBytes: work.isNothing && sum == 0 ? 0 : storeBytes,
      makesBackup: makesBackups && work.steps.contains(where: \.wantsBackup))
  }
}

/// The maximum work of opening a store: an opening that needs more is refused.
public struct MigrationLimit: Sendable, Hashable {
  private enum Bound: Hashable {
    case rows(Int)
    case seconds(Double)
  }
  private let bound: Bound

  /// Allows this number of rows to be copied, moved, indexed or inserted from lists of values.
  ///
  /// With 0, only steps that touch no row may run: `create entity` or `add attribute … optional`, for
  /// example.
  /// - Parameter count: The maximum number of rows: see ``MigrationCost/rows``.
  /// - Returns: The limit.
  public static func rows(_ count: Int) -> MigrationLimit { MigrationLimit(bound: .rows(count)) }
  /// Allows this estimated duration.
  /// - Parameter seconds: The maximum of ``MigrationCost/seconds``.
  /// - Returns: The limit.
  public static func seconds(_ seconds: Double) -> MigrationLimit { MigrationLimit(bound: .seconds(seconds)) }

  func admits(_ cost: MigrationCost) -> Bool {
    switch bound {
    case .rows(let count): cost.rows <= count
    case .seconds(let seconds): cost.seconds <= seconds
    }
  }
}
