// The rules of the schema, checked in memory before anything is written; all broken ones are reported.

internal import CipherSQLite

extension SaveOperation {
  /// Decides what is written.
  func validate() throws {
    let new = context.inserted.filter { $0.state == .inserted }
    let changed = context.updated.filter { $0.state == .loaded }
    for object in new { releaseForgotten(object) }
    for object in changed { releaseForgotten(object) }
    var failures: [ValidationFailure] = []
    for object in new { check(object, &failures) }
    for object in changed { check(object, &failures) }
    guard isPartial, !leftOut.isEmpty else {
      guard failures.isEmpty else { throw StoreError.validation(failures) }
      (inserted, updated) = (new, changed)
      return
    }
    leaveOutReferrers(new + changed)
    inserted = new.filter { !leftOut.contains($0) }
    updated = changed.filter { !leftOut.contains($0) }
  }

  /// A to-one whose new target was deleted before it was saved is nil.
  private func releaseForgotten(_ object: ManagedObject) {
    guard let entity = object.entity, entity.hasToOne, let overlay = object.overlay else { return }
    for slot in entity.storedSlots where entity.isToOne[slot] {
      guard case .integer(let id) = overlay.values[slot], id < 0, overlay.changed.contains(slot),
        let destination = entity.slots[slot].relationship?.destination
      else { continue }
      if context.maps[destination.index].find(id)?.state != .inserted { release(object, slot) }
    }
  }

  /// Who refers to a new object that stays pending stays pending too.
  private func leaveOutReferrers(_ objects: [ManagedObject]) {
    var referrers: [ObjectIdentifier: [ManagedObject]] = [:]
    for object in objects {
      guard let entity = object.entity, entity.hasToOne, let overlay = object.overlay else { continue }
      for slot in entity.storedSlots where entity.isToOne[slot] && overlay.changed.contains(slot) {
        guard case .integer(let id) = overlay.values[slot], id < 0,
          let index = entity.slots[slot].relationship?.destination.index,
          let target = context.maps[index].find(id)
        else { continue }
        referrers[ObjectIdentifier(target), default: []].append(object)
      }
    }
    var waiting = Array(leftOut)
    while let object = waiting.popLast() {
      for referrer in referrers[ObjectIdentifier(object)] ?? [] where leftOut.insert(referrer).inserted {
        waiting.append(referrer)
      }
    }
  }

  private func check(_ object: ManagedObject, _ failures: inout [ValidationFailure]) {
    guard let entity = object.entity, let overlay = object.overlay else { return }
    let before = failures.count
    let (values, changed, isRequired) = (overlay.values, overlay.changed, entity.isRequired)
    for slot in entity.storedSlots where changed.contains(slot) {
      guard case .null = values[slot] else { continue }
      if let error = overlay.refused.isEmpty ? nil : overlay.refused[slot] {
        failures.append(failure(object, entity.slots[slot], "cannot be stored: \(error)"))
      } else if isRequired[slot] {
        failures.append(failure(object, entity.slots[slot], "is required"))
      }
    }
    for slot in entity.checkedSlots where changed.contains(slot) && !values[slot].isNull {
      let info = entity.slots[slot]
      for rule in info.checks where !rule.holds(values[slot]) {
        failures.append(failure(object, info, rule.text))
      }
    }
    if isPartial, failures.count > before { leftOut.insert(object) }
  }

  private func failure(_ object: ManagedObject, _ info: SlotRuntime, _ reason: String) -> ValidationFailure {
    ValidationFailure(
      entity: object.entity?.name ?? "", property: info.name, rowID: object.rowID, reason: reason)
  }

  /// SQLite's constraint messages name table and columns: `UNIQUE constraint failed: User.name, User.city`.
  /// - Parameter object: The object whose row was being written.
  func translated(_ message: String, _ code: Int, _ sql: String, _ object: ManagedObject?) -> any Error {
    let parts = message.split(separator: ": ", maxSplits: 1)
    let isUnique = message.hasPrefix("UNIQUE")
    guard parts.count == 2, isUnique || message.hasPrefix("NOT NULL") else {
      return SQLError.constraint(message: message, extendedCode: code, sql: sql)
    }
    let columns = parts[1].split(separator: ", ").map { $0.split(separator: ".", maxSplits: 1) }
    let entity = columns.first?.first.map(String.init) ?? ""
    let names = columns.compactMap { $0.last }.map { $0.hasSuffix("_id") ? $0.dropLast(3) : $0[...] }
    let reason =
      isUnique
      ? "must be unique, and another \(entity) has the same value\(names.count > 1 ? "s" : "")"
      : object == nil ? "is required, and what it leads to is deleted" : "is required"
    let error = StoreError.validation([
      ValidationFailure(
        entity: entity, property: names.joined(separator: ", "), rowID: object?.rowID ?? 0, reason: reason)
    ])
    return isUnique && object != nil ? UniqueCollision(error: error) : error
  }
}
