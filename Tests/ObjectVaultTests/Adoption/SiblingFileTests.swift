// Files of one program on many machines: the steps were derived from one of them, and the others have other
// values in the same columns.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite struct SiblingFiles {
  private static let table = """
    CREATE TABLE t (id INTEGER PRIMARY KEY, price DECIMAL(10, 2), n NUMERIC, code STRING, loose, day DATETIME, b BLOB);
    """

  /// Derives steps from one file, imports another one by them, and returns its rows.
  private func rows(_ sibling: String, by first: String, columns: String) async throws -> [[SQLValue]] {
    let step = try await AdoptionLab(Self.table + first).plan().step
    let lab = try AdoptionLab(Self.table + sibling)
    try await Store.adopt(
      lab.file, fileKey: nil, into: lab.store, key: testKey, migrations: MigrationSet([step]))
    return try lab.rows("SELECT \(columns) FROM T ORDER BY id")
  }

  private static let full =
    "INSERT INTO t VALUES (1, 1.5, 2.5, 'a1', 7, '2024-05-01 12:00:00', x'00');"

  @Test func `whole numbers are imported where another file has fractions`() async throws {
    let found = try await rows(
      "INSERT INTO t VALUES (1, 2, 3, 'b', 8, NULL, NULL), (2, NULL, 0, 'c', 9, NULL, NULL);", by: Self.full,
      columns: "price, typeof(price), n, typeof(n), loose")
    #expect(found == [[2.0, "real", 3.0, "real", 8], [.null, "null", 0.0, "real", 9]])
  }

  @Test func `a column without values fits every type`() async throws {
    let nothing = try await rows(
      "INSERT INTO t (id) VALUES (4);", by: Self.full, columns: "id, price, n, code, loose, day, b")
    #expect(nothing == [[4, .null, .null, .null, .null, .null, .null]])
    #expect(try await rows("", by: Self.full, columns: "*") == [])
  }

  @Test func `numbers become texts where another file has texts, and so do dates`() async throws {
    // The column type STRING turns such texts into numbers.
    let found = try await rows(
      "INSERT INTO t VALUES (1, 1, 1, '42', 7, '2024-05-01', 'text');",
      by: "INSERT INTO t VALUES (1, 1, 1, 'a', 7, 'some day', x'00');", columns: "code, day, b")
    #expect(found == [["42", "2024-05-01", .blob(Data("text".utf8))]])
  }

  @Test(arguments: [
    ("2, 'much', 1, 'a', 7, NULL, NULL", "T.price"), ("2, 1, 1, 'a', 7.5, NULL, NULL", "T.loose"),
    ("2, 1, 1, 'a', 7, 1714550400, NULL", "T.day"), ("2, 1, 1, 'a', 7, NULL, 5", "T.b"),
    ("2, 9007199254740993, 1, 'a', 7, NULL, NULL", "T.price"),
  ])
  func `a value that does not fit the type from another file is refused`(_ row: String, _ name: String)
    async throws
  {
    await #expect {
      _ = try await rows("INSERT INTO t VALUES (\(row));", by: Self.full, columns: "*")
    } throws: { error in
      guard case StoreError.adoptionRefused(_, let reason, _) = error else { return false }
      return reason.contains(name)
    }
  }

  private static let joined = """
    CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (id INTEGER PRIMARY KEY);
    CREATE TABLE ab (a_id INTEGER REFERENCES a, b_id INTEGER REFERENCES b, UNIQUE (a_id, b_id));
    INSERT INTO a VALUES (1); INSERT INTO b VALUES (2); INSERT INTO ab VALUES (1, 2);
    """

  @Test func `a table of pairs becomes links or an entity, as the steps declare`() async throws {
    let halved = Self.joined + "INSERT INTO ab VALUES (1, NULL);"
    let links = try await AdoptionLab(Self.joined).plan().step
    let lab = try AdoptionLab(halved)
    let adoption = try await Store.adopt(
      lab.file, fileKey: nil, into: lab.store, key: testKey, migrations: MigrationSet([links]),
      allowing: ["A.bs"])
    #expect(adoption.losses.map(\.rows) == [1])
    #expect(try lab.rows("SELECT A_id, B_id FROM A_bs") == [[1, 2]])
    let entity = try await AdoptionLab(halved).plan().step
    let whole = try AdoptionLab(Self.joined)
    try await Store.adopt(
      whole.file, fileKey: nil, into: whole.store, key: testKey, migrations: MigrationSet([entity]))
    #expect(try whole.rows("SELECT a_id, b_id FROM Ab") == [[1, 2]])
  }
}
