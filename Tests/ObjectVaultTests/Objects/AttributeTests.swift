// Attributes of every type: stored values, defaults, and values that are refused.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct Attributes {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws { temporary = try await TemporaryStore(library) }

  private func fill(_ sample: Sample) {
    sample.flag = true
    sample.int = .min
    sample.int8 = -128
    sample.int16 = .max
    sample.int32 = .min
    sample.int64 = .max
    sample.uint8 = 255
    sample.uint16 = .max
    sample.uint32 = .max
    sample.float = 0.1
    sample.double = .leastNonzeroMagnitude
    sample.decimal = Decimal(string: "12345678901234567890.123456789") ?? 0
    sample.string = "gr\u{FC}n\u{0}北京 🙂 'quoted' \"twice\""
    sample.data = Data([0, 1, 255, 0])
    sample.date = Date(timeIntervalSinceReferenceDate: 123_456_789.123_456_78)
    sample.uuid = UUID(uuidString: "0F8FAD5B-D9CB-469F-A165-70867728950E") ?? UUID()
    sample.url = URL(string: "https://example.org/a?b=c#d") ?? sample.url
    sample.mood = .cross
    sample.shelf = .low
    sample.address = Address(street: "Élysée", number: 55)
  }

  @Test func `a Decodable type gets values of every type as an object does`() async throws {
    struct All: Decodable {
      let flag: Bool, int: Int, int8: Int8, int64: Int64, uint32: UInt32
      let float: Float, double: Double, decimal: Decimal
      let string: String, data: Data, date: Date, uuid: UUID, url: URL
      let shelf: Shelf, address: Address?
    }
    let context = store.makeContext()
    let sample = context.insert(Sample.self) { fill($0) }
    // The second time from the file.
    for _ in 0..<2 {
      let found = try #require(try context.fetch(Sample.self).all(as: All.self).first)
      #expect(found.flag == sample.flag && found.int == sample.int && found.int8 == sample.int8)
      #expect(found.int64 == sample.int64 && found.uint32 == sample.uint32 && found.float == sample.float)
      #expect(found.double == sample.double && found.decimal == sample.decimal)
      #expect(Array(found.string.utf8) == Array(sample.string.utf8) && found.data == sample.data)
      #expect(found.date == sample.date && found.uuid == sample.uuid && found.url == sample.url)
      #expect(found.shelf == sample.shelf && found.address == sample.address)
      try context.save()
    }
  }

  @Test func `values of every type are read back from the store exactly`() async throws {
    let context = store.makeContext()
    let sample = context.insert(Sample.self) { fill($0) }
    try context.save()
    let id = sample.id
    let other = store.makeContext()
    let back = try #require(try other.existing(id))
    let model = context.insert(Sample.self) { fill($0) }
    #expect(back.flag == model.flag && back.int == model.int && back.int8 == model.int8)
    #expect(back.int16 == model.int16 && back.int32 == model.int32 && back.int64 == model.int64)
    #expect(back.uint8 == model.uint8 && back.uint16 == model.uint16 && back.uint32 == model.uint32)
    #expect(back.float == model.float && back.double == model.double && back.decimal == model.decimal)
    #expect(back.string == model.string && back.data == model.data)
    #expect(
      back.date.timeIntervalSinceReferenceDate.bitPattern
        == model.date.timeIntervalSinceReferenceDate.bitPattern)
    #expect(back.uuid == model.uuid && back.url == model.url && back.mood == .cross && back.shelf == .low)
    #expect(back.address == Address(street: "Élysée", number: 55))
    #expect(back.maybeInt == nil && back.maybeString == nil && back.maybeDate == nil && back.maybeMood == nil)
  }

  @Test func `optional attributes are stored with a value and as nil`() async throws {
    let context = store.makeContext()
    let sample = context.insert(Sample.self) {
      fill($0)
      $0.maybeInt = 0
      $0.maybeString = ""
      $0.maybeDate = .distantPast
      $0.maybeMood = .calm
      $0.maybeDecimal = 0.1
    }
    try context.save()
    let id = sample.id
    let other = store.makeContext()
    let back = try #require(try other.existing(id))
    #expect(
      back.maybeInt == 0 && back.maybeString == "" && back.maybeDate == .distantPast
        && back.maybeMood == .calm)
    #expect(back.maybeDecimal == Decimal(string: "0.1"))
    back.maybeInt = nil
    back.maybeMood = nil
    try other.save()
    let third = try #require(try store.makeContext().existing(id))
    #expect(third.maybeInt == nil && third.maybeMood == nil && third.maybeString == "")
  }

  @Test func `defaults are set before the first save, and required values without one are reported`() throws {
    let context = store.makeContext()
    let author = context.insert(Author.self)
    #expect(author.age == 30)
    #expect(author.name == "")
    #expect(
      throws: StoreError.validation([
        ValidationFailure(entity: "Author", property: "name", rowID: -1, reason: "is required")
      ])
    ) {
      try context.save()
    }
    author.name = "Ann"
    try context.save()
    #expect(author.id.rowID == 1)
  }

  @Test func `a save refuses NaN and names the property`() throws {
    let context = store.makeContext()
    let book = context.insert(Book.self) {
      $0.title = "T"
      $0.rating = .nan
    }
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.validation(let failures) = error else { return false }
      return failures.map(\.property) == ["rating"] && failures[0].reason.contains("NaN")
    }
    book.rating = 4
    try context.save()
  }

  @Test func `decimals compare and sort by value`() async throws {
    let values = ["-10", "-9.5", "-0.01", "0", "0.1", "2", "10", "100.00000000000000000001", "100.1"]
    try await store.write { context in
      for value in values.shuffled() {
        context.insert(Book.self) {
          $0.title = value
          $0.price = Decimal(string: value)
        }
      }
    }
    let sorted = try await store.read { try $0.fetch(Book.self).sorted(by: \.price).all().map(\.title) }
    #expect(sorted == values)
    let above = try await store.read {
      try $0.fetch(Book.self).where("price > 2").sorted(by: \.price).all().map(\.title)
    }
    #expect(above == ["10", "100.00000000000000000001", "100.1"])
    let equal = try await store.read { try $0.fetch(Book.self).where("price == 0.1").all().map(\.title) }
    #expect(equal == ["0.1"])
  }

  @Test func `a UUID is stored as Foundation's text of it`() throws {
    for _ in 0..<500 {
      let id = UUID()
      #expect(try id.stored() == .text(id.uuidString))
      #expect(UUID(stored: try id.stored()) == id)
    }
  }
}
