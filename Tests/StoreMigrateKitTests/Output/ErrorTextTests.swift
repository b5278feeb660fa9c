// What the tool adds to the library's errors: commands and options, which the library does not have.

import CipherSQLite
import Foundation
import Migrations
import ObjectVault
import StoreMigrateKit
import TestSupport
import Testing

@Suite(.tags(.pure)) struct ErrorTexts {
  static let cases: [(any Error, String)] = [
    (SQLError.wrongKey(file: "a.store"), "(--cipher rounds=N). The file is unchanged."),
    (
      SQLError.slotTooCostly(
        file: "k", seconds: 9, memoryBytes: 1 << 30, allowedSeconds: 1, allowedMemoryBytes: 1 << 20),
      "The option is --slots-work SECONDS. Nothing was changed."
    ),
    (
      StoreError.storeIsNewer(file: "a b", found: 3, supported: 1, migratedBy: nil, canDowngrade: true),
      " down 'a b' --to 1"
    ),
    (StoreError.bookkeepingDamaged(file: "a.store", place: "p", reason: "r"), " restore BACKUP a.store"),
    (StoreError.schemaMismatch(differences: ["d"], lines: []), " new NAME --from-model"),
    (
      StoreError.rollbackLoses(step: 2, name: "n", losses: ["A.b", "A.c"]),
      "    --allow lossy:A.b --allow lossy:A.c"
    ),
    (
      StoreError.backupFailed(file: "f", backup: "b", reason: "no; or \(MigrationBackup.withoutCopy)"),
      "With --no-backup, no backup is made."
    ),
    (
      StoreError.historyConflict(
        .edited(number: 3, name: "n", applied: "s1:0", found: "s1:1", difference: ["− a"])),
      " repair STORE 0003"
    ),
    (StoreError.historyConflict(.misembedded(number: 3, name: "n")), " embed"),
    (
      StoreError.historyConflict(
        .refolded(number: 3, name: "n", applied: "s1:0", found: "s1:1", into: 4, intoName: "m")),
      " repair STORE 0003 --migrations FOLDER"
    ),
    (
      StoreError.historyConflict(.duplicate(number: 2, files: ["0002_a.migration", "0002_b.migration"])),
      " rebase 0002_b.migration"
    ),
  ]

  @Test(arguments: cases.indices)
  func `an error ends with the option or the command that helps`(_ index: Int) {
    let (error, end) = Self.cases[index]
    let text = ErrorText.of(error)
    #expect(text.hasSuffix(end), "\(text)")
    // A command is alone on its line, to be copied.
    if end.hasPrefix(" ") { #expect(text.split(separator: "\n").last?.hasPrefix("    ") == true, "\(text)") }
  }

  @Test func `an error about a missing file does not suggest verify`() throws {
    let folder = try TemporaryFolder()
    let error = SQLError.verificationFailed(file: folder.path("a.store"), reason: "r")
    #expect(!ErrorText.of(error).contains("verify"))
    try folder.write(Data([1]), to: "a.store")
    #expect(ErrorText.of(error).hasSuffix("verify \(folder.path("a.store"))"))
  }
}
