// Objects without classes: properties by name, with the same rows and rules as with classes. The results
// are compared with those of classes and of SQL.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

/// A store that was made with classes and is open without them.
struct DynamicStore {
  let made: TemporaryStore
  let store: Store
  let context: ObjectContext

  init(_ schema: Schema = library) async throws {
    made = try await TemporaryStore(schema)
    store = try await Store.open(at: made.store.url, key: testKey)
    context = store.makeContext()
  }
}

@Suite struct DynamicObjects {
  let dynamic: DynamicStore
  var context: ObjectContext { dynamic.context }
  var classes: ObjectContext { dynamic.made.store.makeContext() }

  init() async throws { dynamic = try await DynamicStore() }

  private func author(_ name: String) throws -> DynamicObject {
    try context.insert(entity: "Author") { $0["name"] = name }
  }

  private static func sample(_ sample: Sample) {
    sample.flag = true
    (sample.int, sample.int64) = (Int.min, Int64.max)
    (sample.int8, sample.int16, sample.int32) = (-128, -32768, Int32.min)
    (sample.uint8, sample.uint16, sample.uint32) = (255, 65535, UInt32.max)
    (sample.float, sample.double) = (0.1, .leastNonzeroMagnitude)
    sample.decimal = Decimal(string: "-12345678901234567890.000000000000000001") ?? 0
    sample.string = "a\0b 'é' e\u{301} 北京 🏳️‍🌈"
    sample.data = Data([0, 255, 10])
    sample.date = Date(timeIntervalSinceReferenceDate: -0.1)
    sample.uuid = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F") ?? UUID()
    sample.url = URL(fileURLWithPath: "/a b")
    (sample.mood, sample.shelf) = (.cross, .low)
    sample.address = Address(street: "Main \"1\"", number: 7)
  }

  @Test func `values of every type that classes wrote are read by name, and the reverse`() async throws {
    try await dynamic.made.store.write { context in _ = context.insert(Sample.self, Self.sample) }
    let object = try context.fetch(entity: "Sample").one()
    let copy = try context.insert(entity: "Sample")
    for attribute in try #require(object.entityDescription).attributes {
      try copy.set(attribute.name, toStored: try object.value(attribute.name))
    }
    #expect(object["flag"] == true && object["int"] == Int.min && object["int64"] == Int64.max)
    #expect(object["int8"] == Int8.min && object["uint32"] == UInt32.max && object["int8"] == -128)
    #expect(object["float"] == Float(0.1) && object["double"] == Double.leastNonzeroMagnitude)
    #expect(
      object["data"] == Data([0, 255, 10]) && object["mood"] == Mood.cross && object["mood"] == "cross")
    #expect(object["date"] == Date(timeIntervalSinceReferenceDate: -0.1) && object["shelf"] == 1)
    #expect(object["url"] == URL(fileURLWithPath: "/a b"))
    #expect(object["address"] == Address(street: "Main \"1\"", number: 7))
    #expect(object["address"] == "{\"number\":7,\"street\":\"Main \\\"1\\\"\"}")
    #expect(object["maybeInt"] == nil as Int? && object["maybeInt"] == 0)
    try context.save()
    let both = try classes.fetch(Sample.self).sorted(by: \.id).all()
    let (first, second) = (both[0], both[1])
    #expect(first.decimal == second.decimal && first.string.utf8.elementsEqual(second.string.utf8))
    #expect(first.date == second.date && first.address == second.address && first.uuid == second.uuid)
    #expect(second.mood == .cross && second.maybeMood == nil && second.int == Int.min && second.float == 0.1)
    let rows = try await dynamic.made.store.rows("SELECT * FROM \"Sample\" ORDER BY id")
    #expect(rows.count == 2 && rows[0].dropFirst() == rows[1].dropFirst())
    #expect(context.faultErrors.isEmpty && context.unreadableValues.isEmpty)
  }

  @Test func `new objects have the model's defaults, and a save reports missing required values`() throws {
    let ann = try author("Ann")
    #expect(ann["age"] == 30 && ann["nick"] == nil as String? && ann.entityName == "Author")
    #expect(ann.id.isTemporary && ann.state == .inserted)
    try context.save()
    #expect(ann.id == DynamicID(entity: "Author", rowID: 1) && "\(ann.id)" == "Author 1")
    _ = try context.insert(entity: "Loan") { $0["reader"] = "Bob" }
    #expect(
      throws: StoreError.validation([
        ValidationFailure(entity: "Loan", property: "book", rowID: -2, reason: "is required")
      ])
    ) { try context.save() }
  }

  @Test func `relationships by name update both ends, and classes see the result`() async throws {
    let (ann, bob) = (try author("Ann"), try author("Bob"))
    let book = try context.insert(entity: "Book") {
      $0["title"] = "Dune"
      $0[toOne: "author"] = ann
    }
    let genre = try context.insert(entity: "Genre") { $0["name"] = "crime" }
    try genre.add(book, to: "books")
    #expect(ann[toMany: "books"] == [book] && book[toMany: "genres"] == [genre])
    try book.set("author", toOne: bob)
    #expect(ann[toMany: "books"].isEmpty && bob[toMany: "books"] == [book])
    let passport = try context.insert(entity: "Passport") { $0["number"] = "1" }
    ann[toOne: "passport"] = passport
    bob[toOne: "passport"] = passport
    #expect(passport[toOne: "owner"] == bob && ann[toOne: "passport"] == nil)
    try context.save()
    let reader = classes
    let seen = try reader.fetch(Book.self).one()
    #expect(seen.author?.name == "Bob" && seen.genres.map(\.name) == ["crime"])
    #expect(seen.author?.passport?.number == "1")
    try genre.remove(book, from: "books")
    book[toMany: "genres"] = [try context.insert(entity: "Genre") { $0["name"] = "poem" }]
    book[toOne: "author"] = nil
    try context.save()
    let later = classes
    let again = try later.fetch(Book.self).one()
    #expect(again.author == nil && again.genres.map(\.name) == ["poem"])
    #expect(try book.value("author") == .null)
  }

  @Test func `objects without classes follow delete rules, unique values and conflicts`() async throws {
    let ann = try author("Ann")
    let book = try context.insert(entity: "Book") {
      $0["title"] = "Dune"
      $0[toOne: "author"] = ann
    }
    let loan = try context.insert(entity: "Loan") {
      $0["reader"] = "Bob"
      $0[toOne: "book"] = book
    }
    try context.save()
    context.delete(ann)
    #expect(throws: StoreError.deleteDenied(entity: "Book", rowID: 1, property: "loans", count: 1)) {
      try context.save()
    }
    context.rollback()
    context.delete(loan)
    context.delete(ann)
    try context.save()
    #expect(try book.state == .invalid && classes.fetch(Book.self).count() == 0)
    let other = try author("Cid")
    try context.save()
    // The id of a deleted row is not issued again.
    #expect(other.id.rowID == 2)
    _ = try author("Cid")
    #expect(throws: StoreError.self) { try context.save() }
    context.rollback()
    try await dynamic.made.store.write { try $0.fetch(Author.self).one().age = 50 }
    other["age"] = 60
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.conflicts(let all) = error, let conflict = all.first else { return false }
      return conflict.entity == "Author" && conflict.properties == ["age"]
    }
  }

  @Test func `wrong names, types and objects are errors, and nothing is written`() throws {
    let ann = try author("Ann")
    try context.save()
    let wrong: [(DynamicObject) throws -> Void] = [
      { try $0.set("nam", to: "x") }, { _ = try $0.value("books") }, { try $0.set("books", to: 1) },
      { try $0.set("age", to: "old") }, { try $0.set("name", to: 7) }, { try $0.set("age", to: true) },
      { try $0.set("name", toStored: .integer(7)) }, { try $0.set("name", toOne: nil) },
      { try $0.set("passport", toOne: $0) }, { try $0.add($0, to: "books") }, { try $0.add($0, to: "club") },
      { try $0.remove($0, from: "nick") }, { try $0.set("age", toStored: .real(.nan)) },
    ]
    for action in wrong { #expect(throws: StoreError.self) { try action(ann) } }
    #expect(!context.hasChanges && context.faultErrors.isEmpty && ann["name"] == "Ann")
    #expect(throws: StoreError.noProperty(entity: "Author", property: "nam", similar: ["name"])) {
      try ann.set("nam", to: "x")
    }
    #expect(
      throws: StoreError.propertyMisused(
        entity: "Author", property: "passport",
        reason: "refers to Passport, but was given an object of Author"
      )
    ) { try ann.set("passport", toOne: ann) }
    // Subscripts note their errors, as getters and setters do.
    let age: String = ann["age"]
    ann["nmae"] = "x"
    ann[toOne: "books"] = ann
    #expect(age.isEmpty && ann[toMany: "club"].isEmpty && context.faultErrors.count == 4)
    #expect("\(context.faultErrors[1])" == "Author has no property \"nmae\"; did you mean \"name\"?")
    #expect(throws: StoreError.self) { try context.save() }
    // A value of another type breaks a rule of the object, and the next value repairs it.
    ann["age"] = "old"
    #expect(
      throws: StoreError.validation([
        ValidationFailure(
          entity: "Author", property: "age", rowID: 1,
          reason: "cannot be stored: a value of type string is not a value of type int")
      ])
    ) { try context.save() }
    ann["age"] = 31
    try context.save()
    #expect(try classes.fetch(Author.self).one().age == 31)
  }

  @Test func `numbers are accepted if they lose nothing, and texts if they are in stored form`() throws {
    let sample = try context.insert(entity: "Sample")
    try sample.set("double", to: 3)
    try sample.set("decimal", to: 3)
    try sample.set("float", to: 0.1)
    try sample.set("int8", to: 127)
    try sample.set("uuid", to: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
    try sample.set("address", to: "{\"number\":1,\"street\":\"x\"}")
    #expect(sample["double"] == 3.0 && sample["decimal"] == Decimal(3) && sample["float"] == Float(0.1))
    #expect(sample["address"] == Address(street: "x", number: 1) && sample["int8"] == 127)
    let unfit: [(String, any AttributeValue)] = [
      ("int8", 128), ("uint8", -1), ("uuid", "e621"), ("decimal", "1,5"), ("decimal", 1.5), ("int", 1.5),
      ("address", "{ }"), ("url", "a b"), ("date", 1.0), ("flag", 1), ("data", "x"), ("double", Double.nan),
    ]
    for (name, value) in unfit {
      #expect(throws: StoreError.self, "\(name)") { try sample.set(name, to: value) }
    }
  }

  @Test func `an object outlives its context with the values that were read`() async throws {
    try await dynamic.made.store.write { context in _ = context.insert(Author.self) { $0.name = "Ann" } }
    var gone: DynamicObject?
    do {
      let context = dynamic.store.makeContext()
      gone = try context.fetch(entity: "Author").one()
    }
    let object = try #require(gone)
    #expect(object["name"] == "Ann" && object.id.rowID == 1 && object.entityName == "Author")
    #expect(try object.state == .invalid && object.value("name") == .text("Ann"))
    #expect(throws: StoreError.noContext(entity: "DynamicObject", property: "load")) {
      try DynamicObject().load()
    }
    #expect(throws: StoreError.noContext(entity: "DynamicObject", property: "name")) {
      try DynamicObject().set("name", to: "x")
    }
  }
}

extension Store {
  /// Returns rows by plain SQL, without any mapping.
  fileprivate func rows(_ sql: String) async throws -> [[SQLValue]] {
    let connection = try Connection.open(url.path, key: testKey)
    defer { connection.close() }
    return try connection.rows(sql: sql)
  }
}
