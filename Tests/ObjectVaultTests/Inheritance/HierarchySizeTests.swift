// What large families cost: to make their steps and tables, and to make the model ready to run.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct HierarchySizes {
  /// A root that all others stand below, each of which leads to it.
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

  /// A line of entities, each below the one before.
  static func levels(_ count: Int) -> Schema {
    Schema(
      entities: (0..<count).map { number in
        EntityDescription(
          name: "Level\(number)", parent: number == 0 ? nil : "Level\(number - 1)",
          attributes: [AttributeDescription(name: "a\(number)", type: .int, isOptional: true)])
      })
  }

  /// What is done with a model when a store is made, and opened.
  private func time(_ schema: Schema) throws -> Double {
    try threadTime {
      let set = try MigrationSet.creating(schema)
      #expect(try set.losses(ofStep: 1) == [])
      _ = try SchemaMapping(schema)
    }
  }

  @Test func `eight times as many entities below one take far less than the square of the time`()
    async throws
  {
    // It is some 20 times: what is linear is most of it. One that looks at all for each of all takes 512 times as long.
    let factor = try await timeFactor(from: 50, to: 400, below: 48) { try time(Self.siblings($0)) }
    #expect(factor < 48)
  }

  @Test func `lines of eight times as many entities take little more than what each inherits`() async throws {
    // Each entity has all properties of those above, which is 64 times as many; once more for each were 512 times.
    let factor = try await timeFactor(from: 20, to: 160, below: 128) { try time(Self.levels($0)) }
    #expect(factor < 128)
  }
}
