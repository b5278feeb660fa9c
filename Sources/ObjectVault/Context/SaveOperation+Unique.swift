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

extension SaveOperation {
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
        guard isPartial else { throw collision.error }
        record = recorded
      }
    }
    waits = isPartial
    do { try writeRows() } catch let collision as UniqueCollision { throw collision.error }
  }

  private var mayCollide: Bool {
    if victims.contains(where: { !$0.isEmpty }), !(inserted.isEmpty && updated.isEmpty) { return true }
    return updated.contains { entity, objects in
      !entity.uniqueKeys.isEmpty && objects.contains { !givenUp(entity, $0).isEmpty }
    }
  }

  /// The slots of unique values that an object is about to change, one for each index.
  func givenUp(_ entity: EntityMapping, _ object: ManagedObject) -> [Int] {
    guard let changed = object.overlay?.changed.subtracting(held(object)) else { return [] }
    return entity.uniqueKeys.compactMap { key in key.first(where: changed.contains) }
  }

  /// Puts a value that nobody else has in the place of each that is given up: bytes, which every column takes.
  private func setAside() throws {
    // First of all: what goes is told with the values that it has, and found by them.
    try addRowsThatGo()
    try recordVictims()
    for (entity, objects) in updated {
      for object in objects {
        for slot in givenUp(entity, object) { try setAside(entity, [slot], [object.rowID]) }
      }
    }
    for entity in core.mapping.entities where !victims[entity.index].isEmpty {
      let slots = Set(
        entity.uniqueKeys.compactMap { key in key.first { !entity.isToOne[$0] } ?? key.first })
      try setAside(entity, Array(slots), victims[entity.index].sorted())
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

  /// Adds to the victims the rows that are certain to go with them, while the file still says which they are.
  private func addRowsThatGo() throws {
    try addVictims { relationship, owners in
      let destination = self.context.maps[relationship.destination.index]
      if relationship.join != nil {
        // Links that are pending are not in the file, or still are.
        let unlinked = Set(
          self.context.links.values.lazy.filter { !$0.isAdded && $0.join == relationship.join?.table }
            .flatMap {
              [$0.source.rowID, $0.target.rowID]
            })
        return try self.related(relationship, owners).subtracting(unlinked)
      }
      if relationship.isToMany {
        // What a loaded one refers to is said by the object.
        return try self.related(relationship, owners).filter { destination.find($0)?.state != .loaded }
      }
      let map = self.context.maps[relationship.owner.index]
      return try self.related(
        relationship, owners.filter { map.find($0)?.overlay?.changed.contains(relationship.slot) != true })
    }
  }
}
