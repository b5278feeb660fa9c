// Lock files that a merge, an editor or a disk made something else of: they are read as far as they say something, and a
// step that was released is never taken for another. Longer: VAULT_SECONDS.

import Foundation
import Migrations
import ObjectVault
import StoreMigrateKit
import TestSupport
import Testing

@Suite struct LockFuzz {
  private static let words = [
    "<<<<<<< ours\n", "=======\n", "||||||| base\n", ">>>>>>> theirs\n", "released: ", "released: 4.1\n",
    "\n", "\r\n", " ",
    "0001", "-1", "99999999999999999999", "s1:", "chain:", "model:", "\0", "\u{FEFF}", "é", "# ",
  ]

  @Test func `whatever stands in a lock file is read, and a whole one keeps its releases`() throws {
    let lock = try String(
      contentsOf: packageRoot.appendingPathComponent("Migrations/migrations.lock"), encoding: .utf8)
    let set = try MigrationSet.embedded(MicroblogMigrations.steps)
    let released = lock + "released: 1.0\n"
    let whole = Releases(text: released)
    #expect(whole.version == set.version)
    try whole.requireKept(in: set)
    var random = SeededGenerator(seed: 1066)
    let end = Date(timeIntervalSinceNow: max(1, childSeconds))
    var (rounds, kept, refused) = (0, 0, 0)
    // The first rounds are always the same: they hold enough of both, also on a slow machine.
    while rounds < 5 || Date() < end {
      rounds += 1
      for _ in 0..<50 {
        var bytes = Array(released.utf8)
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          let place = Int.random(in: 0...bytes.count, using: &random)
          let stop = min(bytes.count, place + Int.random(in: 0...80, using: &random))
          switch Int.random(in: 0..<4, using: &random) {
          case 0: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
          case 1: bytes.removeSubrange(place..<stop)
          case 2:
            bytes.insert(contentsOf: Array((Self.words.randomElement(using: &random) ?? "").utf8), at: place)
          default:
            bytes.insert(
              contentsOf: Array(bytes[place..<stop]), at: Int.random(in: 0...bytes.count, using: &random))
          }
        }
        let releases = Releases(text: String(decoding: bytes, as: UTF8.self))
        do {
          try releases.requireKept(in: set)
          kept += 1
        } catch { refused += 1 }
      }
    }
    #expect(kept > 5 && refused > 5, "\(kept) and \(refused)")
  }
}
