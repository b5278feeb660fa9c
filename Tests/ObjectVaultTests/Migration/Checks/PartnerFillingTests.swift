// One filling for many rows of a required one-to-one, which can lead to one partner of one of them.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct PartnerFillings {
  private static let base =
    "create entity Book {\n attribute title string\n}\ncreate entity Tag {\n attribute name string\n}"
  private static let fill = [
    "INSERT INTO Book(id, title) VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')",
    "INSERT INTO Tag(id, name) VALUES (1, 'x'), (2, 'y')",
  ]
  private static let one = "add relationship Book.one -> Tag required filling 2 inverse Tag.ones"
  private static let ones = "add relationship Tag.ones -> Book inverse Book.one on delete cascade"

  @Test(arguments: [
    "\(one)\n\(ones)", "add index Book(title)\n\(one)\nrename attribute Tag.name -> label\n\(ones)",
    "add relationship Book.one -> Tag inverse Tag.ones\nmake Book.one required filling 2\n\(ones)",
  ])
  func `the rows that cannot have their partner are refused with what to write`(
    _ step: String
  )
    async throws
  {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    await #expect { try await lab.refuse(step) } throws: { error in
      guard case StoreError.rowsRefused(2, _, let operation, let reason) = error else { return false }
      return operation.contains("filling 2") && reason.contains("add Book.one without required and filling")
    }
    #expect(try lab.isSound())
  }

  @Test func `what the refusal says leads on`() async throws {
    let lab = try await MigrationLab(Self.base, fill: Self.fill)
    try await lab.migrate(
      """
      add relationship Book.one -> Tag inverse Tag.ones
      \(Self.ones)
      transform sql {
        INSERT INTO $Tag(id, $Tag.name, $Tag.ones) SELECT $Book.id + 100, $Book.title, $Book.id FROM $Book;
        UPDATE $Book SET $Book.one = $Book.id + 100;
      }
      make Book.one required
      """)
    #expect(try lab.rows("SELECT one_id FROM Book ORDER BY id") == [[101], [102], [103], [104]])
    #expect(try lab.isSound())
  }

  @Test func `a filling of the only row makes a pair, and is no refusal`() async throws {
    let lab = try await MigrationLab(
      Self.base, fill: ["INSERT INTO Book(id, title) VALUES (1, 'a')", Self.fill[1]])
    let step = "\(Self.one)\n\(Self.ones)"
    let rehearsal = try await Store.rehearse(
      at: lab.url, key: testKey, migrations: lab.set([Self.base, step]))
    #expect(rehearsal.failure == nil)
    try await lab.migrate(step)
    #expect(try lab.rows("SELECT id, ones_id FROM Tag ORDER BY id") == [[1, .null], [2, 1]])
  }
}
