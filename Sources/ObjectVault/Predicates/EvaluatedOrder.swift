// The order of a sort, evaluated in memory as ORDER BY sorts: nil first, strings by their bytes, decimals
// by value.

internal import CipherSQLite

/// The sort keys of one entity, prepared for the comparison of many objects.
package struct EvaluatedOrder {
  private struct Key {
    let operand: PredicateEvaluator.Operand
    let order: PredicateEvaluator.Order
    let isDescending: Bool
  }

  private let keys: [Key]
  /// The routes that the keys follow: lists of relationship names that begin at the object. The set also
  /// has every prefix of a route.
  package let routes: Set<[String]>
  /// The routes to targets of which more than the id is read.
  let deepRoutes: Set<[String]>

  /// Prepares sort keys.
  /// - Parameters:
  ///   - keys: The path of each key, as names from the object on.
  ///   - entity: The entity of the objects.
  package init(_ keys: [(names: [String], isDescending: Bool)], entity: String, schema: Schema) {
    var preparation = PredicatePreparation(entity, schema)
    self.keys = keys.map { key in
      let path = PropertyPath(key.names)
      return Key(
        operand: preparation.path(path), order: PredicatePreparation.order(preparation.type(path), and: nil),
        isDescending: key.isDescending)
    }
    (routes, deepRoutes) = (preparation.routes, preparation.deepRoutes)
  }

  /// Returns the values that an object is sorted by. The id of a new object sorts after all others, as
  /// its assigned id will.
  package func values<Subject: PredicateSubject>(of object: Subject) -> [SQLValue] {
    let evaluation = Evaluation(subjects: [object])
    return keys.map { key in
      let value = evaluation.value(key.operand)
      guard case .id = key.operand, case .integer(let id) = value, id < 0 else { return value }
      return .integer((1 << 62) - id)
    }
  }

  /// Compares the sort values of two objects: -1, 0 or 1.
  package func compare(_ left: [SQLValue], with right: [SQLValue]) -> Int {
    for (index, key) in keys.enumerated() {
      let (a, b) = (left[index], right[index])
      let result =
        a.isNull || b.isNull ? (b.isNull ? 1 : 0) - (a.isNull ? 1 : 0) : key.order.compare(a, with: b) ?? 0
      if result != 0 { return key.isDescending ? -result : result }
    }
    return 0
  }
}
