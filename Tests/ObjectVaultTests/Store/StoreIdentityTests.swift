// A store has an identity, which its copies share. Its ids find nothing in another store.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

private final class Thing: ManagedObject {
  @Attribute var name: String
}

@Suite struct StoreIdentities {
  let first: TemporaryStore
  let second: TemporaryStore

  init() async throws {
    first = try await TemporaryStore(library)
    second = try await TemporaryStore(library)
    for (store, name) in [(first.store, "Ann"), (second.store, "Bob")] {
      try await store.write { context in
        let author = context.insert(Author.self) { $0.name = name }
        context.insert(Book.self) {
          $0.title = "\(name)'s"
          $0.author = author
        }
      }
    }
  }

  private func isForeign(_ error: any Error) -> Bool {
    error is StoreError && "\(error)".contains("another store")
  }

  @Test func `an id of another store is refused wherever an id is looked up`() throws {
    let own = try first.store.makeContext().fetch(Author.self).ids()[0]
    let strange = try second.store.makeContext().fetch(Author.self).one().id
    #expect(own == strange && own.rowID == strange.rowID)
    let context = first.store.makeContext()
    #expect(try context.existing(own)?.name == "Ann")
    #expect { try context.existing(strange) } throws: { isForeign($0) }
    // First the own id, then the other one: the second fetch finds the SQL of the first.
    for (id, isOwn) in [(own, true), (strange, false)] {
      let (list, maybe): ([ObjectID<Author>], ObjectID<Author>?) = ([id], id)
      let fetches: [() throws -> Int] = [
        { try context.fetch(Author.self).where(#Predicate { $0.id == id }).count() },
        { try context.fetch(Book.self).where(#Predicate { $0.author?.id == maybe }).all().count },
        { try context.fetch(Author.self).where(#Predicate { list.contains($0.id) }).count() },
        { try context.fetch(Author.self).where(#Predicate { !($0.id != id) && $0.name != "" }).ids().count },
        { try context.fetch(Book.self).where(#Predicate { $0.author?.id == id }).count() },
        { try context.fetch(Book.self).where("author == %@", id).count() },
        { try context.fetch(Book.self).where("author IN %@", list).exists() ? 1 : 0 },
        { try context.fetch(Book.self).where("NOT (ANY author.books.author IN %@)", [id, id]).count() + 1 },
        { try context.fetch(Author.self).where("SELF IN %@", Set([id])).count() },
        { try context.fetch(Author.self).where("SELF == %@", id).sql.bindings.count },
        {
          let node = try PredicateNode(#Predicate<Author> { $0.id == id })
          return try context.fetch(Author.self).where(node).where("name != ''").count()
        },
      ]
      for (number, fetch) in fetches.enumerated() {
        if isOwn {
          #expect(try fetch() == 1, "fetch \(number)")
        } else {
          #expect("fetch \(number)") { try fetch() } throws: { isForeign($0) }
        }
      }
    }
  }

  @Test func `the error of a predicate with an id of another store names the entity and the id`() throws {
    let id = try second.store.makeContext().fetch(Author.self).one().id
    let context = first.store.makeContext()
    #expect {
      try context.fetch(Book.self).where("title != '' AND author == %@", id).count()
    } throws: { error in
      guard case StoreError.predicate(let error) = error else { return false }
      return error.entity == "Book" && error.reason.contains("Author 1")
        && error.reason.contains("another store")
    }
  }

  @Test func `an id that is decoded from its number equals the object's id and finds its row`() throws {
    let context = first.store.makeContext()
    let ann = try context.fetch(Author.self).one()
    let coded = try JSONEncoder().encode([ann.id])
    #expect(String(decoding: coded, as: UTF8.self) == "[\(ann.id.rowID)]")
    let kept = try JSONDecoder().decode([ObjectID<Author>].self, from: coded)[0]
    #expect(kept == ann.id && Set([kept]).contains(ann.id))
    #expect(try context.existing(kept) === ann)
    #expect(try context.existing(ObjectID<Author>(rowID: ann.id.rowID)) === ann)
    #expect(try context.fetch(Author.self).where(#Predicate { $0.id == kept }).one() === ann)
    // A decoded id has no store, and is used as the number that it is.
    #expect(try second.store.makeContext().existing(kept)?.name == "Bob")
    let node = try PredicateNode(#Predicate<Author> { $0.id == kept })
    let decoded = try JSONDecoder().decode(PredicateNode.self, from: JSONEncoder().encode(node))
    #expect(try context.fetch(Author.self).where(decoded).one() === ann)
  }

  @Test func `a copy has the identity of its store, and a new store has an identity of its own`() async throws
  {
    let store = first.store
    let id = try #require(store.id)
    #expect(second.store.id != nil && second.store.id != id)
    let ann = try store.makeContext().fetch(Author.self).one().id
    let folder = first.folder.url
    let (backup, plain, back) = (
      folder.appendingPathComponent("backup"), folder.appendingPathComponent("plain"),
      folder.appendingPathComponent("back")
    )
    try await store.backup(to: backup)
    try await store.exportPlaintext(to: plain)
    try await Store.encrypt(plaintext: plain, to: back, key: testKey)
    let restored = folder.appendingPathComponent("restored")
    try await Store.restore(backup, to: restored, key: testKey)
    for copy in [backup, back, restored, store.url] {
      let opened = try await Store.open(
        at: copy, key: testKey, schema: library, migrations: .creatingSchema)
      #expect(opened.id == id)
      #expect(try opened.makeContext().existing(ann)?.name == "Ann")
      opened.close()
    }
  }

  @Test func `a store of an earlier release gets an identity from the next step`() async throws {
    let steps = ["create entity Thing {\n attribute name string\n}", "add index Thing(name)"]
    let lab = try await MigrationLab(steps[0])
    let connection = try lab.open()
    try connection.execute("DELETE FROM vault_meta WHERE key = 'storeID'")
    try connection.execute("INSERT INTO Thing (id, _version, name) VALUES (1, 1, 'a')")
    connection.close()
    let old = Schema { Entity(Thing.self) }
    var store = try await Store.open(
      at: lab.url, key: testKey, schema: old, migrations: .set(lab.set([steps[0]])))
    #expect(store.id == nil)
    let thing = try store.makeContext().fetch(Thing.self).ids()[0]
    store.close()
    try await lab.migrate(steps[1])
    let new = Schema { Entity(Thing.self).index(\.name) }
    var ids: [UUID?] = []
    for _ in 0..<2 {
      store = try await Store.open(at: lab.url, key: testKey, schema: new, migrations: .set(lab.set(steps)))
      ids.append(store.id)
      #expect(try store.makeContext().existing(thing)?.name == "a")
      store.close()
    }
    #expect(ids[0] != nil && ids[0] == ids[1])
  }
}
