// The cost of large inheritance hierarchies: making their steps and tables, and preparing the model.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct HierarchySizes {
  /// A root entity with many children.
  static func siblings(_ count: Int) -> Schema {
    let root = EntityDescription(
      name: "Root", attributes: [AttributeDescription(name: "name", type: .string, isIndexed: true)])
    return Schema(
      entities: [root]
        + (0..<count).map { number in
          EntityDescription(
            name: "Child\(number)", parent: "Root",
            attributes: [AttributeDescription(name: "a\(number)", type: .int, isOptional: true)])
        })
  }

  /// A chain of entities, each a child of the one before.
  static func levels(_ count: Int) -> Schema {
    Schema(
      entities: (0..<count).map { number in
        EntityDescription(
          name: "Level\(number)", parent: number == 0 ? nil : "Level\(number - 1)",
          attributes: [AttributeDescription(name: "a\(number)", type: .int, isOptional: true)])
      })
  }

  /// The time of the work on a model when a store is created and opened.
  private func time(_ schema: Schema) throws -> Double {
    try threadTime {
      let set = try MigrationSet.creating(schema)
      #expect(try set.losses(ofStep: 1) == [])
      _ = try SchemaMapping(schema)
    }
  }

  @Test func `eight times as many children of one root take far less than 64 times as long`() async throws {
    // The factor is about 20, because most of the work is linear. Work that compares all with all for each
    // entity has the factor 512.
    let factor = try await timeFactor(from: 50, to: 400, below: 48) { try time(Self.siblings($0)) }
    #expect(factor < 48)
  }

  @Test func `a chain of eight times as many entities takes little more than its properties require`()
    async throws
  {
    // Each entity has all properties of its ancestors, so there are 64 times as many. Repeated for each
    // entity, the factor is 512.
    let factor = try await timeFactor(from: 20, to: 160, below: 128) { try time(Self.levels($0)) }
    #expect(factor < 128)
  }
}
