// A lock file that was truncated or overwritten: no other file records the releases, so they are not
// discarded silently.

import Foundation
import ObjectVault
import StoreMigrateKit
import TestSupport
import Testing

@Suite(.tags(.slow)) struct LockDamages {
  let folder: TemporaryFolder
  let lock: URL
  let whole: String
  var steps: String { folder.path("Steps") }

  init() throws {
    folder = try TemporaryFolder()
    let steps = folder.path("Steps")
    try FileManager.default.createDirectory(atPath: steps, withIntermediateDirectories: false)
    for number in 1...3 {
      try Data("format: 1\n\n[up]\ncreate entity E\(number) {\n attribute n int\n}\n".utf8).write(
        to: URL(fileURLWithPath: "\(steps)/000\(number)_s\(number).migration"))
    }
    let result = try runTool(
      builtExecutable("store-migrate"), ["embed", "--released", "4.10", "-m", steps, "--no-input"])
    #expect(result.status == 0)
    lock = URL(fileURLWithPath: "\(steps)/migrations.lock")
    whole = try String(contentsOf: lock, encoding: .utf8)
  }

  private func run(_ words: String...) throws -> ToolResult {
    try runTool(builtExecutable("store-migrate"), words + ["-m", steps, "--no-input"])
  }

  private func lines(_ count: Int) -> String {
    whole.split(separator: "\n").prefix(count).map { "\($0)\n" }.joined()
  }

  @Test func `a damaged lock file is refused with the place of the damage, and not changed`() throws {
    let step = String(whole.split(separator: "\n")[2])
    let cases: [(text: String, place: String)] = [
      ("", "is empty"), ("\n \n", "is empty"), (String(whole.dropLast(1)), "line 5 has no newline"),
      (String(whole.dropLast(3)), "line 5 has no newline"), (String(whole.dropLast(20)), "line 4"),
      (String(whole.prefix(whole.count / 2)), "line 3"), (lines(3), "0003"), (lines(1), "0001"),
      (whole.replacing(step + "\n", with: ""), "0002"),
      (whole.replacing(step, with: String(step.dropLast(9))), "line 3"),
      (whole.replacing("released:", with: "\0\0\0\0\0\0\0\0\0"), "line 5"),
      (whole.replacing("released: 4.10", with: "released:"), "line 5"),
    ]
    for (text, place) in cases {
      try Data(text.utf8).write(to: lock)
      for words in [
        ["embed"], ["embed", "--released", "4.10"], ["squash", "--to", "3", "--allow-released"],
      ] {
        let told = try runTool(builtExecutable("store-migrate"), words + ["-m", steps, "--no-input"])
        #expect(told.status == 1, "\(words): \(told), \(text)")
        #expect(
          told.errors.contains("migrations.lock") && told.errors.contains(place)
            && told.errors.contains("from version control") && told.errors.contains("Nothing was written"),
          "\(place): \(told)")
        #expect(try Data(contentsOf: lock) == Data(text.utf8))
      }
      let check = try run("check")
      #expect(check.status == 2 && check.output.contains(place), "\(place): \(check)")
      #expect(!check.output.contains("store-migrate embed\n"), "\(check)")
    }
    try Data(whole.utf8).write(to: lock)
    #expect(try run("embed").status == 0 && run("check").status == 0)
  }

  @Test func `the refusal of a damaged lock file lists what to delete if nothing was released`() throws {
    for (text, sentence) in [
      ("", "migrations.lock is empty. Only the lock file records the releases."),
      (String(whole.dropLast(1)), "migrations.lock: line 5 has no newline at its end. Only the lock file"),
    ] {
      try Data(text.utf8).write(to: lock)
      let told = try run("embed")
      #expect(told.errors.contains(sentence), "\(told)")
      #expect(
        told.errors.contains(
          "delete migrations.lock and Embedded.swift instead. Then run this command again"),
        "\(told)")
      #expect(
        try run("check").output.contains(
          sentence.prefix(upTo: sentence.firstRange(of: ". Only")?.lowerBound ?? sentence.endIndex)),
        "\(text)")
    }
    for name in ["migrations.lock", "Embedded.swift"] {
      try FileManager.default.removeItem(atPath: "\(steps)/\(name)")
    }
    #expect(try run("embed").status == 0)
    // Without Embedded.swift only the lock file has to be deleted.
    try FileManager.default.removeItem(atPath: "\(steps)/Embedded.swift")
    try Data().write(to: lock)
    #expect(try run("embed").errors.contains("delete migrations.lock instead. Then run this command again"))
  }

  @Test func `a missing lock file does not make embed, squash and rebase discard the releases`() throws {
    try FileManager.default.removeItem(at: lock)
    let message = "is missing, but Embedded.swift, which is written with it, exists"
    func expectRefusal(_ words: [String]) throws {
      let files = try FileManager.default.contentsOfDirectory(atPath: steps).sorted()
      let told = try runTool(builtExecutable("store-migrate"), words + ["-m", steps, "--no-input"])
      #expect(
        told.status != 0 && told.errors.contains(message)
          && told.errors.contains("delete Embedded.swift instead. Then run"),
        "\(told)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: steps).sorted() == files)
    }
    try expectRefusal(["embed"])
    try expectRefusal(["squash", "--to", "2"])
    // A step of another branch has the same number.
    let mine = "\(steps)/0003_mine.migration"
    try Data("format: 1\n[up]\ncreate entity Mine {\n attribute n int\n}\n".utf8).write(
      to: URL(fileURLWithPath: mine))
    try expectRefusal(["rebase", "0003_mine.migration"])
    try FileManager.default.removeItem(atPath: mine)
    let check = try run("check")
    #expect(check.status == 2 && check.output.contains("from version control"), "\(check)")
    #expect(!check.output.contains("store-migrate embed"), "\(check)")
  }

  @Test func `a lock file with other line ends, merge marks or fewer steps is not damaged`() throws {
    let zeros = String(repeating: "0", count: 64)
    let marks = whole.replacing(
      "0003", with: "<<<<<<< ours\n0003 s3 s1:\(zeros) model:\(zeros) chain:\(zeros)\n=======\n0003"
    ).replacing("released", with: ">>>>>>> theirs\nreleased")
    for text in [whole.replacing("\n", with: "\r\n"), marks, "# Ours\n" + whole + "\n", nil] {
      if let text {
        try Data(text.utf8).write(to: lock)
      } else {
        // Together with the file that is written with it, as if there had never been a lock file.
        try FileManager.default.removeItem(at: lock)
        try FileManager.default.removeItem(atPath: "\(steps)/Embedded.swift")
      }
      let result = try run("embed")
      #expect(result.status == 0, "\(result), \(text ?? "none")")
      let kept = text == nil ? whole.replacing("released: 4.10\n", with: "") : whole
      #expect(try String(contentsOf: lock, encoding: .utf8) == kept)
    }
    // One step more than the lock file has lines.
    try Data(whole.utf8).write(to: lock)
    try Data("format: 1\n\n[up]\ncreate entity E4 {\n attribute n int\n}\n".utf8).write(
      to: URL(fileURLWithPath: "\(steps)/0004_s4.migration"))
    #expect(try run("embed").status == 0)
    #expect(try String(contentsOf: lock, encoding: .utf8).contains("released: 4.10\n0004 s4"))
  }
}
