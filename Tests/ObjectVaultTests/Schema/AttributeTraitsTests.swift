// The traits of each attribute type, compared with the engine's column types and stored values, and with
// what predicates accept.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct AttributeTypeTraits {
  let temporary: TemporaryStore
  let connection: Connection

  init() async throws {
    temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    context.insert(Sample.self) { sample in
      sample.flag = true
      (sample.int, sample.int8, sample.int16, sample.int32, sample.int64) = (1, 1, 1, 1, 1)
      (sample.uint8, sample.uint16, sample.uint32) = (1, 1, 1)
      (sample.float, sample.double, sample.decimal) = (0.5, 0.5, 1.5)
      (sample.string, sample.data, sample.mood) = ("x", Data([1]), .calm)
      (sample.date, sample.uuid) = (Date(timeIntervalSinceReferenceDate: 1), UUID())
      sample.url = URL(string: "https://example.org/") ?? sample.url
    }
    try context.save()
    connection = try Connection.open(temporary.store.url.path, key: testKey)
    // The collation of decimals belongs to the store. Here any comparison serves.
    try connection.register(collation: "vault_decimal") { $0.count - $1.count }
  }

  private var attributes: [AttributeDescription] {
    // Attributes that are enums in Swift accept fewer values.
    library.entity(named: "Sample")?.attributes.filter {
      !$0.isOptional && !["mood", "shelf"].contains($0.name)
    } ?? []
  }

  @Test func `the sample has an attribute of each type`() {
    #expect(Set(attributes.map(\.type)) == Set(AttributeType.allCases))
  }

  @Test func `the declared type of a column and the type of a stored value match the traits`() throws {
    let columns = try connection.tableInfo("Sample").columns
    for attribute in attributes {
      let (name, traits) = (SQLName(attribute.name), attribute.type.traits)
      let column = try #require(columns.first { $0.name == attribute.name })
      #expect(column.type == traits.sqlType, "\(attribute.type)")
      let stored = try connection.value("SELECT typeof(\(name)) FROM Sample")?.string
      #expect(stored?.uppercased() == traits.sqlType, "\(attribute.type)")
      // The affinity: how the engine stores a numeric text, and a number.
      try connection.transaction {
        try connection.execute("UPDATE Sample SET \(name) = '7'")
        let text = try connection.value("SELECT typeof(\(name)) FROM Sample")?.string
        try connection.execute("UPDATE Sample SET \(name) = 7")
        let number = try connection.value("SELECT typeof(\(name)) FROM Sample")?.string
        let expected: (String?, String?) =
          switch traits.storage {
          case .integer: ("integer", "integer")
          case .real: ("real", "real")
          case .text: ("text", "text")
          case .blob: ("text", "integer")
          }
        #expect((text, number) == expected, "\(attribute.type)")
      }
    }
  }

  @Test func `the collation of a column is that of its type`() throws {
    for attribute in attributes {
      let (name, index) = (SQLName(attribute.name), SQLName("probe_\(attribute.name)"))
      try connection.execute("CREATE INDEX \(index) ON Sample(\(name))")
      let collation = try connection.rows("PRAGMA index_xinfo(\(index))").first?[4].string
      #expect(collation == attribute.type.traits.collation ?? "BINARY", "\(attribute.type)")
    }
  }

  @Test func `predicates calculate with numeric attributes and search in string attributes`() throws {
    let context = temporary.store.makeContext()
    for attribute in attributes {
      func takes(_ format: String) -> Bool { (try? context.fetch(Sample.self).where(format).sql) != nil }
      let traits = attribute.type.traits
      #expect(takes("\(attribute.name) + 1 > 0") == traits.isNumeric, "\(attribute.type)")
      #expect(takes("abs(\(attribute.name)) > 0") == traits.isNumeric, "\(attribute.type)")
      #expect(takes("\(attribute.name) CONTAINS 'x'") == traits.isString, "\(attribute.type)")
      #expect(takes("length(\(attribute.name)) > 0") == traits.isString, "\(attribute.type)")
    }
  }

  @Test func `a predicate accepts a date or a UUID as text for strings and for its own type`() throws {
    let context = temporary.store.makeContext()
    for attribute in attributes {
      func takes(_ text: String) -> Bool {
        (try? context.fetch(Sample.self).where("\(attribute.name) IN {'\(text)'}").sql) != nil
      }
      let traits = attribute.type.traits
      #expect(takes("2024-05-01") == (traits.isString || traits.written == .date), "\(attribute.type)")
      let uuid = "e621e1f8-c36c-495a-93fc-0c247a3e6e5f"
      #expect(takes(uuid) == (traits.isString || traits.written == .uuid), "\(attribute.type)")
    }
  }

  @Test func `verify accepts the bounds of each integer range and reports values beyond them`() async throws {
    for attribute in attributes {
      guard let range = attribute.type.traits.integerRange else { continue }
      let name = SQLName(attribute.name)
      for value in [range.lowerBound, range.upperBound] {
        try connection.execute("UPDATE Sample SET \(name) = \(value)")
        #expect(try await temporary.store.verify().isEmpty, "\(attribute.type) \(value)")
      }
      guard range.upperBound < Int64.max else { continue }
      for value in [range.lowerBound - 1, range.upperBound + 1] {
        try connection.execute("UPDATE Sample SET \(name) = \(value)")
        #expect(try await !temporary.store.verify().isEmpty, "\(attribute.type) \(value)")
      }
      try connection.execute("UPDATE Sample SET \(name) = 1")
    }
  }
}
