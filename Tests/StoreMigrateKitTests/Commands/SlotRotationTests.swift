// slots rotate and forget with the real binary: files under a former data key open until that key is
// discarded.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct SlotRotations {
  let folder: TemporaryFolder
  let keys: String
  let secret: String

  init() throws {
    folder = try TemporaryFolder()
    keys = folder.path("app.keys")
    secret = folder.path("ann")
    try Data(String(repeating: "ab", count: 32).utf8).write(to: URL(fileURLWithPath: secret))
    #expect(chmod(secret, 0o600) == 0)
    #expect(
      try run("slots", "create", keys, "Ann", "--new-key-file", secret, "--new-key-format", "hex").status == 0
    )
  }

  func run(_ words: String...) throws -> ToolResult {
    try runTool(builtExecutable("store-migrate"), words + ["--no-input"])
  }

  /// Runs the tool with the key file as the key.
  func open(_ words: String...) throws -> ToolResult {
    try runTool(
      builtExecutable("store-migrate"),
      words + ["--slots", keys, "--key-file", secret, "--key-format", "hex", "--no-input"])
  }

  func slots(_ words: String...) throws -> ToolResult {
    try runTool(
      builtExecutable("store-migrate"),
      ["slots"] + words + ["--key-file", secret, "--key-format", "hex", "--no-input"])
  }

  func rotate(_ stores: String...) throws -> ToolResult {
    try runTool(
      builtExecutable("store-migrate"),
      ["slots", "rotate", keys] + stores.map(folder.path)
        + ["--keep", "Ann=\(secret)", "--key-file", secret, "--key-format", "hex", "--no-input"])
  }

  /// Writes steps of which the second one makes a copy of the store before it runs.
  func steps(_ count: Int) throws -> String {
    let path = folder.path("steps")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let texts = [
      "format: 1\nname: note\n\n[up]\ncreate entity Note {\n    attribute text string\n}\n",
      "format: 1\nname: title\nbackup: always\n\n[up]\nadd attribute Note.title string optional\n",
    ]
    for number in 0..<count {
      let name = ["0001_note.migration", "0002_title.migration"][number]
      try Data(texts[number].utf8).write(to: URL(fileURLWithPath: path + "/" + name))
    }
    return path
  }

  @Test func `after a rotation a second store, a backup and an automatic copy open and are listed`() throws {
    let first = try steps(1)
    for store in ["a.store", "b.store"] {
      #expect(try open("create", folder.path(store), "-m", first).status == 0)
    }
    #expect(try open("up", folder.path("a.store"), "-m", steps(2)).status == 0)
    #expect(try open("backup", folder.path("a.store"), folder.path("monday.store")).status == 0)
    let copy = try #require(folder.names.first { $0.hasSuffix(".backup") })
    let rotated = try rotate("a.store")
    #expect(rotated.status == 0, "\(rotated)")
    #expect(rotated.output.contains("Data key 2 is in use."), "\(rotated)")
    let year = Calendar(identifier: .gregorian).component(.year, from: Date())
    #expect(rotated.output.contains("Data key 1 was replaced \(year)-"), "\(rotated)")
    #expect(rotated.output.contains("3 files were last recorded with it:"), "\(rotated)")
    for name in ["b.store", "monday.store", copy] { #expect(rotated.output.contains(name), "\(rotated)") }
    for name in ["a.store", "b.store", "monday.store", copy] {
      let count = try open("count", folder.path(name), "Note")
      #expect(count.status == 0 && count.output.hasPrefix("0"), "\(name): \(count)")
    }
    #expect(try slots("list", keys).status == 64, "list takes no key")
    let listed = try run("slots", "list", keys)
    #expect(listed.status == 0 && listed.output == rotated.output, "\(listed)")
    // A store that was restored from a backup opens as well.
    let restored = try open("restore", folder.path("monday.store"), folder.path("a.store"), "--yes")
    #expect(restored.status == 0, "\(restored)")
    #expect(try open("count", folder.path("a.store"), "Note").status == 0)
  }

  @Test func `rotate takes several stores, and forget names what would be lost and needs --yes`() throws {
    let first = try steps(1)
    for store in ["a.store", "b.store", "c.store"] {
      #expect(try open("create", folder.path(store), "-m", first).status == 0)
    }
    let former = KeyFile.Unlock.rawKey([UInt8](repeating: 0xAB, count: 32))
    let formerKey = try KeyFile.open(at: keys, unlock: former).key
    let rotated = try rotate("a.store", "b.store")
    #expect(rotated.status == 0, "\(rotated)")
    for store in ["a.store", "b.store"] {
      #expect(throws: SQLError.wrongKey(file: folder.path(store))) {
        try Connection.open(folder.path(store), key: formerKey)
      }
      #expect(try open("count", folder.path(store), "Note").status == 0)
    }
    #expect(try Connection.open(folder.path("c.store"), key: formerKey).tableExists("Note"))
    let refused = try slots("forget", keys, "1")
    #expect(
      refused.status == 5 && refused.errors.contains("Found: \(folder.path("c.store"))."), "\(refused)")
    #expect(refused.errors.contains("--yes") && refused.errors.contains("Nothing was changed."), "\(refused)")
    #expect(try open("count", folder.path("c.store"), "Note").status == 0)
    let unknown = try slots("forget", keys, "7", "--yes")
    #expect(unknown.status == 1 && unknown.errors.contains("The former data keys are 1."), "\(unknown)")
    #expect(try slots("forget", keys, "one").status == 64)
    // A rekey brings the last store to the current data key. Then no file needs the former one.
    let brought = try runTool(
      builtExecutable("store-migrate"),
      [
        "rekey", folder.path("c.store"), "--slots", keys, "--new-slots", keys, "--key-file", secret,
        "--key-format", "hex", "--new-key-file", secret, "--new-key-format", "hex", "--no-input",
      ])
    #expect(brought.status == 0, "\(brought)")
    let forgotten = try slots("forget", keys, "1", "--yes")
    #expect(forgotten.status == 0, "\(forgotten)")
    #expect(!forgotten.output.contains("Data key"), "\(forgotten)")
    for store in ["a.store", "b.store", "c.store"] {
      #expect(try open("count", folder.path(store), "Note").status == 0)
    }
    #expect(try KeyFile.generations(at: keys).map(\.number) == [2])
  }

  @Test func `a store is listed only under the data key that it was last seen with`() throws {
    for store in ["a.store", "b.store"] {
      #expect(try open("create", folder.path(store), "-m", steps(1)).status == 0)
    }
    let seen = "1 file was last recorded with it:\n  \(folder.path("b.store"))"
    #expect(try rotate("a.store").output.contains(seen))
    let both = try rotate("a.store", "b.store")
    #expect(both.status == 0 && !both.output.contains("last recorded"), "\(both)")
    #expect(try rotate("a.store").output.contains(seen))
    let brought = try runTool(
      builtExecutable("store-migrate"),
      [
        "rekey", folder.path("b.store"), "--slots", keys, "--new-slots", keys, "--key-file", secret,
        "--key-format", "hex", "--new-key-file", secret, "--new-key-format", "hex", "--no-input",
      ])
    #expect(brought.status == 0, "\(brought)")
    #expect(try open("up", folder.path("b.store"), "-m", steps(2)).status == 0)
    let listed = try run("slots", "list", keys)
    #expect(!listed.output.contains("b.store\n") && !listed.output.hasSuffix("b.store"), "\(listed)")
  }

  @Test func `a store that does not open prevents the rotation of all stores`() throws {
    #expect(try open("create", folder.path("a.store"), "-m", steps(1)).status == 0)
    let before = try folder.bytes("app.keys")
    let twice = try rotate("a.store", "a.store")
    #expect(twice.status == 64 && twice.errors.contains("given twice"), "\(twice)")
    let missing = try rotate("a.store", "none.store")
    #expect(missing.status == 10 && missing.errors.contains("none.store"), "\(missing)")
    #expect(try folder.bytes("app.keys") == before)
  }
}
