// Objects and their ids as constants of a predicate.

internal import CipherSQLite

extension ManagedObject: PredicateObject {
  func predicateValue() throws -> PredicateValue {
    guard let entity else {
      throw StoreError.predicate(
        PredicateError("this object of \(type(of: self)) belongs to no store"))
    }
    // Inside a write, a new object already has the id of its future row.
    let id = visibleRowID
    return .id(id, of: entity.name, owner: entity, map: id < 0 ? map.map { ObjectIdentifier($0) } : nil)
  }

  var isNew: Bool { visibleRowID < 0 }
}

extension ObjectID: PredicateObject {
  func predicateValue() throws -> PredicateValue {
    .id(rowID, of: entityName, store: store)
  }

  // False also for a temporary id: unlike an object, the id stays the same when the object is saved.
  var isNew: Bool { false }

  static func predicateValues(_ ids: some Collection<Self>) throws -> [PredicateValue] {
    // Most ids have the entity and the store of the id before them, so these details are created once and
    // shared.
    var last = PredicateValue.null
    return ids.map { id in
      if last.entity == nil || last.store != id.store {
        last = .id(id.rowID, of: id.entityName, store: id.store)
      } else {
        last.stored = .integer(id.rowID)
      }
      return last
    }
  }
}

extension DynamicID: PredicateObject {
  func predicateValue() throws -> PredicateValue {
    .id(rowID, of: entity, store: store)
  }

  var isNew: Bool { false }
}
