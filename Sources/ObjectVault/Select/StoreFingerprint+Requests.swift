// Checks the ids among the constants of a request: ids of another store are rejected, whatever plan is
// used.

internal import CipherSQLite

extension StoreFingerprint {
  /// Checks that no constant of the request is an id of another store.
  /// - Throws: ``StoreError/predicate(_:)`` when a constant of the request is an id of another store.
  func check(_ request: FetchParameters, on entity: EntityMapping) throws {
    guard isKnown else { return }
    guard admits(request.storeOfOrder) else {
      throw StoreError.predicate(
        PredicateError(
          "the ids whose order it has are of another store; fetch the objects in this store",
          entity: entity.name))
    }
    let computed = request.sort.filter { $0.value.names == nil }.map {
      FetchCondition(node: .comparison($0.value, .equal, .value(.null), []))
    }
    for condition in request.conditions + computed {
      // The values of a template are checked in place, without copying.
      if condition.template != nil,
        condition.values.indices.allSatisfy({ admits(condition.values[$0].store) })
      {
        continue
      }
      // A small tree with shared parts may take very long to walk, so the limits are checked first. The
      // compiler rejects a tree beyond the limits.
      if condition.template == nil, (try? condition.node.check()) == nil { continue }
      guard let value = condition.firstValue(where: { !admits($0.store) }),
        case .integer(let id) = value.stored
      else { continue }
      let error = PredicateError(
        "\(value.entity ?? "") \(id) is an id of another store; fetch the object in this store and compare "
          + "with it",
        entity: entity.name, place: value.place)
      throw StoreError.predicate(condition.format.map { error.located(in: $0) } ?? error)
    }
  }
}

extension FetchCondition {
  /// Returns the first constant for which `test` is true. A template's tree has variables in place of the
  /// captured values, so the captured values are searched instead of the tree.
  fileprivate func firstValue(where test: (PredicateValue) -> Bool) -> PredicateValue? {
    template == nil ? node.firstValue(where: test) : values.first(where: test)
  }
}
