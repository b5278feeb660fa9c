// The order of a sort, evaluated in memory as ORDER BY sorts: nil first, strings by their bytes, decimals
// by value.

internal import CipherSQLite

/// The sort keys of one entity, prepared for the comparison of many objects.
package struct EvaluatedOrder {
  private struct Key {
    let order: PredicateEvaluator.Order
    let isDescending: Bool
  }

  private let keys: [Key]
  private let columns: EvaluatedColumns
  /// The routes that the keys follow: lists of relationship names that begin at the object. The set also
  /// has every prefix of a route.
  package var routes: Set<[String]> { columns.routes }
  /// The routes to targets of which more than the id is read.
  var deepRoutes: Set<[String]> { columns.deepRoutes }

  /// Prepares sort keys.
  /// - Parameters:
  ///   - keys: The path of each key, as names from the object on.
  ///   - entity: The entity of the objects.
  package init(_ keys: [(names: [String], isDescending: Bool)], entity: String, schema: Schema) {
    let columns = EvaluatedColumns(keys.map(\.names), entity: entity, schema: schema)
    self.columns = columns
    self.keys = zip(keys, columns.types).map { key, type in
      Key(order: PredicatePreparation.order(type, and: nil), isDescending: key.isDescending)
    }
  }

  /// Returns the values that an object is sorted by. The id of a new object sorts after all others, as
  /// its assigned id will.
  package func values<Subject: PredicateSubject>(of object: Subject) -> [SQLValue] {
    columns.values(of: object, isOrder: true)
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

enum IDOrder {
  /// Returns the number by which an id is sorted and compared: a new object is after all others, as its
  /// assigned id will be. Temporary ids fall in the order of creation.
  static func rank(_ id: Int64) -> Int64 { id < 0 ? (1 << 62) - id : id }
}

/// Paths of one entity, prepared for reading the values of many objects.
package struct EvaluatedColumns {
  private let operands: [PredicateEvaluator.Operand]
  /// The type of each path's values; nil for a path that does not exist.
  let types: [AttributeType?]
  /// Whether the values of each path are ids.
  var areIDs: [Bool] { operands.map { if case .id = $0 { true } else { false } } }
  /// The routes that the paths follow; see ``EvaluatedOrder/routes``.
  let routes: Set<[String]>
  /// The routes to targets of which more than the id is read.
  let deepRoutes: Set<[String]>

  /// Prepares paths.
  /// - Parameters:
  ///   - paths: The paths, as names from the object on.
  ///   - entity: The entity of the objects.
  package init(_ paths: [[String]], entity: String, schema: Schema) {
    var preparation = PredicatePreparation(entity, schema)
    operands = paths.map { preparation.path(PropertyPath($0)) }
    types = paths.map { preparation.type(PropertyPath($0)) }
    (routes, deepRoutes) = (preparation.routes, preparation.deepRoutes)
  }

  /// Returns the values at the ends of the paths.
  /// - Parameter isOrder: Whether the id of a new object is a number above all others.
  package func values<Subject: PredicateSubject>(of object: Subject, isOrder: Bool = false) -> [SQLValue] {
    let evaluation = Evaluation(subjects: [object])
    return operands.map { operand in
      guard isOrder, case .id = operand else { return evaluation.value(operand) }
      return evaluation.value(.numberOfID(operand))
    }
  }
}
