// One run of each command at least that ends well, and one that does not: by these its exit codes and its reports are
// tested. A command without them fails `CommandList`.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport

/// A command line, how it ends, and where its report lies.
struct CommandCase: Sendable, CustomStringConvertible {
  /// What is behind the tool's name. A word that begins with `@` is of the folder.
  let words: [String]
  let code: Int32
  /// The name of its golden files, of the text and of the JSON; nil where nothing is compared but the code.
  let golden: String?
  /// Which program runs it.
  let tool: String

  init(_ line: String, _ code: Int32 = 0, golden: String? = nil, tool: String = "store-migrate") {
    self.tool = tool
    words = line.split(separator: " ").map { String($0).replacing("·", with: " ") }
    (self.code, self.golden) = (code, golden)
  }

  var command: String { words[0] }
  var description: String { words.joined(separator: " ") }

  private static let newKey = " --new-key-env NEW_KEY --new-key-format hex"

  static let all: [CommandCase] = [
    .init("status @new.store -m @Steps", golden: "status"),
    .init("status @old.store -m @Steps", golden: "status-pending"),
    .init("status @old.store -m @Steps --exit-code", 2),
    .init("status @absent.store -m @Steps", 10, golden: "status-absent"),
    .init("status @plain.db -m @Steps", 12, golden: "status-unencrypted"),
    .init("status @new.store -m @First", 4, golden: "status-newer"),
    .init("status @new.store -m @Edited", 3, golden: "status-edited"),
    .init("plan @old.store -m @Steps", golden: "plan"),
    .init("plan @new.store -m @Steps", golden: "plan-nothing"),
    .init("plan @absent.store -m @Steps", 10),
    .init("plan @back.store -m @Back --to 1", golden: "plan-back"),
    .init("plan @old.store -m @Steps --to 9", 64),
    .init("history @undone.store", golden: "history"),
    .init("history @absent.store", 10),
    .init("info @new.store", golden: "info"),
    .init("info @absent.store", 10),
    .init("verify @new.store -m @Steps", golden: "verify"),
    .init("verify @damaged.store -m @Steps", 2, golden: "verify-damaged"),
    .init("fetch @new.store Note", golden: "fetch"),
    .init(
      "fetch @new.store Note --columns id,author.name --sort id:desc --where author·!=·nil",
      golden: "fetch-columns"),
    .init("fetch @new.store Nte", 64, golden: "fetch-mistyped"),
    .init("count @new.store Note --where author·==·nil", golden: "count"),
    .init("count @new.store Nte", 64, golden: "count-mistyped"),
    .init("create @made.store -m @Steps", golden: "create"),
    .init("create @made.store -m @Steps --to 1", golden: "create-first"),
    .init("create @made.store -m @Steps --to 3", 64, golden: "create-beyond"),
    .init("create @new.store -m @Steps", 1, golden: "create-existing"),
    .init("create @made.store -m @Broken", 1),
    .init("up @old.store -m @Steps --to 1", golden: "up-to-the-present"),
    .init("up @old.store -m @Losing --steps 1", golden: "up-one"),
    .init("up @old.store -m @Losing --steps 1 --to 2", 64),
    .init("up @old.store -m @Steps --to 3", 64),
    .init("down @back.store -m @Back --allow lossy:Author.city", golden: "down"),
    .init("down @back.store --to 0 --yes", golden: "down-to-nothing"),
    .init("down @back.store -m @Back", 5, golden: "down-refused"),
    .init("down @new.store -m @Steps", 5, golden: "down-without-a-way"),
    .init("down @new.store -m @Steps --to 2", golden: "down-nothing"),
    .init("down @back.store -m @Back --to 1 --steps 2", 64),
    .init("down @absent.store", 10),
    .init("redo @back.store -m @Back --yes", golden: "redo"),
    .init("redo @back.store -m @Back", 5, golden: "redo-refused"),
    .init("redo @new.store -m @First", 4),
    .init("up @old.store -m @Steps", golden: "up"),
    .init("up @new.store -m @Steps", golden: "up-nothing"),
    .init("up @new.store -m @Losing", 5, golden: "up-refused"),
    .init("rekey @new.store" + newKey, golden: "rekey"),
    .init("rekey @new.store", 64, golden: "rekey-without-key"),
    .init("upgrade-cipher @new.store", golden: "upgrade-cipher-nothing"),
    .init("upgrade-cipher @pages.store", golden: "upgrade-cipher"),
    .init("upgrade-cipher @absent.store", 10),
    .init("restore @old.store @restored.store", golden: "restore"),
    .init("restore @old.store @new.store", 5, golden: "restore-refused"),
    .init("backup @new.store @copy.store", golden: "backup"),
    .init("backup @new.store @old.store", 1, golden: "backup-onto-another"),
    .init("encrypt @plain.db @made.store" + newKey, golden: "encrypt"),
    .init("encrypt @new.store @made.store" + newKey, 12, golden: "encrypt-encrypted"),
    .init("export @new.store @made.db --yes", golden: "export"),
    .init("export @new.store @made.db", 5, golden: "export-refused"),
    .init("slots list @n.keys", golden: "slots-list"),
    .init("slots create @made.keys Ann" + newKey, golden: "slots-create"),
    .init("slots add @n.keys paper --recovery", golden: "slots-recovery"),
    .init("slots remove @n.keys Ann --yes", 5, golden: "slots-last"),
    .init("slots lst @n.keys", 64, golden: "slots-mistyped"),
    .init("new add·city -m @Steps", golden: "new"),
    .init("new !! -m @Steps", 64, golden: "new-without-name"),
    .init("new places -m @Blog --from-model", golden: "new-from-model", tool: "microblog-migrate"),
    .init("new places -m @Steps --from-model", 64, golden: "new-without-classes"),
    .init("diff", golden: "diff", tool: "microblog-migrate"),
    .init("diff -m @Blog", 2, golden: "diff-found", tool: "microblog-migrate"),
    .init("diff -m @Steps", 64, golden: "diff-without-classes"),
    .init("lint -m @First", golden: "lint"),
    .init("lint -m @Losing", 2, golden: "lint-found"),
    .init("lint -m @Losing --ignore L999", 64, golden: "lint-mistyped"),
    .init("sql -m @Losing --engine 3.15.2", golden: "sql"),
    .init("sql -m @Steps --engine three", 64, golden: "sql-mistyped"),
    .init("schema -m @Steps", golden: "schema"),
    .init("schema -m @Steps --to 1 --engine 3.15.2", golden: "schema-engine"),
    .init("schema -m @Steps --format swift", golden: "schema-swift"),
    .init("schema -m @Steps --format mermaid", golden: "schema-mermaid"),
    .init("schema @old.store --format json", golden: "schema-store"),
    .init("schema -m @Steps --format swft", 64, golden: "schema-mistyped"),
    .init("schema -m @Steps --to 3", 64),
    .init("schema @old.store --to 1", 64),
    .init("schema @old.store @new.store", 64),
    .init("schema -m @Steps --format json --engine 3.15.2", 64),
    .init("schema @absent.store", 10),
    .init("schema @plain.db", 12),
    .init("schema import @legacy.db -m @Made --classes @Made.swift", 2, golden: "schema-import"),
    .init("schema import @coredata.db -m @Made --classes @Made.swift", golden: "schema-import-core-data"),
    .init("schema import @family.db -m @Made --classes @Made.swift", golden: "schema-import-family"),
    .init("schema import @coredata.db -m @Made --classes @Made.swift --to-one Note.person=Persn", 64),
    .init(
      "schema import @coredata.db -m @Made --classes @Made.swift --to-one Note.persn=Person", 64,
      golden: "schema-import-mistyped"),
    .init("schema import @legacy.db -m @Made --classes @Made.swift --to-one Letters.body=People", 64),
    .init("schema import @coredata.db -m @Made --classes @Made.swift --to-one owner", 64),
    .init("schema import @coredata.db -m @Made --classes @Made.swift --to-one Note.person="),
    .init("schema import @pages.store -m @Made --classes @Made.swift", 1, golden: "schema-import-store"),
    .init("schema import @legacy.db -m @Steps --classes @Made.swift", 1, golden: "schema-import-again"),
    .init("schema import @legacy.db -m @Made --classes @plain.db", 1),
    .init("schema import @absent.db -m @Made --classes @Made.swift", 10),
    .init("schema import", 64),
    .init("schema -m @Steps --classes @Made.swift", 64),
    .init("schema import @legacy.db --format json", 64),
    .init(
      "baseline @legacy.db @made.store --to 1 -m @Legacy --allow lossy:kinds" + newKey, golden: "baseline"),
    .init("baseline @legacy.db @made.store --to 1 -m @Legacy --yes" + newKey, golden: "baseline-allowed"),
    .init("baseline @legacy.db @made.store --to 1 -m @Legacy" + newKey, 5, golden: "baseline-refused"),
    .init(
      "baseline @legacy.db @made.store --to 1 -m @Steps --yes" + newKey, 1, golden: "baseline-other-steps"),
    .init("baseline @legacy.db @new.store --to 1 -m @Legacy" + newKey, 1),
    .init("baseline @tables.store --to 2 -m @Steps", golden: "baseline-in-place"),
    .init("baseline @tables.store --to 1 -m @Steps", 1, golden: "baseline-other-tables"),
    .init("baseline @new.store --to 2 -m @Steps", 1),
    .init("baseline @legacy.db --to 1 -m @Legacy", 12),
    .init("baseline @legacy.db @made.store -m @Legacy" + newKey, 64),
    .init("baseline @legacy.db @made.store --to 2 -m @Legacy" + newKey, 64),
    .init("baseline @absent.db @made.store --to 1 -m @Legacy" + newKey, 10),
    .init("repair @new.store 0002 -m @Reworded --yes", golden: "repair"),
    .init("repair @new.store 2 -m @Steps", golden: "repair-nothing"),
    .init("repair @new.store 2 -m @Reworded", 5, golden: "repair-refused"),
    .init("repair @new.store 1 -m @Edited --yes", 3, golden: "repair-another-model"),
    .init("repair @old.store 2 -m @Steps --yes", 3, golden: "repair-pending"),
    .init("repair @new.store -m @Steps", 64),
    .init("repair @new.store two -m @Steps", 64),
    .init("repair @absent.store 1 -m @Steps", 10),
    .init("squash --to 2 -m @Steps", golden: "squash"),
    .init("squash --to 2 -m @Released", 5, golden: "squash-released"),
    .init("squash --to 2 -m @Released --allow-released", golden: "squash-allowed"),
    .init("squash --to 3 -m @Released --allow-released", 5),
    .init("squash --to 3 -m @Steps", 5),
    .init("squash -m @Steps", 64),
    .init("up @old.store -m @Squashed", 3, golden: "up-squashed"),
    .init("status @new.store -m @Squashed", golden: "status-squashed"),
    .init("check -m @Squashed", golden: "check-squashed"),
    .init("rebase -m @Branches 0002_ours.migration", golden: "rebase"),
    .init("rebase -m @Branches 0002_our.migration", 64, golden: "rebase-mistyped"),
    .init("embed -m @Steps --type NoteMigrations", golden: "embed"),
    .init("embed -m @Broken", 1, golden: "embed-broken"),
    .init("check -m @Embedded", golden: "check"),
    .init("check -m @Steps", 2, golden: "check-stale"),
    .init("check -m @Broken", 1),
  ]
}
