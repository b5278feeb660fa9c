// Generated objects: a store accepts them for any model, and problematic values are among them.

import CipherSQLite
import Foundation
import ObjectVault
import ObjectVaultTesting
import TestSupport
import Testing

@Suite(.tags(.slow)) struct GeneratedObjectsTests {
  /// The content of a store with the objects, and the findings of its verification.
  private func filled(_ objects: GeneratedObjects) async throws -> (StoreContent, findings: [String]) {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.store")
    try await Store.create(at: url, key: testKey, migrations: .creating(objects.schema))
    let store = try await Store.open(at: url, key: testKey)
    defer { store.close() }
    let ids = try await objects.write(to: store)
    #expect(ids.count == objects.all.count && ids.allSatisfy { !$0.isTemporary })
    return (try StoreContent(at: url, key: testKey), try await store.verify())
  }

  @Test(arguments: GeneratedModels.all.keys.sorted(), [GeneratedObjects.Links.some, .all])
  func `a store accepts the objects of its model, and passes verification`(
    _ name: String, _ links: GeneratedObjects.Links
  ) async throws {
    let schema = try #require(GeneratedModels.all[name])
    let objects = try GeneratedObjects(of: schema, links: links)
    let (content, findings) = try await filled(objects)
    #expect(findings.isEmpty, "\(findings.joined(separator: "\n"))")
    #expect(content.count == objects.all.count)
    for entity in schema.entities { #expect(content.count(of: entity.name) > 0, "\(entity.name)") }
  }

  @Test(arguments: [1, 2, 25])
  func `any number of objects can be generated`(_ count: Int) async throws {
    for (name, schema) in GeneratedModels.all {
      let findings = try await filled(GeneratedObjects(of: schema, perEntity: count, links: .all)).findings
      #expect(findings.isEmpty, "\(name): \(findings.joined(separator: "\n"))")
    }
  }

  @Test func `objects can be generated for random models`() async throws {
    var filledCount = 0
    for seed in 1...60 {
      let schema = GeneratedModels.random(seed)
      // Invalid models are skipped.
      guard (try? schema.validate()) != nil else { continue }
      filledCount += 1
      let objects = try GeneratedObjects(of: schema, perEntity: 7, seed: UInt64(seed))
      let findings = try await filled(objects).findings
      #expect(findings.isEmpty, "seed \(seed): \(findings.joined(separator: "\n"))")
    }
    #expect(filledCount > 25)
  }

  @Test func `a hierarchy shares the few values of an attribute that is unique and required`() throws {
    let root = EntityDescription(
      name: "Person", attributes: [AttributeDescription(name: "flag", type: .bool, isUnique: true)])
    for children in [["Employee"], ["Employee", "Guest"]] {
      // A child that comes first takes all values.
      let schema = Schema(
        entities: children.map { EntityDescription(name: $0, parent: "Person") } + [root])
      let objects = try GeneratedObjects(of: schema)
      #expect(objects.all.count == 2)
      #expect(Set(objects.all.map { $0.values["flag"] }).count == 2)
    }
  }

  @Test func `equal seeds give equal objects, and different seeds give different ones`() throws {
    let schema = try #require(GeneratedModels.all["self references"])
    #expect(try GeneratedObjects(of: schema, seed: 5) == GeneratedObjects(of: schema, seed: 5))
    #expect(try GeneratedObjects(of: schema, seed: 5) != GeneratedObjects(of: schema, seed: 6))
  }

  @Test func `every edge value occurs, and every optional attribute is nil and not nil`() throws {
    let objects = try GeneratedObjects(of: GeneratedModels.allTypes, perEntity: 30).objects(of: "Thing")
    for type in AttributeType.allCases {
      let values = objects.map { $0.values["\(type.rawValue)Plain"] }
      for edge in GeneratedObjects.edgeValues(of: type) { #expect(values.contains(edge), "\(type) \(edge)") }
      let optional = objects.map { $0.values["\(type.rawValue)Optional"] }
      #expect(optional.contains(nil) && !optional.allSatisfy { $0 == nil }, "\(type)")
    }
    // The first object has only required values, and the next one has all values.
    #expect(objects[0].values.count == AttributeType.allCases.count)
    #expect(objects[1].values.count == 2 * AttributeType.allCases.count)
  }

  @Test func `relationships form circles, have several members, or are empty`() throws {
    let schema = try #require(GeneratedModels.all["self references"])
    let nodes = try GeneratedObjects(of: schema).objects(of: "Node")
    #expect(nodes.contains { $0.toOne["boss"] == nil } && nodes.contains { $0.toOne["boss"] != nil })
    #expect(nodes.allSatisfy { $0.toOne["root"] != nil })
    let members = Set(nodes.map { $0.toMany["known"]?.count ?? 0 })
    #expect(members.isSuperset(of: [0, 1, 3]))
    // With all links the bosses of all objects form one circle.
    let linked = try GeneratedObjects(of: schema, links: .all).objects(of: "Node")
    var (seen, next): (Set<Int>, Int) = ([], 0)
    while seen.insert(next).inserted { next = linked[next].toOne["boss"] ?? 0 }
    #expect(seen.count == linked.count)
  }

  @Test func `unique values limit the number of objects`() throws {
    let schema = try #require(GeneratedModels.all["few values"])
    let objects = try GeneratedObjects(of: schema, perEntity: 12)
    #expect(objects.objects(of: "Side").count == 2 && objects.objects(of: "Hand").count == 2)
    #expect(objects.objects(of: "Glove").count == 4)
  }

  @Test func `given values and rules are respected`() throws {
    let schema = GeneratedModels.allTypes
    let objects = try GeneratedObjects(
      of: schema, values: ["Thing.stringPlain": ["calm", "cheerful"]],
      rules: ["Thing.intPlain": { ($0.int64 ?? 0) > 0 }, "Key.stringKey": { $0 != "" }])
    let things = objects.objects(of: "Thing")
    #expect(Set(things.map { $0.values["stringPlain"] }) == ["calm", "cheerful"])
    #expect(things.allSatisfy { ($0.values["intPlain"]?.int64 ?? 0) > 0 })
    #expect(objects.objects(of: "Key").count == 12)
    #expect(!objects.objects(of: "Key").contains { $0.values["stringKey"] == "" })
  }

  @Test func `Swift types and rules of classes determine the values`() throws {
    let objects = try GeneratedObjects(of: Moods.schema, perEntity: 20).objects(of: "Diary")
    #expect(Set(objects.compactMap { $0.values["mood"]?.string }) == ["calm", "cheerful"])
    #expect(objects.contains { $0.values["former"] == nil })
    #expect(objects.allSatisfy { (1...5).contains($0.values["title"]?.string?.count ?? 0) })
    for object in objects {
      let weather = try #require(object.values["weather"])
      #expect(Weather(stored: weather) != nil)
    }
  }

  @Test func `a model with faults is refused by the generator`() {
    let schema = Schema(entities: [
      GeneratedModels.entity("A", [], [GeneratedModels.toOne("b", "Missing")])
    ])
    #expect(throws: StoreError.self) { try GeneratedObjects(of: schema) }
  }
}

enum Mood: String, CaseIterable, Codable, AttributeValue { case calm, cheerful }

struct Weather: Codable, Equatable, AttributeValue {
  var wind = 3
  var words: [String] = ["mild"]
  static var placeholder: Weather { Weather() }
}

final class Diary: ManagedObject {
  @Attribute var title: String
  @Attribute var mood: Mood
  @Attribute var former: Mood?
  @Attribute var weather: Weather
}

enum Moods {
  static let schema = Schema { Entity(Diary.self).check(\.title, .length(1...5)) }
}
