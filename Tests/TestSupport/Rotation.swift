// Chooses the part of a long list of cases that this run takes.

import Foundation

/// A part of a row of cases that changes from day to day, so that each case has its turn. `make torture` takes all of them.
public enum Rotation {
  /// Which part this run takes: `VAULT_SAMPLE`, which `Scripts/test` prints, or the number of days since 1970.
  public static let seed =
    ProcessInfo.processInfo.environment["VAULT_SAMPLE"].flatMap { Int($0) }
    ?? Int(Date.now.timeIntervalSince1970 / 86_400)

  /// The cases in their order, begun elsewhere each day: for a test that takes the first few that apply.
  /// - Parameter step: How many places further the next day begins.
  public static func turned<Case>(_ cases: [Case], by step: Int) -> [Case] {
    guard !cases.isEmpty else { return [] }
    let start = (seed % cases.count * step) % cases.count
    return Array(cases[start...] + cases[..<start])
  }

  /// The cases that this run takes: all in the long form.
  /// - Parameter share: How many parts the list has.
  public static func part<Case>(of cases: [Case], ofEach share: Int) -> [Case] {
    cases.enumerated().filter { isTorture || ($0.offset &+ seed) % max(share, 1) == 0 }.map(\.element)
  }
}
