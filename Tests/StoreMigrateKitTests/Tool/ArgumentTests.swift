// Arguments that are not a store: each is reported as what it is, with a remedy.

import Foundation
import StoreMigrateKit
import TestSupport
import Testing

@Suite struct CommandArguments {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      at: folder.url.appendingPathComponent("dir"), withIntermediateDirectories: false)
    try folder.write(Data(), to: "empty")
    try folder.write(Data("hello world, no store at all".utf8), to: "text")
  }

  static let cases: [(line: String, code: Int32, message: String)] = [
    ("info absent", 10, "absent: there is no such file. Check the path.\n"),
    ("info absent/a.store", 10, "there is no such file. Check the path.\n"),
    ("info dir", 10, "dir: this is a directory."),
    ("info empty", 12, "empty: the file is empty. Check the path"),
    ("info text", 12, "text: this is not a database that can be used here (it has only 28 bytes)"),
    (
      "info -", 64,
      "info: STORE must be a file, not a pipe. If the file has the name -, write ./-.\n"
    ),
    ("info ''", 64, "info: the path of STORE is empty.\n"),
    ("backup empty -", 64, "backup: FILE must be a file"),
    ("slots create - Ann", 64, "slots: KEYFILE must be a file"),
    ("slots list dir", 10, "this is a directory"),
    ("slots list empty", 12, "Check the path"), ("slots", 64, "takes one of add, change, create"),
    ("encrypt text a.store --new-key-env STORE_MIGRATE_KEY", 12, "text is not a plain SQLite file."),
    ("encrypt dir a.store --new-key-env STORE_MIGRATE_KEY", 10, "this is a directory"),
    ("check", 10, "/Migrations: there is no migrations folder. Give its path with --migrations"),
    ("check -m empty", 10, "/empty: there is no migrations folder."),
    ("embed -m absent", 10, "/absent: there is no migrations folder."),
    (
      "new x -m empty/y", 1,
      "empty/y: this path cannot be used: a part of it is a file, not a folder. Give another one.\n"
    ),
    ("fetch empty", 64, "fetch takes STORE ENTITY, but got 1 argument."),
    ("", 64, "A command is missing. See"),
    ("''", 64, "Unknown command \"\". See"), ("x", 64, "Unknown command \"x\". See"),
    ("help sttus", 64, "Did you mean \"status\"?"),
  ]

  @Test(arguments: cases.indices)
  func `each invalid argument is reported as what it is`(_ index: Int) throws {
    let (line, code, message) = Self.cases[index]
    let names = folder.names
    let result = try runTool(
      "/bin/bash", ["-c", "\"$tool\" \(line) --no-input"],
      environment: ["tool": builtExecutable("store-migrate"), "STORE_MIGRATE_KEY": "horse"],
      directory: folder.url.path)
    #expect(result.status == code && result.output.isEmpty, "\(line): \(result)")
    #expect(
      result.errors.hasPrefix("store-migrate: ") && result.errors.contains(message), "\(line): \(result)")
    #expect(
      !result.errors.contains("Domain=") && !result.errors.contains("to be created"), "\(line): \(result)")
    #expect(folder.names == names)
  }
}
