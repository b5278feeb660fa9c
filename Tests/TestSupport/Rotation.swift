// Selects the part of a long list of cases that this run takes.

import Foundation

/// A daily sample of a list of cases; every case is taken in time. The long form takes all of them.
public enum Rotation {
  /// The number of the part that this run takes: `VAULT_SAMPLE`, which `Scripts/test` prints, or the number
  /// of days since 1970.
  public static let seed =
    ProcessInfo.processInfo.environment["VAULT_SAMPLE"].flatMap { Int($0) }
    ?? Int(Date.now.timeIntervalSince1970 / 86_400)

  /// The cases in their order, rotated by day: for a test that takes the first few that apply.
  /// - Parameter step: The number of places per day.
  public static func turned<Case>(_ cases: [Case], by step: Int) -> [Case] {
    guard !cases.isEmpty else { return [] }
    let start = (seed % cases.count * step) % cases.count
    return Array(cases[start...] + cases[..<start])
  }

  /// The cases that this run takes: all in the long form.
  /// - Parameter share: One case in this number is taken.
  public static func part<Case>(of cases: [Case], oneIn share: Int) -> [Case] {
    cases.enumerated().filter { isTorture || ($0.offset &+ seed) % max(share, 1) == 0 }.map(\.element)
  }
}
