// Triggers with RAISE(IGNORE) make the engine skip a statement without an error. A save detects rows that
// were not written, and throws.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct IgnoringTriggers {
  let temporary: TemporaryStore
  let context: ObjectContext
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
  }

  private func ignore(_ event: String) throws {
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    let row = event == "INSERT" ? "NEW" : "OLD"
    try connection.executeScript(
      """
      CREATE TRIGGER silence BEFORE \(event) ON Genre WHEN \(row).name = 'silent'
      BEGIN SELECT RAISE(IGNORE); END
      """)
  }

  private func isSilence(_ error: any Error, _ property: String = "id") -> Bool {
    guard case StoreError.validation(let failures) = error else { return false }
    return failures.map(\.entity) == ["Genre"] && failures[0].property == property
      && failures[0].reason.contains("RAISE(IGNORE)")
  }

  @Test(arguments: [1, 20])
  func `a save throws if a trigger ignores the insertion of an object`(_ count: Int) throws {
    try ignore("INSERT")
    let loud = (0..<count).map { number in context.insert(Genre.self) { $0.name = "g\(number)" } }
    let silent = context.insert(Genre.self) { $0.name = "silent" }
    #expect { try context.save() } throws: { isSilence($0) }
    #expect(silent.isInserted && loud.allSatisfy(\.isInserted))
    #expect(try store.makeContext().fetch(Genre.self).count() == 0)
    silent.name = "loud"
    try context.save()
    #expect(try store.makeContext().fetch(Genre.self).count() == count + 1)
  }

  @Test(arguments: [1, 20])
  func `a save throws if a trigger ignores the deletion of an object`(_ count: Int) async throws {
    let genres = (0..<count).map { number in context.insert(Genre.self) { $0.name = "g\(number)" } }
    let silent = context.insert(Genre.self) { $0.name = "silent" }
    try context.save()
    try ignore("DELETE")
    for genre in genres + [silent] { context.delete(genre) }
    #expect { try context.save() } throws: { isSilence($0) }
    #expect(silent.isDeleted)
    #expect(try store.makeContext().fetch(Genre.self).count() == count + 1)
    await #expect {
      try await store.write { context in
        for genre in try context.fetch(Genre.self).all() { context.delete(genre) }
      }
    } throws: {
      isSilence($0)
    }
    #expect(try store.makeContext().fetch(Genre.self).count() == count + 1)
  }

  @Test func `a save reports an update that a trigger ignores, and no conflict`() throws {
    let silent = context.insert(Genre.self) { $0.name = "silent" }
    try context.save()
    try ignore("UPDATE")
    silent.name = "loud"
    #expect { try context.save() } throws: { isSilence($0) }
    #expect(silent.hasChanges && silent.name == "loud")
  }

  @Test func `deleting a row that another program has deleted succeeds`() throws {
    let genre = context.insert(Genre.self) { $0.name = "gone" }
    try context.save()
    let connection = try Connection.open(store.url.path, key: testKey)
    try connection.execute("DELETE FROM Genre")
    connection.close()
    context.delete(genre)
    try context.save()
    #expect(try store.makeContext().fetch(Genre.self).count() == 0)
  }
}
