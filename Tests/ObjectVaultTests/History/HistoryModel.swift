// The model of the tests of histories.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport

class Memo: ManagedObject {
  @Attribute(.unique) var code: Int?
  @Attribute var title: String = ""
  @Attribute var pages: Int = 0
  @Attribute var weight: Double?
  @Attribute(.lazy) var content: Data?
  @ToOne var folder: MemoFolder?
  @ToMany(inverse: \MemoTag.memos) var tags: Set<MemoTag>
}

final class Letter: Memo {
  @Attribute var recipient: String = ""
  @ToOne var box: MemoFolder?
}

final class MemoFolder: ManagedObject {
  @Attribute var name: String = ""
  @ToMany(inverse: \Memo.folder, onDelete: .cascade) var memos: [Memo]
  @ToMany(inverse: \Letter.box) var letters: Set<Letter>
}

final class MemoTag: ManagedObject {
  @Attribute var word: String = ""
  @ToMany var memos: Set<Memo>
}

/// An entity without a history.
final class Jotting: ManagedObject {
  @Attribute var text: String = ""
}

/// The model, with one detail for all entities but `Jotting`.
func memoModel(_ detail: HistoryDetail = .full) -> Schema {
  Schema {
    Entity(Memo.self).history(detail)
    Entity(Letter.self)
    Entity(MemoFolder.self).history(detail)
    Entity(MemoTag.self).history(detail)
    Entity(Jotting.self)
  }
}

extension HistoryTransaction {
  /// The changes without values, a line each.
  var lines: [String] { changes.description.split(separator: "\n").map(String.init) }
}

extension Store {
  /// Runs SQL on the file, as another program would.
  func rows(_ sql: String) throws -> [[SQLValue]] {
    let connection = try Connection.open(url.path, key: testKey)
    defer { connection.close() }
    let count = try connection.prepare(sql: sql).columnCount
    return try connection.query(sql: sql) { row in (0..<count).map { row.value($0) } }
  }
}
