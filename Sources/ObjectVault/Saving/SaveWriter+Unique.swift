// Unique values that move between objects in one save: by a swap, a deletion and an insertion, or a
// change and an insertion.
//
// SQLite checks unique values after each statement, but only the result of the save should count. First
// the rows are written in their given order, which almost always works. If that fails, the values that
// objects give up are replaced by placeholders, and the rows are written again. If a value still
// collides, another object keeps it: SaveWriter+Clashes finds all of these.

internal import CipherSQLite
private import Foundation

/// A unique value occurred twice while rows were being written.
struct UniqueCollision: Error {
  /// The engine's message.
  let message: String
  /// The error that the save throws if it cannot resolve the collision.
  let error: StoreError
  /// The quoted columns of the object's own table that the engine names. Empty if it names an index, or
  /// if a trigger writes to another table.
  let columns: [String]
}

/// What happens to an object with a unique value that another row has.
enum CollisionRule {
  /// Stop: the rows are written again in another way.
  case stop
  /// Note the object, and write its row without the value. The save fails when all collisions are known.
  case note
  /// Skip the row: the object was noted before.
  case drop
}

extension SaveWriter {
  func writeRowsInAnyOrder() throws {
    if mayCollide {
      let recorded = (record, history)
      do { return try connection.savepoint(writeRows) } catch is UniqueCollision {
        (record, history) = recorded
      }
      // The expression of a raw index may have one result for all values that are set aside. These then
      // collide.
      do { try connection.savepoint(setAside) } catch SQLError.constraint {}
    }
    try writeRowsNotingClashes()
  }

  private var mayCollide: Bool {
    if !plan.deletion.levels.isEmpty, !(plan.inserted.isEmpty && plan.updated.isEmpty) { return true }
    return plan.updated.contains { entity, objects in
      !(entity.uniqueKeys.isEmpty && entity.rawUniqueSlots.isEmpty)
        && objects.contains { !plan.givenUp(entity, $0).isEmpty }
    }
  }

  /// Runs `body`, which writes the row of an object, and handles a collision of a unique value.
  /// - Parameter writeRest: Writes the object without the values in some columns, which other objects
  ///   have.
  func unlessColliding(
    _ object: ManagedObject, _ body: () throws -> Void, writeRest: (_ columns: Set<String>) throws -> Void
  ) throws {
    do { try body() } catch let collision as UniqueCollision {
      switch collisions {
      case .stop: throw collision
      case .note: try writeRest(try note(collision, of: object))
      case .drop: break
      }
    }
  }

  /// Replaces each unique value that is given up by a value that no other row has: a blob, which every
  /// column accepts.
  private func setAside() throws {
    for (entity, objects) in plan.updated {
      for object in objects {
        for slot in plan.givenUp(entity, object) { try setAside(entity, slots: [slot], ids: [object.rowID]) }
      }
    }
    for entity in mapping.entities where !plan.deletion.going(entity).isEmpty {
      let slots = Set(entity.uniqueKeys.compactMap { entity.slotSetAside($0) } + entity.rawUniqueSlots)
      try setAside(entity, slots: Array(slots), ids: plan.deletion.rows(entity))
    }
  }

  private func setAside(_ entity: EntityMapping, slots: [Int], ids: [Int64]) throws {
    guard !slots.isEmpty else { return }
    let sql = entity.overwriteSQL(slots)
    for id in ids {
      try connection.execute(sql: sql, slots.map { _ in Self.valueSetAside(of: id) } + [.integer(id)])
    }
  }

  /// Returns a value that no other row has.
  static func valueSetAside(of id: Int64) -> SQLValue { .blob(Data("vault: set aside \(id)".utf8)) }
}

extension EntityMapping {
  /// Returns the slot of a unique key that is overwritten to set it aside: an attribute if there is one.
  func slotSetAside(_ key: [Int]) -> Int? { key.first { !isToOne[$0] } ?? key.first }
}
