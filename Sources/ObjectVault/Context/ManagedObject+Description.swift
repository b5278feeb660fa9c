// The text of an object for logs and debuggers.

internal import CipherSQLite

extension ManagedObject: CustomDebugStringConvertible {
  /// The entity, the id and the state, such as `User 42 (changed: name, city)`, for logs and debuggers.
  /// `print` and string interpolation show it, too.
  ///
  /// With ``Store/Configuration/describesValues`` the values in memory follow, those of changed attributes
  /// first. Reads nothing from the file: a fault stays one.
  public var debugDescription: String {
    let id = visibleRowID
    let changed = entity?.storedSlots.filter { overlay?.changed.contains($0) == true } ?? []
    var notes: [String] = isDraft || id < 0 ? ["new"] : []
    switch state {
    case .inserted, .detached: break
    case .loaded:
      let names = changed.compactMap { entity?.slots[$0].name }.sorted()
      if !names.isEmpty { notes.append("changed: \(names.joined(separator: ", "))") }
    case .fault, .deleted, .invalid: notes.append("\(state)")
    }
    let number = isDraft || id < 0 ? "" : " \(id)"
    let text = "\(nameOfEntity)\(number)" + (notes.isEmpty ? "" : " (\(notes.joined(separator: ", ")))")
    guard let entity, context?.core.describesValues == true else { return text }
    let others = entity.storedSlots.filter { !changed.contains($0) }
    let values = (changed + others).compactMap { slot -> String? in
      let value = overlay?.changed.contains(slot) == true ? overlay?[slot] : packedCell(slot)?.presentValue
      return value.map { "\(entity.slots[slot].name): \(legible($0.literal))" }
    }
    return values.isEmpty ? text : "\(text) \(values.joined(separator: ", "))"
  }
}

extension RowCell {
  /// The value; nil if a fetch has left it out.
  fileprivate var presentValue: SQLValue? { isAbsent ? nil : value }
}
