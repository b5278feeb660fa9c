// The order of a sort, evaluated in memory as ORDER BY sorts: nil first, strings by their bytes, decimals
// by value.

internal import CipherSQLite

/// The sort keys of one entity, prepared for the comparison of many objects.
struct EvaluatedOrder {
  private struct Key {
    let order: PredicateEvaluator.Order
    let isDescending: Bool
    let nilIsGreatest: Bool
    let options: StringOptions
  }

  private let keys: [Key]
  private let columns: EvaluatedColumns
  /// The routes that the keys follow: lists of relationship names that begin at the object. The set also
  /// has every prefix of a route.
  var routes: Set<[String]> { columns.routes }
  /// The routes to targets of which more than the id is read.
  var deepRoutes: Set<[String]> { columns.deepRoutes }

  /// Prepares sort keys.
  /// - Parameter entity: The entity of the objects.
  init(_ keys: [SortKey], entity: String, schema: Schema, matches run: MatchRun? = nil) {
    let columns = EvaluatedColumns(
      keys.map(\.value), options: keys.map(\.options), entity: entity, schema: schema, matches: run)
    self.columns = columns
    self.keys = zip(keys, columns.types).map { key, type in
      Key(
        order: PredicatePreparation.order(type, and: nil), isDescending: key.isDescending,
        nilIsGreatest: key.nilIsGreatest, options: key.options)
    }
  }

  /// Returns the values by which a row is sorted.
  /// - Parameter row: The values of the keys, as they are stored.
  func values(of row: [SQLValue]) -> [SQLValue] {
    zip(keys, row).map { key, value in
      guard !key.options.isEmpty else { return value }
      // SQL folds other values to NULL.
      guard case .text(let text) = value else { return .null }
      return .text(Folding.fold(text, key.options))
    }
  }

  /// Returns the values that an object is sorted by. The id of a new object sorts after all others, as
  /// its assigned id will.
  func values<Subject: PredicateSubject>(of object: Subject) -> [SQLValue] {
    columns.values(of: object, isOrder: true)
  }

  /// Compares the sort values of two objects: -1, 0 or 1.
  func compare(_ left: [SQLValue], with right: [SQLValue]) -> Int {
    for (index, key) in keys.enumerated() {
      let (a, b) = (left[index], right[index])
      let result =
        a.isNull || b.isNull
        ? (b.isNull == key.nilIsGreatest ? -1 : 1) * (a.isNull == b.isNull ? 0 : 1)
        : key.order.compare(a, with: b) ?? 0
      if result != 0 { return key.isDescending ? -result : result }
    }
    return 0
  }
}

enum IDOrder {
  /// Returns the number by which an id is sorted and compared: a new object is after all others, as its
  /// assigned id will be. Temporary ids fall in the order of creation.
  static func rank(_ id: Int64) -> Int64 { id < 0 ? (1 << 62) &+ min(-(id + 1), (1 << 62) - 2) + 1 : id }
}

/// Values of the objects of one entity, prepared for reading them of many objects.
struct EvaluatedColumns {
  private let operands: [PredicateEvaluator.Operand]
  /// The type of each value; nil for a path that does not exist.
  let types: [AttributeType?]
  /// Whether each value is an id.
  var areIDs: [Bool] { operands.map(\.isID) }
  /// The routes that the values follow; see ``EvaluatedOrder/routes``.
  let routes: Set<[String]>
  /// The routes to targets of which more than the id is read.
  let deepRoutes: Set<[String]>

  /// Prepares values.
  /// - Parameters:
  ///   - options: What comparisons ignore of each value; empty for none.
  ///   - entity: The entity of the objects.
  ///   - run: What remembers a MATCHES in a value that took too long.
  init(
    _ values: [PredicateOperand], options: [StringOptions] = [], entity: String, schema: Schema,
    matches run: MatchRun? = nil
  ) {
    var preparation = PredicatePreparation(entity, schema, matches: run)
    operands = values.enumerated().map { index, value in
      let operand = preparation.operand(value)
      guard options.indices.contains(index), !options[index].isEmpty else { return operand }
      return .folded(operand, options[index])
    }
    types = values.map { preparation.type($0) }
    (routes, deepRoutes) = (preparation.routes, preparation.deepRoutes)
  }

  /// Returns the values of an object.
  /// - Parameter isOrder: Whether the id of a new object is a number above all others.
  func values<Subject: PredicateSubject>(of object: Subject, isOrder: Bool = false) -> [SQLValue] {
    let evaluation = Evaluation(subjects: [object])
    return operands.map { operand in
      guard isOrder, operand.isID else { return evaluation.value(operand) }
      return evaluation.value(.numberOfID(operand))
    }
  }
}

extension PredicateEvaluator.Operand {
  /// Whether the value is the id of an object, such as that of the latest member.
  var isID: Bool {
    switch self {
    case .id: true
    case .aggregate(_, _, _, let values):
      values.order != nil && values.order?.listed == nil && values.value.isID
    default: false
    }
  }
}
