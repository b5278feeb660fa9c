// Objects that are made during the initialization of another one, whose properties keep their places.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

/// Called by the initializer of the property in the middle. Only one test sets it.
private nonisolated(unsafe) var whileMaking: () -> Int = { 0 }

private final class Nested: ManagedObject {
  @Attribute var a = 0
  var middle = whileMaking()
  @Attribute var b = 0
  @Attribute var c = 0
}

private final class Neighbour: ManagedObject {
  @Attribute var first = 0
  @Attribute var second = 0
}

// Serialized, because the closure is global to the file.
@Suite(.serialized) struct NestedMaking {
  @Test func `a property between wrappers may fetch and insert, and all values keep their places`()
    async throws
  {
    let temporary = try await TemporaryStore(
      Schema {
        Entity(Nested.self)
        Entity(Neighbour.self)
      })
    let store = temporary.store
    let context = store.makeContext()
    for number in 1...20 {
      context.insert(Nested.self) { ($0.a, $0.b, $0.c) = (number, number + 100, number + 200) }
      context.insert(Neighbour.self) { ($0.first, $0.second) = (number, number + 1000) }
    }
    try context.save()

    let fresh = store.makeContext()
    // Before the closure is set, because the key path makes a prototype of the class.
    let fetch = fresh.fetch(Nested.self).sorted(by: \.id)
    var next: Int64 = 0
    whileMaking = {
      next += 1
      let found = try? fresh.existing(ObjectID<Neighbour>(rowID: next))
      let made = fresh.insert(Neighbour.self) { $0.second = 7 }
      #expect(made.second == 7 && made.first == 0)
      return (found?.first ?? -1) * 10_000 + (found?.second ?? -1)
    }
    defer { whileMaking = { 0 } }
    let all = try fetch.all()
    #expect(all.map { [$0.a, $0.b, $0.c] } == (1...20).map { [$0, $0 + 100, $0 + 200] })
    #expect(all.map(\.middle) == (1...20).map { $0 * 10_000 + $0 + 1000 })
    all[4].c = 99
    try fresh.save()
    let row = try Connection.open(store.url.path, key: testKey).rows(
      "SELECT a, b, c FROM Nested WHERE id = 5")
    #expect(row == [[5, 105, 99]])
  }
}
