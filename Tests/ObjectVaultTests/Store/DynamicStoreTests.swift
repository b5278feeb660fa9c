// Stores that are opened with their own model: what they refuse, and fetches by name compared with
// fetches by class.

import CipherSQLite
import Foundation
import Migrations
import ObjectVault
import TestSupport
import Testing

@Suite struct DynamicStores {
  private static func fill(_ store: Store) async throws {
    try await store.write { context in
      for (index, name) in ["Ann", "ann", "Änn", "北京", "", "x*y"].enumerated() {
        let author = context.insert(Author.self) {
          $0.name = "\(name)!"
          $0.nick = index % 2 == 0 ? nil : name
          $0.age = 20 + index
        }
        for number in 0..<3 {
          let book = context.insert(Book.self) {
            $0.title = "\(name) \(number)"
            $0.year = 1990 + index * 3 + number
            $0.rating = number == 0 ? nil : Double(number)
            $0.price = Decimal(number) / 4
            $0.author = number == 2 ? nil : author
          }
          let genre = try context.fetch(Genre.self).where("name == %@", "g\(number)").first()
          book.add(genre ?? context.insert(Genre.self) { $0.name = "g\(number)" }, to: \.genres)
        }
      }
    }
  }

  static let formats = [
    "title CONTAINS[cd] 'ann'", "author.name == 'Ann!'", "author == nil", "rating > 1 OR price == 0.25",
    "ANY genres.name == 'g1'", "NONE genres.name == 'g1'", "author.books.@count > 1",
    "year BETWEEN {1992, 1996}",
    "author.nick != nil AND NOT title BEGINSWITH 'x'", "title IN {'北京 0', ' 1'}", "TRUEPREDICATE",
  ]

  @Test(arguments: formats)
  func `a predicate finds the same objects by name as by class`(_ format: String) async throws {
    let dynamic = try await DynamicStore()
    try await Self.fill(dynamic.made.store)
    let expected = try dynamic.made.store.makeContext().fetch(Book.self).where(format)
      .sorted(by: \.author?.name, .reverse).sorted(by: \.year)
    let fetch = try dynamic.context.fetch(entity: "Book").where(format)
      .sorted(byPath: "author.name", .reverse).sorted(byPath: "year")
    #expect(try fetch.all().map(\.id.rowID) == expected.all().map(\.id.rowID))
    #expect(try fetch.ids().map(\.rowID) == expected.ids().map(\.rowID))
    #expect(try fetch.count() == expected.count() && fetch.exists() == expected.exists())
    let window = try fetch.offset(1).limit(2).prefetch(path: "author.books").all().map {
      $0["title"] as String
    }
    #expect(try window == expected.offset(1).limit(2).all().map(\.title))
    #expect(try fetch.sql.bindings == expected.sql.bindings)
  }

  @Test func `predicates accept objects and ids without classes, and ids find their objects`() async throws {
    let dynamic = try await DynamicStore()
    try await Self.fill(dynamic.made.store)
    let context = dynamic.context
    let ann = try context.fetch(entity: "Author").where("name == %@", "Ann!").one()
    let byObject = try context.fetch(entity: "Book").where("author == %@", ann).ids()
    #expect(byObject.count == 2 && byObject[0].entity == "Book")
    #expect(try context.fetch(entity: "Book").where("author == %@", ann.id).ids() == byObject)
    #expect(try context.existing(ann.id) === ann)
    let coded = try JSONDecoder().decode(DynamicID.self, from: JSONEncoder().encode(ann.id))
    #expect(try coded == ann.id && context.existing(coded) === ann)
    #expect(try context.existing(DynamicID(entity: "Author", rowID: 99)) == nil)
    #expect(coded != DynamicID(entity: "Book", rowID: coded.rowID))
    // An object of another entity, and an id of another store.
    #expect(throws: StoreError.self) { try context.fetch(entity: "Genre").where("SELF == %@", ann).all() }
    let other = try await DynamicStore()
    #expect(throws: StoreError.idOfAnotherStore(entity: "Author", rowID: ann.id.rowID)) {
      try other.context.existing(ann.id)
    }
  }

  @Test func `a store that was opened with classes refuses names, and the reverse`() async throws {
    let dynamic = try await DynamicStore()
    let (names, classes) = (dynamic.context, dynamic.made.store.makeContext())
    #expect(throws: StoreError.unknownEntity(name: "Author")) { try names.fetch(Author.self).all() }
    #expect(throws: StoreError.unknownEntity(name: "DynamicObject")) {
      try names.fetch(DynamicObject.self).all()
    }
    #expect(throws: StoreError.openedWithClasses(entity: "Author")) {
      try classes.fetch(entity: "Author").all()
    }
    #expect(throws: StoreError.openedWithClasses(entity: "Author")) { try classes.insert(entity: "Author") }
    #expect(throws: StoreError.openedWithClasses(entity: "Author")) {
      try classes.existing(DynamicID(entity: "Author", rowID: 1))
    }
    #expect(throws: StoreError.noEntity(name: "Autor", similar: ["Author"])) {
      try names.fetch(entity: "Autor").count()
    }
    #expect(
      "\(StoreError.noEntity(name: "Autor", similar: ["Author"]))".hasSuffix("did you mean \"Author\"?"))
    #expect(throws: StoreError.self) { try names.fetch(entity: "Author").sorted(byPath: "nmae").all() }
    try names.insert(entity: "Author") { $0["name"] = "Ann" }
    try names.save()
    #expect(throws: StoreError.self) { try names.fetch(entity: "Author").prefetch(path: "name").all() }
    names.insert(Author.self)
    #expect(names.faultErrors.count == 1)
  }

  @Test func `writes and reads work without classes, and a fetch finds a new object`() async throws {
    let dynamic = try await DynamicStore()
    let store = dynamic.store
    let id = try await store.write { context in
      let ann = try context.insert(entity: "Author") { $0["name"] = "Ann" }
      let found = try context.fetch(entity: "Author").where("name == 'Ann'").one()
      #expect(found === ann)
      return ann.id
    }
    #expect(id.rowID == 1)
    let name = try await store.read { try $0.existing(id).map { $0["name"] as String } }
    #expect(name == "Ann")
    await #expect(throws: StoreError.readOnlyContext) {
      try await store.read { context in try context.fetch(entity: "Author").one()["name"] = "Bob" }
    }
    withExtendedLifetime(dynamic) {}
  }

  @Test func `a file that is no store is refused, and no file is made`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    await #expect(throws: SQLError.notFound(file: url.path)) { try await Store.open(at: url, key: testKey) }
    #expect(folder.names.isEmpty)
    _ = try Connection.create(url.path, key: testKey) { try $0.executeScript("CREATE TABLE t(x)") }
    await #expect(throws: StoreError.notAStore(file: url.path)) {
      try await Store.open(at: url, key: testKey)
    }
    await #expect(throws: SQLError.self) {
      try await Store.open(at: url, key: .raw([UInt8](repeating: 1, count: 32)))
    }
  }

  @Test func `stores of other formats and with changed tables are refused`() async throws {
    let made = try await TemporaryStore(library)
    let url = made.store.url
    func change(_ sql: String) throws {
      let connection = try Connection.open(url.path, key: testKey)
      defer { connection.close() }
      try connection.executeScript(sql)
    }
    for format in [2, 5] {
      try change("UPDATE vault_meta SET value = \(format) WHERE key = 'format'")
      await #expect(throws: StoreError.otherFormat(file: url.path, found: format, supported: 4)) {
        try await Store.open(at: url, key: testKey)
      }
    }
    try change("UPDATE vault_meta SET value = 3 WHERE key = 'format'")
    try change("ALTER TABLE \"Club\" ADD COLUMN more TEXT")
    await #expect {
      try await Store.open(at: url, key: testKey)
    } throws: { error in
      if case StoreError.schemaDrift = error { true } else { false }
    }
  }

  @Test func `a store that was migrated after its opening refuses writes`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    let steps = try MigrationSet.embedded(MicroblogMigrations.steps)
    try await Store.create(at: url, key: testKey, migrations: try MigrationSet(Array(steps.steps.prefix(3))))
    let store = try await Store.open(at: url, key: testKey)
    #expect(store.opening.version == 3 && store.opening.migratedSteps.isEmpty && store.id != nil)
    _ = try await Store.migrate(at: url, key: testKey, migrations: steps)
    await #expect(throws: StoreError.storeMigratedElsewhere(file: url.path)) {
      try await store.write { context in
        try context.insert(entity: "User") { $0["name"] = "Ann" }
        return
      }
    }
  }
}
