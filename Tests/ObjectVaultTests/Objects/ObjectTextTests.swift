// The text of an object for logs and debuggers.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct ObjectTexts {
  private func open(_ configuration: Store.Configuration, _ folder: TemporaryFolder) async throws -> Store {
    try await Store.open(
      at: folder.url.appendingPathComponent("a.store"), key: testKey, schema: library,
      migrations: .creatingSchema, configuration: configuration)
  }

  @Test func `the text has the entity, the id and the state, and no values`() async throws {
    let folder = try TemporaryFolder()
    let store = try await open(Store.Configuration(), folder)
    let context = store.makeContext()
    let author = context.insert(Author.self) { $0.name = "secret" }
    #expect("\(author)" == "Author (new)")
    try context.save()
    #expect("\(author)" == "Author 1")
    author.name = "other"
    #expect("\(author)" == "Author 1 (changed: name)")
    try context.save()
    context.refresh(author)
    let queries = context.statistics.queries
    #expect("\(author)" == "Author 1 (fault)")
    #expect(context.statistics.queries == queries && author.isFault)
    context.delete(author)
    #expect(String(reflecting: author) == "Author 1 (deleted)")
    try context.save()
    #expect("\(author)" == "Author 1 (invalid)")
    #expect("\(Author())" == "Author (new)")
    store.close()
  }

  @Test func `the values follow if the configuration says so`() async throws {
    let folder = try TemporaryFolder()
    var configuration = Store.Configuration()
    configuration.describesValues = true
    let store = try await open(configuration, folder)
    let context = store.makeContext()
    let author = context.insert(Author.self) { $0.name = "O'Hara" }
    try context.save()
    #expect("\(author)".hasPrefix("Author 1 ") && "\(author)".contains("name: 'O''Hara'"))
    author.name = "Ann"
    #expect("\(author)".hasPrefix("Author 1 (changed: name) name: 'Ann'"))
    context.refresh(author)
    #expect("\(author)" == "Author 1 (fault)")
    store.close()
  }
}
