// Objects and their ids as constants of a predicate.

extension ManagedObject: PredicateObject {
  func predicateValue() throws -> PredicateValue {
    guard let entity else {
      throw StoreError.predicate(
        PredicateError("it is an object of \(type(of: self)) that belongs to no store"))
    }
    var constant = PredicateValue.id(rowID, of: entity.name)
    constant.owner = entity
    if isNew { constant.map = map.map { ObjectIdentifier($0) } }
    return constant
  }

  var isNew: Bool { rowID < 0 }
}

extension ObjectID: PredicateObject {
  func predicateValue() throws -> PredicateValue {
    var constant = PredicateValue.id(rowID, of: entityName)
    constant.store = store
    return constant
  }

  // An id is what it is: the row that a new object gets has another one.
  var isNew: Bool { false }
}

extension DynamicID: PredicateObject {
  func predicateValue() throws -> PredicateValue {
    var constant = PredicateValue.id(rowID, of: entity)
    constant.store = store
    return constant
  }

  var isNew: Bool { false }
}
