// What large families cost: to make their steps and tables, and to make the model ready to run.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct FamilySizes {
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
    try (0..<2).map { _ in
      try threadTime {
        let set = try MigrationSet.creating(schema)
        #expect(try set.losses(ofStep: 1) == [])
        _ = try SchemaMapping(schema)
      }
    }.min() ?? 0
  }

  @Test func `twice as many entities below one take little more than twice the time`() throws {
    let (half, all) = (try time(Self.siblings(200)), try time(Self.siblings(400)))
    // One that looks at all for each takes four times as long, and one that does so for each of these again eight times.
    #expect(all < 4 * half, "\(half) s, \(all) s")
  }

  @Test func `lines of twice as many entities take little more than what each inherits`() throws {
    let (half, all) = (try time(Self.levels(80)), try time(Self.levels(160)))
    // Each entity has all properties of those above, which is four times as many.
    #expect(all < 5 * half, "\(half) s, \(all) s")
  }
}
