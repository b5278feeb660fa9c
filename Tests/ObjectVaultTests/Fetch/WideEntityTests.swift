// Entities about as wide as the 127 arguments that a function takes on every engine: an id, a version,
// and 125 more columns. Rows of wider entities are read one by one, with the same results.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

/// The widths: the numbers of columns beside the id and the version.
private let widths = [124, 125, 126, 130, 512]

@Suite(.tags(.slow)) struct WideEntities {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static func names(_ count: Int) -> [String] { (0..<count).map { "a\($0)" } }

  private static func attributes(_ names: [String]) -> [AttributeDescription] {
    names.map { AttributeDescription(name: $0, type: .int, isOptional: true) }
  }

  private func open(_ schema: Schema) async throws -> Store {
    let url = folder.url.appendingPathComponent("wide.store")
    try await Store.create(at: url, key: testKey, migrations: .creating(schema))
    return try await Store.open(at: url, key: testKey)
  }

  /// The value of a row in a column; nil in one of five.
  private static func value(row: Int, column: Int) -> Int? {
    (column + row) % 5 == 0 ? nil : row * 1000 + column
  }

  private func fill(_ object: DynamicObject, _ names: [String], row: Int) {
    for (column, name) in names.enumerated() { object[name] = Self.value(row: row, column: column) }
  }

  private func isFilled(_ object: DynamicObject, _ names: [String], row: Int) -> Bool {
    names.indices.allSatisfy { object[names[$0]] as Int? == Self.value(row: row, column: $0) }
  }

  @Test(arguments: widths)
  func `rows of any width are inserted, fetched, looked up and changed`(_ width: Int) async throws {
    let names = Self.names(width)
    let store = try await open(
      Schema(entities: [EntityDescription(name: "Wide", attributes: Self.attributes(names))]))
    defer { store.close() }
    let context = store.makeContext()
    // More rows than are written one by one, both new and changed.
    let made = try (1...80).map { row in
      try context.insert(entity: "Wide") { fill($0, names, row: row) }
    }
    try context.save()
    #expect(made.indices.allSatisfy { made[$0].id.rowID == Int64($0 + 1) })
    let fresh = store.makeContext()
    for fetch in [
      fresh.fetch(entity: "Wide"), fresh.fetch(entity: "Wide").sorted(byPath: "a\(width - 1)", .reverse),
      try fresh.fetch(entity: "Wide").where("a1 > 0").limit(70),
    ] {
      let found = try fetch.all()
      #expect(!found.isEmpty && found.allSatisfy { isFilled($0, names, row: Int($0.id.rowID)) })
    }
    for (index, object) in made.enumerated() { fill(object, names, row: index + 101) }
    try context.save()
    let single = store.makeContext()
    for (index, object) in made.enumerated() {
      let found = try #require(try single.existing(object.id))
      #expect(isFilled(found, names, row: index + 101), "\(index)")
    }
    // The file itself, read by plain SQL.
    let columns = names.map { "sum(ifnull(\"\($0)\", 0))" }.joined(separator: " + ")
    let sum = try Connection.open(store.url.path, key: testKey).rows(sql: "SELECT \(columns) FROM Wide")
    let expected = (101...180).reduce(0) { sum, row in
      sum + names.indices.reduce(0) { $0 + (Self.value(row: row, column: $1) ?? 0) }
    }
    #expect(sum == [[.integer(Int64(expected))]])
  }

  @Test(arguments: widths.filter { $0 < 512 })
  func `faults and prefetched members of a wide entity have all of their values`(_ width: Int) async throws {
    // The to-one is a column, too.
    let names = Self.names(width - 1)
    let store = try await open(
      Schema(entities: [
        EntityDescription(
          name: "Owner", attributes: Self.attributes(["number"]),
          relationships: [
            RelationshipDescription(
              name: "members", destination: "Wide", isToMany: true, inverse: "owner", deleteRule: .cascade)
          ]),
        EntityDescription(
          name: "Wide", attributes: Self.attributes(names),
          relationships: [
            RelationshipDescription(
              name: "owner", destination: "Owner", inverse: "members", deleteRule: .nullify)
          ]),
      ]))
    defer { store.close() }
    let context = store.makeContext()
    for number in 0..<3 {
      let owner = try context.insert(entity: "Owner") { $0["number"] = number }
      for place in 0..<20 {
        try context.insert(entity: "Wide") {
          fill($0, names, row: number * 20 + place + 1)
          $0[toOne: "owner"] = owner
        }
      }
    }
    try context.save()
    for isPrefetched in [false, true] {
      let fresh = store.makeContext()
      let owners =
        try isPrefetched
        ? fresh.fetch(entity: "Owner").prefetch(path: "members").all() : fresh.fetch(entity: "Owner").all()
      #expect(owners.count == 3)
      for owner in owners {
        let members = owner[toMany: "members"]
        #expect(members.count == 20)
        #expect(
          members.allSatisfy { isFilled($0, names, row: Int($0.id.rowID)) && $0[toOne: "owner"] === owner })
      }
    }
  }

  @Test(arguments: [60, 63, 64, 80])
  func `a hierarchy whose table is wider than each of its entities is fetched completely`(_ width: Int)
    async throws
  {
    let (own, below) = (Self.names(width), (0..<width).map { "b\($0)" })
    let store = try await open(
      Schema(entities: [
        EntityDescription(name: "Base", attributes: Self.attributes(own)),
        EntityDescription(name: "Child", parent: "Base", attributes: Self.attributes(below)),
      ]))
    defer { store.close() }
    let context = store.makeContext()
    for row in 1...30 {
      try context.insert(entity: row % 2 == 0 ? "Child" : "Base") { object in
        fill(object, own, row: row)
        if row % 2 == 0 { fill(object, below, row: row + 500) }
      }
    }
    try context.save()
    let fresh = store.makeContext()
    for found in [
      try fresh.fetch(entity: "Base").all(),
      try fresh.fetch(entity: "Base").sorted(byPath: "a2").limit(29).all(),
    ] {
      #expect(found.count >= 29)
      for object in found {
        let row = Int(object.id.rowID)
        #expect(isFilled(object, own, row: row))
        if row % 2 == 0 { #expect(isFilled(object, below, row: row + 500)) }
      }
    }
    #expect(try fresh.fetch(entity: "Child").count() == 15)
  }
}
