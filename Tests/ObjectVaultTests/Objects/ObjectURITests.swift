// Ids as URIs: their form, the way back, other stores, and texts that are no such URI.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

private final class Größe: ManagedObject {
  @Attribute var name: String
}

@Suite struct ObjectURIs {
  private let temporary: TemporaryStore
  private var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(library)
    try await temporary.store.write { context in
      context.insert(Author.self) { $0.name = "Ann" }
      context.insert(Genre.self) { $0.name = "a" }
    }
  }

  /// The mark of a store, computed from its id as the documentation of the file's format describes it: the
  /// two halves, combined by exclusive or.
  private func mark(_ store: Store) throws -> String {
    let digits = try #require(store.id).uuidString.lowercased().replacing("-", with: "")
    let halves = [digits.prefix(16), digits.suffix(16)].compactMap { UInt64($0, radix: 16) }
    let text = String(halves[0] ^ halves[1], radix: 16)
    return String(repeating: "0", count: 16 - text.count) + text
  }

  @Test func `the id of an object is a URI, from which the id and the object are found again`() async throws {
    let context = store.makeContext()
    let ann = try context.fetch(Author.self).one()
    let uri = try #require(ann.id.uri)
    #expect(try uri.absoluteString == "vault://\(mark(store))/Author/\(ann.id.rowID)")
    let id = try ObjectID<Author>(uri: uri)
    #expect(id == ann.id && id.uri == uri)
    #expect(try context.existing(id) === ann && context.existing(uri) === ann)
    #expect(try store.makeContext().fetch(Author.self).ids().first?.uri == uri)
    // Fetches and other contexts, by the URI alone.
    let name = try await store.read { try ($0.existing(uri) as? Author)?.name }
    #expect(name == "Ann")
    let upper = try #require(URL(string: uri.absoluteString.replacing("vault", with: "VAULT")))
    #expect(try ObjectID<Author>(uri: upper) == id)
  }

  @Test func `an id inside a write has its final URI, and one without a store or a row has none`()
    async throws
  {
    let link = try await store.write { context in context.insert(Genre.self) { $0.name = "b" }.id.uri }
    let uri = try #require(link)
    let found = try await store.read { try ($0.existing(uri) as? Genre)?.name }
    #expect(found == "b")
    let new = store.makeContext().insert(Genre.self) { $0.name = "c" }
    #expect(new.id.isTemporary && new.id.uri == nil)
    let number = ObjectID<Genre>(rowID: 1)
    #expect(number.uri == nil && DynamicID(entity: "Genre", rowID: 1).uri == nil)
    let decoded = try JSONDecoder().decode(ObjectID<Genre>.self, from: JSONEncoder().encode(number))
    #expect(decoded.uri == nil)
  }

  @Test func `objects without classes have the same URIs`() async throws {
    let dynamic = try await Store.open(at: store.url, key: testKey).makeContext()
    let ann = try dynamic.fetch(entity: "Author").one()
    let uri = try #require(ann.id.uri)
    #expect(try store.makeContext().fetch(Author.self).one().id.uri == uri)
    #expect(try DynamicID(uri: uri) == ann.id)
    #expect(try dynamic.existing(uri) === ann && dynamic.existing(DynamicID(uri: uri)) === ann)
  }

  @Test func `another store refuses the URI, and a copy of the store accepts it`() async throws {
    let ann = try store.makeContext().fetch(Author.self).one()
    let uri = try #require(ann.id.uri)
    let id = try ObjectID<Author>(uri: uri)
    let other = try await TemporaryStore(library)
    try await other.store.write { _ = $0.insert(Author.self) { $0.name = "Bob" } }
    let context = other.store.makeContext()
    let foreign = StoreError.idOfAnotherStore(entity: "Author", rowID: id.rowID)
    #expect(throws: foreign) { _ = try context.existing(uri) }
    #expect(throws: foreign) { _ = try context.existing(id) }
    #expect(throws: foreign) { _ = try context.object(with: id) }

    let copy = temporary.folder.url.appendingPathComponent("copy.store")
    try await store.backup(to: copy)
    let copied = try await Store.open(at: copy, key: testKey, schema: library, migrations: .creatingSchema)
    #expect(try (copied.makeContext().existing(uri) as? Author)?.name == "Ann")
  }

  @Test func `a missing row is nil, and another entity is an error`() async throws {
    let context = store.makeContext()
    let ann = try context.fetch(Author.self).one()
    let uri = try #require(ann.id.uri)
    #expect(throws: StoreError.self) { try ObjectID<Book>(uri: uri) }
    let text = uri.absoluteString
    let gone = try #require(URL(string: text.replacing("/Author/", with: "/Author/9")))
    #expect(try context.existing(gone) == nil)
    let strange = try #require(URL(string: text.replacing("/Author/", with: "/Auther/")))
    #expect(throws: StoreError.noEntity(name: "Auther", similar: ["Author"])) {
      _ = try context.existing(strange)
    }
    try await store.write { context in context.delete(try context.fetch(Author.self).one()) }
    #expect(try store.makeContext().existing(uri) == nil)
  }

  @Test func `the URI of a parent finds the object of a subclass`() async throws {
    let firm = try await TemporaryStore(company)
    let context = firm.store.makeContext()
    let eve = context.insert(Employee.self) { ($0.key, $0.name) = (1, "Eve") }
    let pam = context.insert(Person.self) { ($0.key, $0.name) = (2, "Pam") }
    try context.save()
    let own = try #require(eve.id.uri)
    let parent = try #require((eve as Person).id.uri)
    #expect(own.absoluteString.contains("/Employee/") && parent.absoluteString.contains("/Person/"))
    #expect(try context.existing(own) === eve && context.existing(parent) === eve)
    let text = try #require(pam.id.uri).absoluteString.replacing("Person", with: "Employee")
    let wrong = try #require(URL(string: text))
    #expect(try context.existing(wrong) == nil)
  }

  @Test func `a name beyond ASCII is escaped`() async throws {
    let sizes = try await TemporaryStore(Schema { Entity(Größe.self) })
    let context = sizes.store.makeContext()
    let size = context.insert(Größe.self) { $0.name = "L" }
    try context.save()
    let uri = try #require(size.id.uri)
    #expect(uri.absoluteString.contains("/Gr%C3%B6%C3%9Fe/"))
    #expect(try context.existing(uri) === size && ObjectID<Größe>(uri: uri) == size.id)
  }

  @Test(arguments: [
    "http://0000000000000001/User/1", "vault:/User/1", "vault:///User/1", "vault://store/User/1",
    "vault://000000000000001/User/1", "vault://0000000000000000/User/1", "vault://+000000000000001/User/1",
    "vault://0000000000000001/User", "vault://0000000000000001/User/", "vault://0000000000000001//1",
    "vault://0000000000000001/User/1/", "vault://0000000000000001/User/1/2",
    "vault://0000000000000001/User/0",
    "vault://0000000000000001/User/-1", "vault://0000000000000001/User/01",
    "vault://0000000000000001/User/+1",
    "vault://0000000000000001/User/1e3", "vault://0000000000000001/User/9223372036854775808",
    "vault://0000000000000001/User/1?a=b", "vault://0000000000000001/User/1#a",
    "vault://a@0000000000000001/User/1", "vault://0000000000000001:80/User/1", "vault://0000000000000001",
    "file:///tmp/x", "x",
  ])
  func `any other text is refused`(_ text: String) throws {
    let uri = try #require(URL(string: text))
    #expect {
      _ = try DynamicID(uri: uri)
    } throws: { error in
      if case StoreError.uriRefused = error { "\(error)".contains("The URI") } else { false }
    }
    #expect(throws: StoreError.self) { try ObjectID<Author>(uri: uri) }
    #expect(throws: StoreError.self) { _ = try store.makeContext().existing(uri) }
  }
}
