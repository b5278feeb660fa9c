// Deletions of chains of rows that are longer than the depth of the engine's own cascades.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

private final class Bead: ManagedObject {
  @Attribute var number: Int
  @ToOne var above: Bead?
  @ToMany(inverse: \Bead.above, onDelete: .cascade) var below: Set<Bead>
  @ToMany(inverse: \Ribbon.knots) var marks: Set<Ribbon>
  @ToMany(inverse: \Strand.knot, onDelete: .cascade) var threads: Set<Strand>
}

private final class Ribbon: ManagedObject {
  @Attribute var name: String
  @ToMany var knots: Set<Bead>
}

private final class Strand: ManagedObject {
  @Attribute var name: String
  @ToOne var knot: Bead?
}

@Suite(.tags(.slow)) struct Recursions {
  private static let schema = Schema {
    // Before the entity of its owner, so that the engine cascades to this table last.
    Entity(Strand.self)
    Entity(Bead.self)
    Entity(Ribbon.self)
  }

  /// A chain of 1,500 beads, each with a mark and a thread. In a ring, the first bead refers to the last
  /// one.
  private func fill(_ store: Store, isRing: Bool) throws {
    let context = store.makeContext()
    let mark = context.insert(Ribbon.self) { $0.name = "m" }
    var above: Bead?
    var first: Bead?
    for number in 0..<1500 {
      let knot = context.insert(Bead.self) { ($0.number, $0.above, $0.marks) = (number, above, [mark]) }
      context.insert(Strand.self) { ($0.name, $0.knot) = ("\(number)", knot) }
      (above, first) = (knot, first ?? knot)
    }
    if isRing { first?.above = above }
    try context.save()
  }

  @Test(arguments: [false, true], [false, true])
  func `deleting a long chain of rows also deletes everything that belongs to them`(
    _ isRing: Bool, _ isInWrite: Bool
  ) async throws {
    let temporary = try await TemporaryStore(Self.schema)
    let store = temporary.store
    try fill(store, isRing: isRing)
    let delete: @Sendable (ObjectContext) throws -> Void = { context in
      let fetch = context.fetch(Bead.self)
      for knot in try isRing ? fetch.where("number == 700").all() : fetch.all() { context.delete(knot) }
    }
    if isInWrite {
      try await store.write { try delete($0) }
    } else {
      let context = store.makeContext()
      try delete(context)
      try context.save()
    }
    let context = store.makeContext()
    #expect(try context.fetch(Bead.self).count() == 0 && context.fetch(Strand.self).count() == 0)
    #expect(try context.fetch(Ribbon.self).one().knots.isEmpty)
    #expect(try await store.verify().isEmpty)
  }
}
