// Lazy attributes: what a fetch leaves out, and when it is read.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

private final class Document: ManagedObject {
  @Attribute(.lazy) var content: Data
  @Attribute var name: String
  @Attribute(.lazy) var summary: String?
  @Attribute var pages: Int = 1
  @ToOne(inverse: \Folder.documents) var folder: Folder?
}

private final class Folder: ManagedObject {
  @Attribute var name: String
  @ToMany var documents: Set<Document>
}

private class Media: ManagedObject {
  @Attribute var name: String
  @Attribute(.lazy) var preview: Data?
}

private final class Film: Media {
  @Attribute(.lazy) var frames: Data
  @Attribute var seconds: Int
}

@Suite struct LazyAttributes {
  private static let schema = Schema {
    Entity(Document.self)
    Entity(Folder.self)
  }
  private let temporary: TemporaryStore
  private var store: Store { temporary.store }

  private static func content(_ number: Int) -> Data { Data(repeating: UInt8(number), count: 3000) }

  init() async throws {
    temporary = try await TemporaryStore(Self.schema)
    let context = store.makeContext()
    let folder = context.insert(Folder.self) { $0.name = "all" }
    for number in 0..<6 {
      context.insert(Document.self) {
        ($0.name, $0.content, $0.folder) = ("d\(number)", Self.content(number), folder)
        $0.summary = number % 2 == 0 ? nil : "s\(number)"
      }
    }
    try context.save()
  }

  private func documents(_ context: ObjectContext) throws -> [Document] {
    try context.fetch(Document.self).sorted(by: \.id).all()
  }

  // MARK: Reading

  @Test func `a fetch leaves the attribute out, and its first access reads it alone`() throws {
    let context = store.makeContext()
    #expect(
      try context.fetch(Document.self).sql.text
        == "SELECT t0.\"id\", t0.\"_version\", t0.\"name\", t0.\"pages\", t0.\"folder_id\" FROM \"Document\" t0"
    )
    let all = try documents(context)
    #expect(all.map(\.name) == (0..<6).map { "d\($0)" } && all.map(\.pages) == Array(repeating: 1, count: 6))
    #expect(all.allSatisfy { !$0.isFault && !$0.hasChanges } && context.statistics.queries == 1)
    #expect(all[2].content == Self.content(2) && context.statistics.queries == 2)
    #expect(all[2].content == Self.content(2) && context.statistics.queries == 2)
    // nil and a value that was not read are different.
    #expect(all[2].summary == nil && all[3].summary == "s3" && context.statistics.queries == 4)
    #expect(context.faultErrors.isEmpty)
  }

  @Test func `each way to an object leaves the attribute out`() async throws {
    let context = store.makeContext()
    func isRead(_ document: Document) -> Bool {
      let queries = context.statistics.queries
      #expect(document.content == Self.content(Int(document.name.dropFirst()) ?? -1))
      return context.statistics.queries == queries
    }
    let ids = try context.fetch(Document.self).sorted(by: \.id).ids()
    let first = try #require(try context.existing(ids[0]))
    #expect(!isRead(first))
    let folder = try context.fetch(Folder.self).prefetch(\.documents).one()
    let second = try #require(folder.documents.first { $0.name == "d1" })
    #expect(!isRead(second))
    for try await document in try context.fetch(Document.self).where("name == 'd2'").stream(batch: 2) {
      #expect(!isRead(document))
    }
    let page = try context.fetch(Document.self).sorted(by: \.name, .reverse).page(size: 1)
    #expect(!isRead(page.objects[0]))
    let fourth = try context.fetch(Document.self).where("SELF IN %@", [ids[3]]).one()
    #expect(!isRead(fourth))
    let last = try #require(
      try context.fetch(Document.self).sorted(by: \.id).first(ofEach: \.name).dropFirst(4).first)
    #expect(!isRead(last) && isRead(last))
  }

  @Test func `prefetch reads the attribute of all objects with one query, also through a relationship`()
    throws
  {
    let context = store.makeContext()
    let all = try context.fetch(Document.self).sorted(by: \.id).prefetch(\.content).all()
    #expect(context.statistics.queries == 2)
    #expect(all.map(\.content) == (0..<6).map(Self.content) && context.statistics.queries == 2)
    #expect(all[1].summary == "s1" && context.statistics.queries == 3)
    let other = store.makeContext()
    let folder = try other.fetch(Folder.self).prefetch(path: "documents.summary").one()
    let queries = other.statistics.queries
    #expect(
      Set(folder.documents.map(\.summary)) == [nil, "s1", "s3", "s5"] && other.statistics.queries == queries)
    let named = store.makeContext().fetch(Document.self).sorted(by: \.id).only(\.content)
    #expect(
      try named.sql.text
        == "SELECT t0.\"id\", t0.\"_version\", t0.\"content\" FROM \"Document\" t0 ORDER BY t0.\"id\"")
    #expect(try named.all().map(\.content) == (0..<6).map(Self.content))
    for path in ["name", "folder.name", "content.x"] {
      let error = #expect(throws: StoreError.self) {
        try context.fetch(Document.self).prefetch(path: path).all()
      }
      #expect(error.map { "\($0)" }?.contains("cannot be prefetched") == true, "\(error as Any)")
    }
  }

  @Test func `conditions, sorts, values and objects without classes know the attribute`() async throws {
    let context = store.makeContext()
    let fetch = context.fetch(Document.self).sorted(by: \.id)
    #expect(try fetch.where("summary ENDSWITH '3'").all().map(\.name) == ["d3"])
    #expect(try fetch.where("content == %@", Self.content(4)).all().map(\.name) == ["d4"])
    #expect(try fetch.values(\.content) == (0..<6).map(Self.content))
    #expect(try context.fetch(Document.self).sorted(by: \.summary, .reverse).first()?.name == "d5")
    let changed = try documents(context)
    for document in changed { document.pages = 2 }
    #expect(try fetch.where("summary ENDSWITH '3' AND pages == 2").all().map(\.name) == ["d3"])
    let opened = try await Store.open(at: store.url, key: testKey)
    defer { opened.close() }
    let dynamic = opened.makeContext()
    let object = try #require(try dynamic.fetch(entity: "Document").sorted(byPath: "id").first())
    #expect(dynamic.statistics.queries == 1)
    #expect(try object.value("content").blob == Self.content(0) && dynamic.statistics.queries == 2)
    #expect(object["name"] == "d0" && dynamic.statistics.queries == 2)
    let all = try dynamic.fetch(entity: "Document").sorted(byPath: "id").prefetch(path: "content").all()
    let queries = dynamic.statistics.queries
    #expect(try all.map { try $0.value("content").blob } == (0..<6).map(Self.content))
    #expect(dynamic.statistics.queries == queries)
  }

  // MARK: Writing

  @Test func `a save of other attributes neither reads nor changes it`() throws {
    let context = store.makeContext()
    let all = try documents(context)
    let queries = context.statistics.queries
    for document in all { document.pages += 1 }
    try context.save()
    #expect(context.statistics.queries == queries)
    #expect(all.map(\.pages) == Array(repeating: 2, count: 6) && all[5].content == Self.content(5))
    all[5].content = Data([1, 2])
    all[4].summary = "new"
    all[4].name = "renamed"
    try context.save()
    #expect(all[5].content == Data([1, 2]) && all[4].content == Self.content(4) && all[4].summary == "new")
    let fresh = try documents(store.makeContext())
    #expect(fresh[0].content == Data())
  }

  @Test func `a write is seen at once, and undone by rollback`() throws {
    let context = store.makeContext()
    let document = try documents(context)[1]
    document.content = Data([9])
    document.summary = nil
    #expect(document.content == Data([9]) && document.summary == nil && document.name == "d1")
    context.rollback()
    #expect(document.content == Self.content(1) && document.summary == "s1")
    document.pages = 7
    #expect(document.content == Self.content(1))
    try context.save()
    #expect(document.content == Self.content(1) && document.pages == 7)
  }

  @Test func `a value that was read is kept until the row changes`() throws {
    let context = store.makeContext()
    let document = try documents(context)[0]
    #expect(document.content == Self.content(0))
    _ = try documents(context)
    let queries = context.statistics.queries
    #expect(document.content == Self.content(0) && context.statistics.queries == queries)
    let other = store.makeContext()
    try documents(other)[0].content = Data([3])
    try other.save()
    _ = try documents(context)
    #expect(document.content == Data([3]))
  }

  @Test func `a save conflicts if the row was changed before its attribute was read`() throws {
    let context = store.makeContext()
    let document = try documents(context)[0]
    let other = store.makeContext()
    let theirs = try documents(other)[0]
    (theirs.content, theirs.name) = (Data([3]), "theirs")
    try other.save()
    // All values become those of the row as it is now, so that none is beside one of another version.
    #expect(document.content == Data([3]) && document.name == "theirs")
    #expect(document.summary == nil && document.content == Data([3]))
    let queries = context.statistics.queries
    for _ in 0..<10 { #expect(document.summary == nil && document.content == Data([3])) }
    #expect(context.statistics.queries == queries)
    document.name = "mine"
    #expect(throws: StoreError.self) { try context.save() }
    context.rollback()
    #expect(document.name == "theirs" && document.content == Data([3]))
  }

  @Test(arguments: [false, true]) func `a row that was deleted meanwhile is an error that is noted`(
    _ hasChanges: Bool
  )
    throws
  {
    let context = store.makeContext()
    let document = try documents(context)[0]
    if hasChanges { document.pages = 5 }
    let other = store.makeContext()
    for document in try documents(other) { other.delete(document) }
    try other.save()
    #expect(document.content == Data() && document.name == "d0" && context.faultErrors.count == 1)
    #expect(document.state == (hasChanges ? .loaded : .invalid))
  }

  @Test func `change sets have the old value of an attribute that was written without being read`()
    async throws
  {
    let changes = store.changes()
    var iterator = changes.makeAsyncIterator()
    let context = store.makeContext()
    let all = try documents(context)
    all[1].pages = 3
    all[1].summary = "first"
    all[1].summary = "second"
    context.delete(all[3])
    try context.save()
    try await store.write { context in
      let document = try #require(try context.fetch(Document.self).sorted(by: \.id).first())
      document.content = Data([1])
    }
    var sets: [ChangeSet] = []
    while sets.count < 2 { if case .committed(let set)? = await iterator.next() { sets.append(set) } }
    let (first, second) = (sets[0], sets[1])
    let updated = try #require(first.updated.first)
    #expect(updated.old["summary"]?.string == "s1" && updated.new["summary"]?.string == "second")
    #expect(updated.old["content"] == nil)
    #expect(first.deleted.first?.values["content"]?.blob == Self.content(3))
    #expect(second.updated.first?.old["content"]?.blob == Self.content(0))
  }

  @Test func `pending changes have the saved value, by a query for all objects`() throws {
    let context = store.makeContext()
    let all = try documents(context)
    all[1].summary = "new"
    context.delete(all[2])
    context.delete(all[4])
    let queries = context.statistics.queries
    let pending = context.pendingChanges
    // One for each lazy attribute.
    #expect(context.statistics.queries == queries + 2)
    #expect(pending.updated.first?.old["summary"]?.string == "s1")
    #expect(pending.deleted.first?.values["content"]?.blob == Self.content(2))
  }

  @Test func `a row that is gone does not keep pending changes from being shown`() throws {
    let context = store.makeContext()
    let all = try documents(context)
    all[1].summary = "new"
    context.delete(all[2])
    let other = store.makeContext()
    for document in try documents(other) { other.delete(document) }
    try other.save()
    let pending = context.pendingChanges
    #expect(pending.updated.first?.new["summary"]?.string == "new" && pending.deleted.count == 1)
    #expect(context.faultErrors.isEmpty)
  }

  @Test func `an object that is deleted in two contexts is no error for a listener's save`() throws {
    let changes = store.changes()
    let context = store.makeContext()
    let document = try documents(context)[0]
    document.content = Data([1])
    context.delete(document)
    let other = store.makeContext()
    other.delete(try documents(other)[0])
    try other.save()
    try context.save()
    #expect(try documents(store.makeContext()).count == 5)
    withExtendedLifetime(changes) {}
  }

  @Test func `prefetch reads the attribute of objects with changes, too`() throws {
    let context = store.makeContext()
    let all = try documents(context)
    for document in all.dropFirst() { document.pages += 1 }
    all[1].summary = "mine"
    context.delete(all[5])
    _ = try context.fetch(Document.self).prefetch(\.content).prefetch(\.summary).all()
    let queries = context.statistics.queries
    #expect(all.prefix(5).map(\.content) == (0..<5).map(Self.content))
    #expect(
      all.prefix(5).map(\.summary) == [nil, "mine", nil, "s3", nil] && context.statistics.queries == queries)
    try context.save()
    #expect(all[2].pages == 2 && all[2].content == Self.content(2) && context.statistics.queries == queries)
  }

  @Test func `a merge with pending changes reads the attribute of all objects at once`() throws {
    let context = store.makeContext()
    let all = try documents(context)
    for document in all { document.pages += 1 }
    let new = context.insert(Document.self) { ($0.name, $0.content, $0.summary) = ("new", Data(), "s0") }
    let queries = context.statistics.queries
    let sorted = try context.fetch(Document.self).where("summary BEGINSWITH 's'").sorted(by: \.summary).all()
    #expect(sorted == [new, all[1], all[3], all[5]] && context.statistics.queries < queries + 5)
    let other = store.makeContext()
    _ = other.insert(Document.self) { ($0.name, $0.content, $0.summary) = ("new", Data(), "s0") }
    let before = other.statistics.queries
    #expect(try other.fetch(Document.self).sorted(by: \.summary).all().count == 7)
    #expect(other.statistics.queries < before + 5)
  }

  @Test func `a limit on queries names the attribute that was read for each object`() throws {
    let context = store.makeContext()
    let error = #expect(throws: QueryLimitExceeded.self) {
      try context.withQueryLimit(2) { try documents(context).map(\.content) }
    }
    #expect(
      error.map { "\($0)" }?.contains(
        "Document.content was read by 6 queries, one for each object: add .prefetch(\\.content) to the fetch of Document"
      )
        == true, "\(error as Any)")
  }

  // MARK: Inheritance

  @Test func `entities of a hierarchy have lazy attributes of their own`() async throws {
    let temporary = try await TemporaryStore(
      Schema {
        Entity(Media.self); Entity(Film.self)
      })
    let context = temporary.store.makeContext()
    context.insert(Media.self) { ($0.name, $0.preview) = ("m", Data([1])) }
    context.insert(Film.self) {
      ($0.name, $0.preview, $0.frames, $0.seconds) = ("f", Data([2]), Data([3]), 4)
    }
    try context.save()
    let other = temporary.store.makeContext()
    let all = try other.fetch(Media.self).sorted(by: \.id).all()
    let film = try #require(all[1] as? Film)
    #expect(all.map(\.name) == ["m", "f"] && film.seconds == 4 && other.statistics.queries == 1)
    #expect(all[0].preview == Data([1]) && film.frames == Data([3]) && other.statistics.queries == 3)
    #expect(film.preview == Data([2]) && other.statistics.queries == 4)
    film.seconds = 5
    film.frames = Data([6])
    try other.save()
    #expect(film.preview == Data([2]) && film.frames == Data([6]) && film.seconds == 5)
    let third = temporary.store.makeContext()
    let found = try third.fetch(Media.self).sorted(by: \.id).prefetch(\.preview).all()
    let queries = third.statistics.queries
    #expect(found.map(\.preview) == [Data([1]), Data([2])] && third.statistics.queries == queries)
    let connection = try Connection.open(temporary.store.url.path, key: testKey)
    defer { connection.close() }
    #expect(
      try connection.rows(sql: "PRAGMA table_info(Media)").map { $0[1].string }
        == ["id", "_version", EntityColumn.name, "name", "seconds", "preview", "frames"])
  }
}

extension SQLValue {
  fileprivate var blob: Data? { if case .blob(let value) = self { value } else { nil } }
}
