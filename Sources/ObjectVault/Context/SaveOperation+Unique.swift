// Values that change hands in one save: a swap, a deletion and an insertion, a renaming and an insertion.
//
// SQLite compares unique values statement by statement, and the result alone should count. The rows are written
// as they come, which is right nearly always. When that fails, those that are about to give their value up are
// set aside first, and the rows are written again.

internal import CipherSQLite
private import Foundation

/// A unique value was met twice while rows were being written.
struct UniqueCollision: Error { let error: any Error }

extension SaveOperation {
  func writeRowsInAnyOrder() throws {
    guard mayCollide else {
      do { try writeRows() } catch let collision as UniqueCollision { throw collision.error }
      return
    }
    do { try connection.savepoint(writeRows) } catch is UniqueCollision {
      try setAside()
      do { try writeRows() } catch let collision as UniqueCollision { throw collision.error }
    }
  }

  private var mayCollide: Bool {
    if victims.contains(where: { !$0.isEmpty }), !(inserted.isEmpty && updated.isEmpty) { return true }
    return updated.contains { entity, objects in
      !entity.uniqueKeys.isEmpty && objects.contains { !givenUp(entity, $0).isEmpty }
    }
  }

  /// The slots of unique values that an object is about to change, one for each index.
  private func givenUp(_ entity: EntityRuntime, _ object: ManagedObject) -> [Int] {
    guard let changed = object.overlay?.changed else { return [] }
    return entity.uniqueKeys.compactMap { key in key.first(where: changed.contains) }
  }

  /// Puts a value that nobody else has in the place of each that is given up: bytes, which every column takes.
  private func setAside() throws {
    for (entity, objects) in updated {
      for object in objects {
        for slot in givenUp(entity, object) { try setAside(entity, [slot], [object.rowID]) }
      }
    }
    let going = try rowsThatGo()
    for entity in core.runtime.entities where !going[entity.index].isEmpty {
      let slots = Set(
        entity.uniqueKeys.compactMap { key in key.first { !entity.isToOne[$0] } ?? key.first })
      try setAside(entity, Array(slots), going[entity.index].sorted())
    }
  }

  private func setAside(_ entity: EntityRuntime, _ slots: [Int], _ ids: [Int64]) throws {
    guard !slots.isEmpty else { return }
    let columns = slots.map { "\(entity.slots[$0].column) = ?" }.joined(separator: ", ")
    let sql = "UPDATE \(entity.table) SET \(columns) WHERE \"id\" = ?"
    for id in ids {
      let value = SQLValue.blob(Data("vault: set aside \(id)".utf8))
      try connection.execute(sql: sql, slots.map { _ in value } + [.integer(id)])
    }
  }

  /// The rows that are certain to be deleted by this save: the marked ones, and below them those that no object
  /// stands for which might have been moved elsewhere.
  private func rowsThatGo() throws -> [Set<Int64>] {
    var all = victims
    var fresh = victims
    while fresh.contains(where: { !$0.isEmpty }) {
      var found = core.runtime.entities.map { _ in Set<Int64>() }
      for entity in core.runtime.entities where !fresh[entity.index].isEmpty {
        for relationship in entity.slots.compactMap(\.relationship)
        where relationship.deleteRule == .cascade && relationship.isToMany && relationship.join == nil {
          let index = relationship.destination.index
          let ids = try related(relationship, fresh[entity.index].sorted())
          found[index].formUnion(ids.filter { context.maps[index].find($0)?.state != .loaded })
        }
      }
      for index in found.indices {
        found[index].subtract(all[index])
        all[index].formUnion(found[index])
      }
      fresh = found
    }
    return all
  }

  // MARK: References

  /// A deleted object's last references are written too: what its delete rules reach follows from them.
  func writeLastReferences() throws {
    for object in context.deleted {
      guard let entity = object.entity, entity.hasToOne, let overlay = object.overlay else { continue }
      for slot in entity.storedSlots where entity.isToOne[slot] && overlay.changed.contains(slot) {
        let value = resolved(overlay.values[slot])
        if case .integer(let id) = value, id < 0 { continue }
        if value.isNull && entity.isRequired[slot] { continue }
        try connection.execute(
          sql: "UPDATE \(entity.table) SET \(entity.slots[slot].column) = ? WHERE \"id\" = ?",
          [value, .integer(object.rowID)])
      }
    }
  }

  /// Finds references to rows that somebody else deleted, while the object can still be named: the commit would
  /// only say that there is one.
  func checkReferences() throws {
    guard connection.hasUnresolvedReferences else { return }
    var failures: [ValidationFailure] = []
    for (entity, objects) in inserted + updated where entity.hasToOne {
      for object in objects {
        guard let overlay = object.overlay else { continue }
        for slot in entity.storedSlots where entity.isToOne[slot] && overlay.changed.contains(slot) {
          guard let relationship = entity.slots[slot].relationship,
            case .integer(let id) = resolved(overlay.values[slot]),
            try isGone(relationship.destination, id)
          else { continue }
          failures.append(missing(relationship, object, id))
        }
      }
    }
    for (key, link) in context.links where link.isAdded && link.isLive {
      guard let source = link.source.entity, let target = link.target.entity else { continue }
      let end = source.slots.compactMap(\.relationship).first { $0.join?.table.name == key.table }
      let other = target.slots.compactMap(\.relationship).first { $0.join?.table.name == key.table }
      if let end, try isGone(target, finalID(link.target.rowID)) {
        failures.append(missing(end, link.source, link.target.rowID))
      } else if let other, try isGone(source, finalID(link.source.rowID)) {
        failures.append(missing(other, link.target, link.source.rowID))
      } else if let end, try isGone(source, finalID(link.source.rowID)) {
        throw StoreError.objectGone(entity: end.owner.name, rowID: link.source.rowID)
      }
    }
    guard failures.isEmpty else { throw StoreError.validation(failures) }
    throw SQLError.constraint(
      message: "a reference leads to a row that is gone", extendedCode: 787, sql: "COMMIT")
  }

  private func isGone(_ entity: EntityRuntime, _ id: Int64) throws -> Bool {
    try connection.value(sql: "SELECT 1 FROM \(entity.table) WHERE \"id\" = ?", [.integer(id)]) == nil
  }

  private func missing(
    _ relationship: RelationshipRuntime, _ object: ManagedObject, _ id: Int64
  ) -> ValidationFailure {
    ValidationFailure(
      entity: relationship.owner.name, property: relationship.name, rowID: object.rowID,
      reason: "leads to \(relationship.destination.name) \(id), which somebody else deleted")
  }
}
