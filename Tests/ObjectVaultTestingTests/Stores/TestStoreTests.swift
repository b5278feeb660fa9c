// Stores for tests: their content, their place, and that they leave no files.

import CipherSQLite
import Foundation
import Microblog
import Migrations
import ObjectVault
import ObjectVaultTesting
import Testing

@Suite struct TestStores {
  private func make(_ objects: GeneratedObjects? = nil, _ place: TestStore.Place = .memory) async throws
    -> TestStore
  {
    try await TestStore(microblog, migrations: MicroblogMigrations.all, objects: objects, place: place)
  }

  @Test(arguments: [TestStore.Place.memory, .temporaryFolder])
  func `a test store is open and encrypted, and deleted with its folder`(_ place: TestStore.Place)
    async throws
  {
    var test: TestStore? = try await make(nil, place)
    let url = try #require(test?.store.url)
    try await test?.store.write { context in _ = context.insert(User.self) { $0.name = "Binger the Plain" } }
    #expect(test?.store.opening.version == 6)
    #expect(try !Data(contentsOf: url).starts(with: Data("SQLite format 3".utf8)))
    test = nil
    #expect(!FileManager.default.fileExists(atPath: url.deletingLastPathComponent().path))
  }

  @Test func `classes find the generated objects of a test store`() async throws {
    let objects = try GeneratedObjects(of: microblog, perEntity: 10)
    let test = try await make(objects)
    let names = try await test.store.read { try $0.fetch(User.self).all().map(\.name) }
    #expect(Set(names) == Set(objects.objects(of: "User").compactMap { $0.values["name"]?.string }))
    #expect(try await test.store.verify().isEmpty)
  }

  @Test func `a copy is independent, and a second store on the same file is not`() async throws {
    let test = try await make()
    let (copy, again) = (try await test.copy(), try await test.openedAgain())
    try await again.write { context in _ = context.insert(User.self) { $0.name = "Binger" } }
    #expect(try test.content().count == 1 && copy.content().count == 0)
    again.close()
  }

  @Test func `steps whose model differs from the classes are refused`() async throws {
    let schema = Schema { Entity(Diary.self) }
    await #expect(throws: StoreError.self) {
      _ = try await TestStore(schema, migrations: MicroblogMigrations.all)
    }
  }

  // MARK: Changes

  @Test func `a recorder has what was committed when the write returns`() async throws {
    let test = try await make()
    let recorder = ChangeRecorder(test.store)
    #expect(try recorder.take().isEmpty)
    for name in ["Ada", "Bo"] {
      try await test.store.write { context in _ = context.insert(User.self) { $0.name = name } }
    }
    try await test.store.write { context in
      context.delete(try context.fetch(User.self).where("name == 'Ada'").one())
    }
    let commits = try recorder.take()
    #expect(commits.map { [$0.inserted.count, $0.deleted.count] } == [[1, 0], [1, 0], [0, 1]])
    #expect(try recorder.take().isEmpty)
    try await test.store.write { context in
      try context.fetch(User.self).one().city = "Bonn"
    }
    #expect(try recorder.takeMerged().updated.map(\.properties) == [["city"]])
  }

  // MARK: Queries

  @Test func `more queries than allowed are reported, with those that fetched one by one`() async throws {
    let test = try await make(GeneratedObjects(of: microblog, perEntity: 10, links: .all))
    try await test.store.read { context in
      let count = try context.withQueryLimit(2) {
        try context.fetch(Status.self).prefetch(\.user).all().compactMap { $0.user?.name }.count
      }
      #expect(count == 10)
    }
    let error = await #expect(throws: QueryLimitExceeded.self) {
      try await test.store.read { context in
        try context.withQueryLimit(2) {
          for status in try context.fetch(Status.self).all() { _ = status.user?.name }
        }
      }
    }
    let found = try #require(error)
    #expect(found.limit == 2 && found.queries > 2 && found.faultsFired == found.queries - 1)
    #expect("\(found)".contains("2 are allowed"))
    #expect("\(found)".contains("Status.user was read by \(found.faultsFired) queries"))
    #expect("\(found)".contains(".prefetch(\\.user)"))
  }
}
