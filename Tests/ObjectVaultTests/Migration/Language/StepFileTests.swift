// Files with a step's name that are no steps, the mark of a store that is being migrated, and the ends of
// reasons in messages.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct StepFiles {
  @Test(arguments: [
    (S_IFDIR, "this is a folder"), (S_IFIFO, "this is a pipe"), (S_IFREG, "cannot be read as UTF-8"),
  ])
  func `a file with a step's name that is no text is reported with its kind`(_ kind: mode_t, _ words: String)
    throws
  {
    let folder = try TemporaryFolder()
    let path = folder.path("0001_x.migration")
    switch kind {
    case S_IFDIR: try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    case S_IFIFO: #expect(mkfifo(path, 0o600) == 0)
    default: try Data([0xFF, 0xFE]).write(to: URL(fileURLWithPath: path))
    }
    #expect {
      _ = try MigrationSet.directory(folder.url)
    } throws: {
      "\($0)".contains("0001_x.migration:1:1: ") && "\($0)".contains(words)
    }
    let link = folder.path("0001_y.migration")
    try FileManager.default.moveItem(atPath: path, toPath: folder.path("x"))
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.path("x"))
    #expect { _ = try MigrationSet.directory(folder.url) } throws: { "\($0)".contains(words) }
  }

  @Test func `hidden files beside steps, as editors and copying programs make them, are ignored`() throws {
    let folder = try TemporaryFolder()
    let text = Data("format: 1\n[up]\ncreate entity User {\n}\n".utf8)
    try text.write(to: folder.url.appendingPathComponent("0001_x.migration"))
    try Data([0, 5, 22, 7]).write(to: folder.url.appendingPathComponent("._0001_x.migration"))
    try FileManager.default.createSymbolicLink(
      atPath: folder.path(".#0001_x.migration"), withDestinationPath: "ann@host.4711")
    #expect(try MigrationSet.directory(folder.url).steps.map(\.fileName) == ["0001_x.migration"])
  }

  @Test func `a mistyped extension of a step's file is reported, and other files are ignored`() throws {
    let folder = try TemporaryFolder()
    let text = Data("format: 1\n[up]\ncreate entity User {\n}\n".utf8)
    for name in [
      "0001_x.migration", "0002_x.migration~", "0002_x.migration.orig", "0002_x.sql", "0002_x", "README.md",
      "2.mig",
    ] {
      try text.write(to: folder.url.appendingPathComponent(name))
    }
    try FileManager.default.createDirectory(
      at: folder.url.appendingPathComponent("2024.migrations"), withIntermediateDirectories: false)
    #expect(try MigrationSet.directory(folder.url).steps.map(\.fileName) == ["0001_x.migration"])
    for name in ["0002_x.migratoin", "0002_x.migrations", "0002_x.Migration", "2-x.migraton"] {
      let url = folder.url.appendingPathComponent(name)
      try text.write(to: url)
      #expect { _ = try MigrationSet.directory(folder.url) } throws: {
        "\($0)".hasPrefix("\(name):1:1: ") && "\($0)".contains("ends with .migration")
      }
      try FileManager.default.removeItem(at: url)
    }
  }

  @Test func `the SQL of a step is a script, however its blocks end`() throws {
    let database = try TemporaryDatabase()
    let connection = database.connection
    for block in [
      "DELETE FROM $User", "DELETE FROM $User;",
      "DELETE FROM $User; UPDATE $User SET $User.name = '' -- and so on\n",
    ] {
      let steps = try [
        MigrationStep(
          number: 1, name: "first",
          text: "format: 1\n[up]\ncreate entity User {\n    attribute name string\n}\n"),
        MigrationStep(
          number: 2, name: "next",
          text: "format: 1\n[up]\ntransform sql { \(block) }\nadd attribute User.town string optional\n"),
      ]
      let set = try MigrationSet(steps)
      let scripts = try (1...2).map { try set.sql(ofStep: $0).joined(separator: "\n") }
      try connection.executeScript(scripts.joined(separator: "\n"))
      #expect(try connection.rows(sql: "SELECT town FROM User").isEmpty)
      try connection.executeScript("DROP TABLE User")
    }
  }

  @Test func `a link to a missing step file is reported with its destination`() throws {
    let folder = try TemporaryFolder()
    try FileManager.default.createSymbolicLink(
      atPath: folder.path("0001_x.migration"), withDestinationPath: "../gone.migration")
    #expect {
      _ = try MigrationSet.directory(folder.url)
    } throws: { error in
      ["0001_x.migration:1:1: ", "this is a link to", "../gone.migration"].allSatisfy(
        "\(error)".contains)
    }
  }

  @Test func `a store can be marked while another process checks its mark`() async throws {
    let folder = try TemporaryFolder()
    let path = MigrationMark.path(of: folder.path("a.store"))
    let descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    #expect(flock(descriptor, LOCK_SH | LOCK_NB) == 0)
    // Longer than the wait for the mark of another migration.
    Thread.detachNewThread {
      usleep(500_000)
      close(descriptor)
    }
    #expect(MigrationMark(folder.path("a.store")) != nil)
  }

  @Test(arguments: ["it is so", "it is so.", "is it so?"])
  func `a reason in an error's text ends with one punctuation mark`(_ reason: String) {
    let errors: [any Error] = [
      StoreError.adoptionRefused(file: "f", reason: reason),
      StoreError.bookkeepingDamaged(file: "f", place: "p", reason: reason),
      StoreError.backupFailed(file: "f", backup: "b", reason: reason),
      StoreError.migrationFailed(step: 1, name: "n", operation: "o", reason: reason),
      StoreError.propertyMisused(entity: "E", property: "p", reason: reason),
      StoreError.renamingRefused("E=F", reason: reason),
      StoreError.cannotRollBack(step: 1, name: "n", reason: reason),
      StoreError.foldRefused(through: 1, reason: reason),
      SchemaFault.badKeyPath(entity: "E", use: "u", reason: reason),
      SchemaFault.badOption(entity: "E", property: "p", reason: reason),
      SchemaFault.badDefault(entity: "E", property: "p", reason: reason),
      SchemaFault.badRawObject(name: "view V", reason: reason),
    ]
    for error in errors {
      let text = "\(error)"
      #expect(
        !text.contains("..") && !text.contains("?.") && (text.hasSuffix(".") || text.hasSuffix("?")),
        "\(text)")
    }
  }
}
