// Values that change hands in one save: a swap, a deletion and an insertion, a renaming and an insertion.
//
// SQLite compares unique values statement by statement, and the result alone should count. The rows are written
// as they come, which is right nearly always. When that fails, those that are about to give their value up are
// set aside first, and the rows are written again. What collides even then has a value that another object keeps:
// SaveWriter+Clashes finds all of these.

internal import CipherSQLite
private import Foundation

/// A unique value was met twice while rows were being written.
struct UniqueCollision: Error {
  /// What the engine says.
  let message: String
  /// What a save reports that can do nothing else.
  let error: StoreError
  /// The columns of the object's own table that the engine names, quoted. None where it names an index, or where a trigger writes to
  /// another table.
  let columns: [String]
}

/// What becomes of an object with a unique value that another row has.
enum CollisionRule {
  /// The rows are written in another way.
  case stop
  /// The object is noted, and its row is written without the value. The save fails when all are known.
  case note
  /// The object was noted before: its row is not written.
  case drop
}

extension SaveWriter {
  func writeRowsInAnyOrder() throws {
    if mayCollide {
      let recorded = record
      do { return try connection.savepoint(writeRows) } catch is UniqueCollision { record = recorded }
      // A raw index may make one value of all that is set aside.
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

  /// Runs `body`, which writes the row of an object, and deals with a unique value that it collides with.
  /// - Parameter writeRest: Writes the object without the values in some columns, which others have.
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

  /// Puts a value that no other row has in the place of each that is given up: bytes, which every column takes.
  private func setAside() throws {
    for (entity, objects) in plan.updated {
      for object in objects {
        for slot in plan.givenUp(entity, object) { try setAside(entity, [slot], [object.rowID]) }
      }
    }
    for entity in mapping.entities where !plan.deletion.going(entity).isEmpty {
      let slots = Set(entity.uniqueKeys.compactMap { entity.slotSetAside($0) } + entity.rawUniqueSlots)
      try setAside(entity, Array(slots), plan.deletion.rows(entity))
    }
  }

  private func setAside(_ entity: EntityMapping, _ slots: [Int], _ ids: [Int64]) throws {
    guard !slots.isEmpty else { return }
    let sql = entity.overwriteSQL(slots)
    for id in ids {
      try connection.execute(sql: sql, slots.map { _ in Self.valueSetAside(of: id) } + [.integer(id)])
    }
  }

  /// A value that no other row has.
  static func valueSetAside(of id: Int64) -> SQLValue { .blob(Data("vault: set aside \(id)".utf8)) }
}

extension EntityMapping {
  /// The slot of a unique key that is overwritten to set it aside: an attribute, where there is one.
  func slotSetAside(_ key: [Int]) -> Int? { key.first { !isToOne[$0] } ?? key.first }
}
