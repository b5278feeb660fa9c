// Values that change hands in one save: a swap, a deletion and an insertion, a renaming and an insertion.
//
// SQLite compares unique values statement by statement, and the result alone should count. The rows are written
// as they come, which is right nearly always. When that fails, those that are about to give their value up are
// set aside first, and the rows are written again.

internal import CipherSQLite
private import Foundation

/// A unique value was met twice while rows were being written.
struct UniqueCollision: Error {
  let error: any Error
  /// The columns of the index, quoted.
  let columns: [String]
}

extension SaveWriter {
  func writeRowsInAnyOrder() throws {
    if mayCollide {
      let recorded = record
      do { return try connection.savepoint(writeRows) } catch is UniqueCollision { record = recorded }
      do {
        return try connection.savepoint {
          try setAside()
          try writeRows()
        }
      } catch let collision as UniqueCollision {
        guard plan.extent.isPartial else { throw collision.error }
        record = recorded
      }
    }
    waits = plan.extent.isPartial
    do { try writeRows() } catch let collision as UniqueCollision { throw collision.error }
  }

  private var mayCollide: Bool {
    if !plan.deletion.levels.isEmpty, !(plan.inserted.isEmpty && plan.updated.isEmpty) { return true }
    return plan.updated.contains { entity, objects in
      !entity.uniqueKeys.isEmpty && objects.contains { !plan.givenUp(entity, $0).isEmpty }
    }
  }

  /// Puts a value that nobody else has in the place of each that is given up: bytes, which every column takes.
  private func setAside() throws {
    for (entity, objects) in plan.updated {
      for object in objects {
        for slot in plan.givenUp(entity, object) { try setAside(entity, [slot], [object.rowID]) }
      }
    }
    for entity in mapping.entities where !plan.deletion.going(entity).isEmpty {
      let slots = Set(
        entity.uniqueKeys.compactMap { key in key.first { !entity.isToOne[$0] } ?? key.first })
      try setAside(entity, Array(slots), plan.deletion.rows(entity))
    }
  }

  private func setAside(_ entity: EntityMapping, _ slots: [Int], _ ids: [Int64]) throws {
    guard !slots.isEmpty else { return }
    let sql = entity.overwriteSQL(slots)
    for id in ids {
      let value = SQLValue.blob(Data("vault: set aside \(id)".utf8))
      try connection.execute(sql: sql, slots.map { _ in value } + [.integer(id)])
    }
  }
}
