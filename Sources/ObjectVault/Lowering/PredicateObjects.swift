// Objects and their ids as constants of a predicate.

extension ManagedObject: PredicateObject {
  func predicateValue() throws -> PredicateValue {
    guard let entity else {
      throw StoreError.predicate(
        PredicateError("it is an object of \(type(of: self)) that belongs to no store"))
    }
    // Inside a write a new object has its id at once.
    let id = knownRowID
    return .id(id, of: entity.name, owner: entity, map: id < 0 ? map.map { ObjectIdentifier($0) } : nil)
  }

  var isNew: Bool { knownRowID < 0 }
}

extension ObjectID: PredicateObject {
  func predicateValue() throws -> PredicateValue {
    .id(rowID, of: entityName, store: store)
  }

  // An id is what it is: the row that a new object gets has another one.
  var isNew: Bool { false }
}

extension DynamicID: PredicateObject {
  func predicateValue() throws -> PredicateValue {
    .id(rowID, of: entity, store: store)
  }

  var isNew: Bool { false }
}
