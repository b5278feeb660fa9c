// Lock files that a merge, an editor or a disk changed: they are read as far as they make sense. A released
// step is never taken for another one, and a step whose line is missing is never taken for one that had no
// line. VAULT_SECONDS makes the tests longer.

import Foundation
import Migrations
import ObjectVault
import StoreMigrateKit
import TestSupport
import Testing

@Suite(.tags(.pure, .random, .slow)) struct LockFuzz {
  private static let words = [
    "<<<<<<< ours\n", "=======\n", "||||||| base\n", ">>>>>>> theirs\n", "released: ", "released: 4.1\n",
    "\n", "\r\n", " ",
    "0001", "-1", "99999999999999999999", "s1:", "chain:", "model:", "\0", "\u{FEFF}", "é", "# ",
  ]

  private static func released() throws -> String {
    try String(
      contentsOf: packageRoot.appendingPathComponent("Migrations/migrations.lock"), encoding: .utf8)
      + "released: 1.0\n"
  }

  private static func isRefused(_ text: String, _ set: MigrationSet) -> Bool {
    isRefused(Releases(text: text), set)
  }

  private static func isRefused(_ releases: Releases, _ set: MigrationSet) -> Bool {
    do { try releases.requireKept(in: set) } catch { return true }
    return false
  }

  /// A text with bytes inserted, removed or copied.
  private static func mutated(_ text: String, _ random: inout SeededGenerator) -> String {
    var bytes = Array(text.utf8)
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let place = Int.random(in: 0...bytes.count, using: &random)
      let stop = min(bytes.count, place + Int.random(in: 0...80, using: &random))
      switch Int.random(in: 0..<5, using: &random) {
      case 0: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
      case 1: bytes.removeSubrange(place..<stop)
      case 4 where place < bytes.count:
        bytes[place] = Array("0123456789abcdef".utf8).randomElement(using: &random) ?? 48
      case 2:
        bytes.insert(contentsOf: Array((words.randomElement(using: &random) ?? "").utf8), at: place)
      default:
        bytes.insert(
          contentsOf: Array(bytes[place..<stop]), at: Int.random(in: 0...bytes.count, using: &random))
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Whether a text, outside of conflicts and before a release, records another name or checksum of a step.
  private static func tellsOfAnother(_ text: String, than set: MigrationSet) -> Bool {
    let lines = text.split(whereSeparator: \.isNewline)
    let markers = ["<<<<<<<", "=======", "|||||||"]
    guard !lines.contains(where: { line in markers.contains { line.hasPrefix($0) } }),
      let end = lines.lastIndex(where: { $0.wholeMatch(of: #/released: ?[0-9].*/#) != nil })
    else { return false }
    return lines[..<end].contains { line in
      guard let match = line.prefixMatch(of: #/([0-9]{1,6}) (\w+) (s1:[0-9a-f]{64}) /#) else { return false }
      let step = set.steps.first { $0.number == Int(match.1) }
      return step?.name != String(match.2) || step?.checksum != String(match.3)
    }
  }

  @Test func `each changed digit of a released checksum, and each other name or number, is refused`() throws {
    let set = try MigrationSet.embedded(MicroblogMigrations.steps)
    let released = try Self.released()
    #expect(!Self.isRefused(released, set))
    var tried = 0
    for step in set.steps {
      let line = "\(step.name) \(step.checksum)"
      #expect(released.contains(line))
      let digits = Array(step.checksum)
      for place in digits.indices.dropFirst("s1:".count) {
        var other = digits
        other[place] = digits[place] == "0" ? "1" : "0"
        let text = released.replacing(line, with: "\(step.name) \(String(other))")
        #expect(Self.isRefused(text, set) && Self.tellsOfAnother(text, than: set), "\(step.number), \(place)")
        // As an editor of another system leaves the file.
        #expect(Self.isRefused(text.replacing("\n", with: "\r\n"), set), "\(step.number), \(place)")
        tried += 1
      }
      #expect(Self.isRefused(released.replacing(line, with: "x\(line)"), set), "\(step.number)")
      #expect(Self.isRefused(released.replacing(" \(line)", with: "9 \(line)"), set), "\(step.number)")
    }
    #expect(tried == 64 * set.version)
    // After the last release a step may still change.
    let last = try #require(set.steps.last)
    let pending = released.replacing("released: 1.0\n", with: "").replacing(
      "\n000\(last.number)", with: "\nreleased: 1.0\n000\(last.number)")
    #expect(pending != released && !Self.isRefused(pending.replacing(last.checksum, with: "s1:0"), set))
  }

  @Test func `any lock file can be read, and one that records another released step is refused`() throws {
    let set = try MigrationSet.embedded(MicroblogMigrations.steps)
    let released = try Self.released()
    let whole = Releases(text: released)
    #expect(whole.version == set.version)
    try whole.requireKept(in: set)
    var random = SeededGenerator(seed: 1066)
    let end = Date(timeIntervalSinceNow: max(1, childSeconds))
    var (rounds, kept, refused, told) = (0, 0, 0, 0)
    // The first rounds are always the same: they have enough of each outcome, also on a slow machine.
    while rounds < 5 || Date() < end {
      rounds += 1
      for _ in 0..<50 {
        let text = Self.mutated(released, &random)
        let isRefused = Self.isRefused(text, set)
        if isRefused { refused += 1 } else { kept += 1 }
        guard Self.tellsOfAnother(text, than: set) else { continue }
        told += 1
        #expect(isRefused, "\(text)")
      }
    }
    #expect(kept > 5 && refused > 5 && told > 5, "\(kept), \(refused) and \(told)")
  }

  // MARK: Beside the steps that were written with it

  private static let folder = packageRoot.appendingPathComponent("Migrations")

  /// The text with one more line.
  private static func extended(_ text: String, _ random: inout SeededGenerator) -> String {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let more =
      ["", " ", "# more", "<<<<<<< ours", "=======", "\r", "more"].randomElement(using: &random) ?? ""
    lines.insert(more, at: Int.random(in: 0..<lines.count, using: &random))
    return lines.joined(separator: "\n")
  }

  /// Whether the text has a line that begins with the number of each step.
  private static func hasLines(_ text: String, of set: MigrationSet) -> Bool {
    let numbers = Set(text.split(whereSeparator: \.isNewline).compactMap { Int($0.prefix { $0 != " " }) })
    return set.steps.allSatisfy { numbers.contains($0.number) }
  }

  @Test func `a lock file that lacks the line of an embedded step is always refused`() throws {
    let set = try MigrationSet.embedded(MicroblogMigrations.steps)
    let released = try Self.released()
    let embedded = try String(
      contentsOf: Self.folder.appendingPathComponent("Embedded.swift"), encoding: .utf8)
    #expect(!Self.isRefused(Releases(lock: released, embedded: embedded), set))
    #expect(Self.isRefused(Releases(lock: nil, embedded: embedded), set))
    var random = SeededGenerator(seed: 1492)
    let end = Date(timeIntervalSinceNow: max(1, childSeconds))
    var (rounds, kept, damaged) = (0, 0, 0)
    while rounds < 5 || Date() < end {
      rounds += 1
      for _ in 0..<50 {
        let text = Self.mutated(released, &random)
        let isRefused = Self.isRefused(Releases(lock: text, embedded: embedded), set)
        if !isRefused { kept += 1 }
        // Without the embedded code fewer texts are refused.
        let isRefusedAlone = Self.isRefused(text, set)
        if isRefused, !isRefusedAlone { damaged += 1 }
        #expect(isRefused || !isRefusedAlone, "\(text)")
        #expect(isRefused || Self.hasLines(text, of: set), "\(text)")
      }
    }
    #expect(kept > 2 && damaged > 5, "\(kept) and \(damaged)")
  }

  @Test func `check and embed succeed with a fuzzed lock file, or report what is wrong with it`() throws {
    let set = try MigrationSet.embedded(MicroblogMigrations.steps)
    let released = try Self.released()
    let folder = try TemporaryFolder()
    let steps = folder.url.appendingPathComponent("Migrations")
    try FileManager.default.copyItem(at: Self.folder, to: steps)
    let lock = steps.appendingPathComponent("migrations.lock")
    func run(_ command: String) throws -> ToolResult {
      try runTool(builtExecutable("store-migrate"), [command, "-m", steps.path, "--no-input"])
    }
    var random = SeededGenerator(seed: 1517)
    let end = Date(timeIntervalSinceNow: childSeconds)
    var (rounds, written, refused) = (0, 0, 0)
    while rounds < 16 || childSeconds > 1 && Date() < end {
      rounds += 1
      // A mutated text is nearly always refused. An additional line need not be.
      let text = rounds % 3 == 0 ? Self.extended(released, &random) : Self.mutated(released, &random)
      try Data(text.utf8).write(to: lock)
      for (command, codes) in [("check", [0, 2]), ("embed", [0, 1, 3])] as [(String, [Int32])] {
        let result = try run(command)
        #expect(!result.isKilled && codes.contains(result.status), "\(command): \(result)\n\(text)")
        let said = result.output + result.errors
        // For a step that was released as another one, the message has the file of the step and the release.
        #expect(
          result.status == 0 || said.contains("migrations.lock") || said.contains("released with"),
          "\(command): \(result)\n\(text)")
        guard command == "embed" else { continue }
        let now = try String(contentsOf: lock, encoding: .utf8)
        if result.status == 0 {
          written += 1
          #expect(Releases(text: now).version == Releases(text: text).version, "\(text)\n\(now)")
          #expect(Self.hasLines(now, of: set) && !Self.isRefused(now, set), "\(text)\n\(now)")
        } else {
          refused += 1
          #expect(now == text, "a refused lock file was changed")
        }
      }
    }
    #expect(written > 0 && refused > 0, "\(written) and \(refused)")
  }
}
