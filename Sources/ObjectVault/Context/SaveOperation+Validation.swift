// The rules of the schema, checked in memory before anything is written; all broken ones are reported.

internal import CipherSQLite

extension SaveOperation {
  func validate() throws {
    var failures: [ValidationFailure] = []
    for object in context.inserted where object.state == .inserted { check(object, &failures) }
    for object in context.updated where object.state == .loaded { check(object, &failures) }
    guard failures.isEmpty else { throw StoreError.validation(failures) }
  }

  private func check(_ object: ManagedObject, _ failures: inout [ValidationFailure]) {
    guard let entity = object.entity, let overlay = object.overlay else { return }
    let (values, changed, isRequired) = (overlay.values, overlay.changed, entity.isRequired)
    for slot in entity.storedSlots where changed.contains(slot) {
      guard case .null = values[slot] else { continue }
      let key = SlotKey(object: ObjectIdentifier(object), slot: slot)
      if let error = context.refused.isEmpty ? nil : context.refused[key] {
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
  }

  private func failure(_ object: ManagedObject, _ info: SlotRuntime, _ reason: String) -> ValidationFailure {
    ValidationFailure(
      entity: object.entity?.name ?? "", property: info.name, rowID: object.rowID, reason: reason)
  }

  /// SQLite's constraint messages name table and columns: `UNIQUE constraint failed: User.name, User.city`.
  func translated(_ message: String, _ code: Int, _ sql: String) -> any Error {
    let parts = message.split(separator: ": ", maxSplits: 1)
    guard parts.count == 2, message.hasPrefix("UNIQUE") || message.hasPrefix("NOT NULL") else {
      return SQLError.constraint(message: message, extendedCode: code, sql: sql)
    }
    let columns = parts[1].split(separator: ", ").map { $0.split(separator: ".", maxSplits: 1) }
    let entity = columns.first?.first.map(String.init) ?? ""
    let names = columns.compactMap { $0.last }.map { $0.hasSuffix("_id") ? $0.dropLast(3) : $0[...] }
    let reason =
      message.hasPrefix("UNIQUE")
      ? "must be unique, and another \(entity) has the same value\(names.count > 1 ? "s" : "")"
      : "is required"
    return StoreError.validation([
      ValidationFailure(entity: entity, property: names.joined(separator: ", "), rowID: 0, reason: reason)
    ])
  }
}
