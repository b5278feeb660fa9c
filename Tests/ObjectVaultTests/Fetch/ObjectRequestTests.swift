// Requests as values: kept, compared, encoded, sent, and fetched in several contexts and stores.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct ObjectRequests {
  let temporary: TemporaryStore
  let context: ObjectContext

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
    for (index, name) in ["Ann", "Bob"].enumerated() {
      let author = context.insert(Author.self) { ($0.name, $0.age) = (name, 30 + index) }
      for year in 1990..<2000 {
        context.insert(Book.self) {
          ($0.title, $0.year, $0.author) = ("\(name) \(year)", year, author)
          $0.rating = year % 3 == 0 ? nil : Double(year % 5)
        }
      }
    }
    try context.save()
  }

  private static func requests() throws -> [ObjectRequest<Book>] {
    let (low, name) = (1995, "Ann")
    return [
      Book.request, ObjectRequest(), ObjectRequest(Book.self).limit(3),
      try Book.request.where("year >= %@ AND author.name == %@", low, name).sorted(by: \.year, .reverse),
      try Book.request.where(#Predicate { $0.year >= low && $0.author?.name == name }),
      try Book.request.where(#Predicate { [1991, 1997].contains($0.year) }).sorted(byPath: "author.name"),
      Book.request.where(try PredicateNode(format: "rating == nil OR rating > 3")).offset(2),
      Book.request.sorted(by: \.author?.name, .reverse).sorted(by: \.rating).limit(7).offset(1)
        .prefetch(\.author?.club).includingPending(false).includingSubentities(false),
    ]
  }

  // MARK: Results

  @Test func `a request finds what the fetch with the same steps finds`() async throws {
    let requests = try Self.requests()
    let (low, name) = (1995, "Ann")
    let fetches = [
      context.fetch(Book.self), context.fetch(Book.self), context.fetch(Book.self).limit(3),
      try context.fetch(Book.self).where("year >= %@ AND author.name == %@", low, name)
        .sorted(by: \.year, .reverse),
      try context.fetch(Book.self).where(#Predicate { $0.year >= low && $0.author?.name == name }),
    ]
    for (request, fetch) in zip(requests, fetches) {
      #expect(try context.fetch(request).all() == fetch.all())
      #expect(fetch.request == request && context.fetch(request).request == request)
      let ids = try fetch.ids()
      #expect(try await temporary.store.read { try $0.fetch(request).ids() } == ids)
    }
  }

  @Test func `a request is sent to another task and narrowed down there`() async throws {
    let request = try Book.request.where("year > 1993").sorted(by: \.year)
    let store = temporary.store
    let titles = try await Task.detached {
      try await store.read { context in
        try context.fetch(request).where("author.name == 'Bob'").limit(2).all().map(\.title)
      }
    }.value
    #expect(titles == ["Bob 1994", "Bob 1995"])
    #expect(try context.fetch(request).count() == 12)
  }

  @Test func `a fetch gives its request, which can be changed`() throws {
    var fetch = try context.fetch(Book.self).where("year == 1990")
    #expect(try fetch.count() == 2)
    fetch.request = Book.request.limit(5)
    #expect(try fetch.count() == 5)
  }

  // MARK: Equality

  @Test func `requests are equal if their parts are, however a condition was written`() throws {
    let (requests, again) = (try Self.requests(), try Self.requests())
    #expect(requests == again)
    #expect(requests.map(\.hashValue) == again.map(\.hashValue))
    #expect(Set(requests).count == requests.count - 1, "the first two are the same request")
    let year = 1995
    let one = try Book.request.where(#Predicate { $0.year >= year })
    let other = try Book.request.where("year >= %@", 1995)
    #expect(one == other && one.hashValue == other.hashValue)
    let changed: [ObjectRequest<Book>] = [
      try Book.request.where("year >= %@", 1996), try Book.request.where("year > %@", 1995),
      other.limit(1), other.offset(1), other.sorted(by: \.year), other.prefetch(\.author),
      other.includingPending(false), other.includingSubentities(false), try other.where("year < 3"),
      Book.request,
    ]
    for request in changed { #expect(request != other) }
    #expect(Set(changed).count == changed.count)
  }

  // MARK: Coding

  @Test func `a decoded request equals the encoded one and finds the same objects`() throws {
    for request in try Self.requests() {
      let data = try JSONEncoder().encode(request)
      let decoded = try JSONDecoder().decode(ObjectRequest<Book>.self, from: data)
      #expect(decoded == request)
      #expect(try context.fetch(decoded).ids() == context.fetch(request).ids())
    }
  }

  @Test func `the encoded form has the names of properties and the values of conditions`() throws {
    let year = 1995
    let request = try Book.request.where(#Predicate { $0.year >= year }).sorted(by: \.author?.name, .reverse)
      .limit(2)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    let text = String(decoding: try encoder.encode(request), as: UTF8.self)
    #expect(
      text == #"""
        {"conditions":[{"comparison":{"_0":{"path":{"_0":{"depth":0,"names":["year"]}}},"_1":"greaterOrEqual",\#
        "_2":{"value":{"_0":{"stored":{"integer":1995},"type":"int"}}},"_3":0}}],"entity":"Book","limit":2,\#
        "sort":[{"isDescending":true,"names":["author","name"]}]}
        """#)
    #expect(
      String(decoding: try encoder.encode(Book.request), as: UTF8.self) == #"{"entity":"Book"}"#)
  }

  @Test func `a decoded request of another entity or class is an error`() async throws {
    let data = try JSONEncoder().encode(Author.request)
    let wrong = try JSONDecoder().decode(ObjectRequest<Book>.self, from: data)
    let error = #expect(throws: StoreError.self) { try context.fetch(wrong).all() }
    #expect(error.map { "\($0)" }?.contains("the request is for Author") == true)
    let unknown = Data(#"{"entity":"Boook"}"#.utf8)
    let request = try JSONDecoder().decode(ObjectRequest<Book>.self, from: unknown)
    #expect(throws: StoreError.noEntity(name: "Boook", similar: ["Book"])) {
      try context.fetch(request).count()
    }
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(ObjectRequest<Book>.self, from: Data(#"{"limit":1}"#.utf8))
    }
    let negative = Data(#"{"entity":"Book","limit":-5,"offset":-9}"#.utf8)
    #expect(try context.fetch(JSONDecoder().decode(ObjectRequest<Book>.self, from: negative)).count() == 0)
  }

  @Test func `decoded names that the model does not have are errors of the fetch`() throws {
    let texts = [
      #"{"entity":"Book","sort":[{"isDescending":false,"names":["yeer"]}]}"#,
      #"{"entity":"Book","prefetch":[["yeer"]]}"#,
      #"{"entity":"Book","conditions":[{"truth":{"_0":{"path":{"_0":{"depth":0,"names":["x\";DROP TABLE"]}}}}}]}"#,
    ]
    for text in texts {
      let request = try JSONDecoder().decode(ObjectRequest<Book>.self, from: Data(text.utf8))
      #expect(throws: StoreError.self, "\(text)") { try context.fetch(request).all() }
    }
  }

  @Test func `a request with an invalid key path is not encoded, and says so when it is fetched`() throws {
    let request = Author.request.sorted(by: \.name.count)
    #expect(throws: StoreError.self) { try context.fetch(request).all() }
    #expect(throws: StoreError.self) { try JSONEncoder().encode(request) }
    #expect(request != Author.request && request == Author.request.sorted(by: \.name.count))
  }

  // MARK: Objects in requests

  @Test func `a request may name a saved object, in the store of the object`() async throws {
    let ann = try context.fetch(Author.self).where("name == 'Ann'").one()
    let request = try Book.request.where("author == %@", ann)
    #expect(try context.fetch(request).count() == 10)
    let data = try JSONEncoder().encode(request)
    #expect(try await temporary.store.read { try $0.fetch(request).count() } == 10)
    let decoded = try JSONDecoder().decode(ObjectRequest<Book>.self, from: data)
    #expect(try context.fetch(decoded).count() == 10)
    let other = try await TemporaryStore(library)
    #expect(throws: StoreError.self) { try other.store.makeContext().fetch(request).count() }
  }

  @Test func `a request cannot name an object that was not saved`() async throws {
    let new = context.insert(Author.self) { $0.name = "New" }
    let error = #expect(throws: StoreError.self) { try Book.request.where("author == %@", new) }
    #expect(error.map { "\($0)" }?.contains("save the object first") == true)
    #expect(throws: StoreError.self) { try Book.request.where("author IN %@", [new]) }
    let node = try PredicateNode(format: "author == %@", arguments: [new])
    let fetch = try context.fetch(Book.self).where("author == %@", new)
    #expect(try fetch.count() == 0 && context.fetch(Book.self).where(node).count() == 0)
    for request in [Book.request.where(node), fetch.request] {
      #expect(throws: StoreError.self) { try context.fetch(request).all() }
      #expect(throws: StoreError.self) { try context.fetch(request).count() }
      #expect(throws: StoreError.self) { try JSONEncoder().encode(request) }
    }
    try context.save()
    #expect(throws: StoreError.self, "also after the save") { try context.fetch(fetch.request).all() }
    #expect(try context.fetch(Book.self).where("author == %@", new).request != fetch.request)
  }

  @Test func `a fetch that named new objects finds them after each later save`() throws {
    let new = (0..<3).map { number in context.insert(Author.self) { $0.name = "N\(number)" } }
    for (number, author) in new.enumerated() {
      for _ in 0...number { context.insert(Book.self) { ($0.title, $0.author) = ("of \(number)", author) } }
    }
    let node = try PredicateNode(format: "author == %@", arguments: [new[2]])
    let fetches = [
      try context.fetch(Book.self).where("author == %@", new[1]),
      try context.fetch(Book.self).where("author IN %@ AND year == %@", [new[0], new[1]], 2000),
      context.fetch(Book.self).where(node), try context.fetch(Book.self).where("author != %@", new[0]),
    ]
    func check() throws {
      #expect(try fetches.map { try $0.count() } == [2, 3, 3, 25])
      #expect(try fetches.map { try $0.all().count } == [2, 3, 3, 25])
      #expect(try fetches.map { try $0.ids().count } == [2, 3, 3, 25])
    }
    try check()
    try context.save()
    try check()
    context.insert(Author.self) { $0.name = "later" }
    try check()
    try context.save()
    try check()
  }

  // MARK: Without classes

  @Test func `a request without a class finds the same objects`() async throws {
    let request = try ObjectRequest(entity: "Book").where("year >= 1995 AND author.name == 'Bob'")
      .sorted(byPath: "year", .reverse).prefetch(path: "author.club").limit(3)
    let decoded = try JSONDecoder().decode(
      ObjectRequest<DynamicObject>.self, from: JSONEncoder().encode(request))
    #expect(decoded == request && request.entityName == "Book")
    #expect(throws: StoreError.openedWithClasses(entity: "Book")) { try context.fetch(request).all() }
    temporary.store.close()
    let store = try await Store.open(at: temporary.store.url, key: testKey)
    for request in [request, decoded] {
      let titles = try await store.read { context in
        try context.fetch(request).all().map { $0["title"] as String }
      }
      #expect(titles == ["Bob 1999", "Bob 1998", "Bob 1997"])
    }
    // The coded form has no class, so that a request of classes is fetched without them.
    let typed = try JSONEncoder().encode(Book.request.where("year == 1990"))
    let untyped = try JSONDecoder().decode(ObjectRequest<DynamicObject>.self, from: typed)
    #expect(try await store.read { try $0.fetch(untyped).count() } == 2)
    store.close()
  }
}
