// fetch of entities in an inheritance hierarchy: the entity of each row.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct FetchHierarchies {
  let bench: FetchBench

  init() async throws {
    bench = try FetchBench()
    let schema = Schema(entities: [
      EntityDescription(name: "Person", attributes: [.init(name: "name", type: .string)]),
      EntityDescription(
        name: "Employee", parent: "Person", attributes: [.init(name: "salary", type: .int, isOptional: true)]),
      EntityDescription(name: "Car", attributes: [.init(name: "seats", type: .int, isOptional: true)]),
    ])
    try await Store.create(at: bench.url, key: FetchBench.key, migrations: try .creating(schema))
    let store = try await Store.open(at: bench.url, key: FetchBench.key)
    defer { store.close() }
    try await store.write { context in
      _ = try context.insert(entity: "Person") { try $0.set("name", to: "Ann") }
      _ = try context.insert(entity: "Employee") { try $0.set("name", to: "Bob") }
      _ = try context.insert(entity: "Car")
    }
  }

  @Test func `fetch of an entity with subentities shows the entity of each object`() throws {
    #expect(
      try bench.run("fetch", "Person", "--format", "csv").output
        == "id,_entity,name\r\n1,Person,Ann\r\n2,Employee,Bob\r\n")
    let rows = try bench.objects(try bench.run("fetch", "Person", "--format", "json").output)
    #expect(rows.compactMap { $0["_entity"] as? String } == ["Person", "Employee"])
    #expect(
      try bench.run("fetch", "Person", "--json").output.contains("\"columns\":[\"id\",\"_entity\",\"name\"]"))
    #expect(try bench.run("fetch", "Person").output.contains("_entity"))
  }

  @Test func `fetch of other entities shows the entity only if it is requested`() throws {
    #expect(
      try bench.run("fetch", "Employee", "--format", "csv").output == "id,name,salary\r\n2,Bob,\r\n")
    #expect(
      try bench.run("fetch", "Employee", "--columns", "name,_entity", "--format", "csv").output
        == "name,_entity\r\nBob,Employee\r\n")
    #expect(
      try bench.run("fetch", "Person", "--columns", "name", "--format", "csv").output
        == "name\r\nAnn\r\nBob\r\n")
    #expect(try bench.run("fetch", "Car", "--format", "csv").output == "id,seats\r\n1,\r\n")
    let none = try bench.run("fetch", "Car", "--columns", "_entity")
    #expect(none.status == 64 && none.errors.contains("_entity"), "\(none)")
  }
}
