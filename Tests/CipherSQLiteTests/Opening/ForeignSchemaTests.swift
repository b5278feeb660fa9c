// SQL in the schema that this version of SQLite cannot parse: the error mentions neither damage nor a
// backup.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite struct ForeignSchema {
  private let folder: TemporaryFolder
  private var path: String { folder.path("notes.store") }

  init() throws {
    folder = try TemporaryFolder()
    _ = try Connection.create(folder.path("notes.store"), key: testKey) {
      try $0.executeScript("CREATE TABLE Note (id INTEGER PRIMARY KEY, text TEXT)")
    }
  }

  /// Writes a view in the syntax of a future engine.
  private func writeView(_ connection: Connection) throws {
    try connection.executeScript(
      """
      PRAGMA writable_schema = ON;
      INSERT INTO sqlite_master (type, name, tbl_name, rootpage, sql)
        VALUES ('view', 'Later', 'Later', 0, 'CREATE VIEW Later AS SELECT text FROM Note QUICKLY SORTED');
      PRAGMA writable_schema = OFF;
      PRAGMA schema_version = 4711;
      """)
  }

  private func isTold(_ error: any Error) -> Bool {
    guard case SQLError.schemaUnreadable(_, let reason) = error else { return false }
    return reason.contains("Later") && reason.contains("syntax error") && !"\(error)".contains("backup")
      && "\(error)".contains("The file is not damaged, and the key is not the cause.")
  }

  @Test func `opening a file with unreadable SQL in its schema reports that SQL, and no damage`() throws {
    let connection = try Connection.open(path, key: testKey)
    try writeView(connection)
    connection.close()
    #expect { try Connection.open(path, key: testKey) } throws: { isTold($0) }
    #expect { try Inspection(path: path, key: testKey) } throws: { isTold($0) }
    #expect { try Connection.open(path, key: .raw(Data(repeating: 7, count: 32))) } throws: {
      if case SQLError.wrongKey = $0 { true } else { false }
    }
  }

  @Test(.enabled(if: cipherShell != nil, "needs the sqlcipher shell"))
  func `the error for a plain file with an unreadable schema does not mention a key`() throws {
    let plain = folder.path("plain.db")
    // The newer shell requires this before it writes to the schema, and the older one does not have it.
    let permission = Engine.current.cipherMajor >= 4 ? ".dbconfig defensive off" : ""
    let made = try runTool(
      try #require(cipherShell), [plain],
      input: """
        \(permission)
        CREATE TABLE Note (id INTEGER PRIMARY KEY, text TEXT);
        PRAGMA writable_schema = ON;
        UPDATE sqlite_master SET sql = 'CREATE TABLE Note (id INTEGER PRIMARY KEY, text TEXT) QUICKLY';

        """)
    #expect(made.status == 0, "\(made)")
    #expect { try Connection.encrypt(plaintext: plain, to: folder.path("new.store"), key: testKey) } throws: {
      guard case SQLError.schemaUnreadable(plain, let reason) = $0 else { return false }
      return reason.contains("Note") && !"\($0)".contains("key is right")
    }
    #expect(folder.names == ["notes.store", "plain.db"])
  }

  @Test func `an open connection reports unreadable SQL that another connection writes to the schema`() throws
  {
    let (one, other) = (try Connection.open(path, key: testKey), try Connection.open(path, key: testKey))
    defer { for connection in [one, other] { connection.close() } }
    _ = try one.value("SELECT count(*) FROM Note")
    try writeView(other)
    #expect { _ = try one.value("SELECT count(*) FROM Note") } throws: { isTold($0) }
  }
}
