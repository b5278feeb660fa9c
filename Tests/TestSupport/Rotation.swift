// What a run takes of more cases than it has time for.

import Foundation

/// A part of a row of cases that changes from day to day, so that each case has its turn. `make torture` takes all of them.
public enum Rotation {
  /// Which part this run takes: `VAULT_SAMPLE`, which `Scripts/test` prints, or the number of days since 1970.
  public static let seed =
    ProcessInfo.processInfo.environment["VAULT_SAMPLE"].flatMap { Int($0) }
    ?? Int(Date.now.timeIntervalSince1970 / 86_400)

  /// Whether this run takes a case.
  /// - Parameters:
  ///   - index: The number of the case in its row.
  ///   - share: How many parts the row has.
  public static func takes(_ index: Int, ofEach share: Int) -> Bool {
    isTorture || (index &+ seed) % max(share, 1) == 0
  }

  /// The cases that this run takes.
  public static func part<Case>(of cases: [Case], ofEach share: Int) -> [Case] {
    cases.enumerated().filter { takes($0.offset, ofEach: share) }.map(\.element)
  }
}
