// Groups and their aggregates, computed in memory from rows and from partial results of SQL.

internal import CipherSQLite

/// The groups of a fetch, while rows are added.
final class GroupTable {
  private struct Group {
    let keys: [SQLValue]
    var accumulators: [Accumulator]
  }

  private let selection: ColumnSelection
  /// The aggregates that are selected, or that the condition compares.
  private let aggregates: [AggregateColumn]
  private let entity: String
  private var groups: [ExactValues: Group] = [:]

  private let orders: [PredicateEvaluator.Order]
  private let areIDs: [Bool]

  /// Creates the table of a selection.
  /// - Parameter columns: The values of ``ColumnSelection/values``.
  init(_ selection: ColumnSelection, columns: EvaluatedColumns, entity: String) {
    (self.selection, self.entity) = (selection, entity)
    aggregates = selection.aggregates
    areIDs = columns.areIDs
    orders = columns.types.dropFirst(selection.grouping.count).map {
      PredicatePreparation.order($0, and: nil)
    }
    // Aggregates of all rows have a result without any row.
    if selection.grouping.isEmpty { groups[ExactValues([])] = newGroup([]) }
  }

  private func newGroup(_ keys: [SQLValue]) -> Group {
    Group(
      keys: keys,
      accumulators: zip(aggregates, orders).map { Accumulator($0, order: $1, entity: entity) })
  }

  /// Whether partial results of SQL cannot be combined, so that each row is needed.
  var needsRows: Bool { aggregates.contains { $0.function == .countDistinct } }

  /// The query whose rows ``merge(partial:)`` takes.
  var partial: ColumnSelection {
    ColumnSelection(
      columns: selection.grouping.map { .value($0) }
        + aggregates.flatMap { $0.parts.map { .aggregate($0) } },
      grouping: selection.grouping)
  }

  /// Adds a row.
  /// - Parameter row: The values of ``ColumnSelection/values``.
  func add(_ row: [SQLValue]) {
    let count = selection.grouping.count
    change(Array(row[..<count])) { index, accumulator in accumulator.add(row[count + index]) }
  }

  /// Adds the aggregates of several rows.
  func merge(partial row: [SQLValue]) {
    var next = selection.grouping.count
    change(Array(row[..<next])) { index, accumulator in
      let count = aggregates[index].parts.count
      accumulator.merge(Array(row[next..<next + count]))
      next += count
    }
  }

  private func change(_ keys: [SQLValue], _ body: (Int, inout Accumulator) -> Void) {
    let key = ExactValues(keys)
    var group = groups.removeValue(forKey: key) ?? newGroup(keys)
    for index in group.accumulators.indices { body(index, &group.accumulators[index]) }
    groups[key] = group
  }

  /// Returns the rows of the groups that satisfy the condition, in the order and within the limit of a
  /// request.
  func rows(of request: FetchParameters, _ schema: Schema) throws -> [[SQLValue]] {
    var found: [(order: [SQLValue], row: [SQLValue])] = []
    let (order, places) = order(of: request, schema)
    for group in groups.values {
      let values = try group.accumulators.map { try $0.result() }
      let value = { (aggregate: AggregateColumn) in
        self.aggregates.firstIndex(of: aggregate).map { values[$0] } ?? .null
      }
      guard selection.having?.holds(value) ?? true else { continue }
      let row = selection.columns.map { column in
        switch column {
        case .value(let value): selection.grouping.firstIndex(of: value).map { group.keys[$0] } ?? .null
        case .aggregate(let aggregate): value(aggregate)
        }
      }
      found.append((order.values(of: places.map { ranked(group.keys[$0], at: $0) }), row))
    }
    let rows = found.sorted { order.compare($0.order, with: $1.order) < 0 }.map(\.row)
    guard !selection.grouping.isEmpty else { return rows }
    return Array(rows.dropFirst(request.offset).prefix(request.limit ?? Int.max))
  }

  /// Returns a key as it is sorted: the id of a new object is after all others.
  private func ranked(_ key: SQLValue, at index: Int) -> SQLValue {
    guard areIDs[index], case .integer(let id) = key else { return key }
    return .integer(IDOrder.rank(id))
  }

  /// Returns the order of the groups: by the keys of the sort, then by the other keys. The places are the
  /// indexes of the compared keys.
  private func order(of request: FetchParameters, _ schema: Schema) -> (order: EvaluatedOrder, places: [Int])
  {
    let sort = request.sort.filter { selection.grouping.contains($0.value) }
    let rest = selection.grouping.filter { key in
      !sort.contains { $0.value == key && $0.options.isEmpty }
    }
    let keys = sort + rest.map { .init(value: $0, isDescending: false) }
    return (
      EvaluatedOrder(keys, entity: entity, schema: schema),
      keys.compactMap { selection.grouping.firstIndex(of: $0.value) }
    )
  }
}

extension AggregateColumn {
  /// Returns whether a result is a sum of decimals with more digits than a decimal has.
  func isTooLarge(_ result: SQLValue) -> Bool {
    guard function == .sum, case .text = result else { return false }
    return DecimalText(result)?.isRepresentable == false
  }

  /// The error of a sum that its type cannot hold.
  func tooLarge(_ entity: String) -> StoreError {
    .sumTooLarge(entity: entity, property: property)
  }

  /// The aggregates to compute for each part of the rows, from which this aggregate of all rows follows.
  fileprivate var parts: [AggregateColumn] {
    guard function == .average else { return [self] }
    return [AggregateColumn(function: .total, value: value), AggregateColumn(function: .count, value: value)]
  }
}

/// The state of one aggregate of one group.
private struct Accumulator {
  private let aggregate: AggregateColumn
  private let order: PredicateEvaluator.Order
  private let entity: String
  private var count = 0
  private var sum = SQLValue.null
  /// The sum of integers, exact even if the sum of some of them is beyond 64 bits.
  private var integers: Int128 = 0
  private var hasIntegers = false
  private var least = SQLValue.null
  private var distinct: Set<ExactValues> = []

  init(_ aggregate: AggregateColumn, order: PredicateEvaluator.Order, entity: String) {
    (self.aggregate, self.order, self.entity) = (aggregate, order, entity)
  }

  /// Adds the value of a row; nil is ignored. To count rows, the value is the id of the object.
  mutating func add(_ value: SQLValue) {
    guard !value.isNull else { return }
    switch aggregate.function {
    case .count: count += 1
    case .countDistinct: distinct.insert(ExactValues([value]))
    case .sum: add(toSum: value)
    case .total, .average:
      count += 1
      add(toSum: value.double.map { .real($0) } ?? value)
    case .minimum, .maximum: choose(value)
    }
  }

  /// Adds the aggregates of several rows, which are those of ``AggregateColumn/parts``.
  mutating func merge(_ parts: [SQLValue]) {
    switch aggregate.function {
    case .count: count += Int(parts[0].int64 ?? 0)
    case .countDistinct: break
    case .sum, .total: add(toSum: parts[0])
    case .average:
      add(toSum: parts[0])
      count += Int(parts[1].int64 ?? 0)
    case .minimum, .maximum: choose(parts[0])
    }
  }

  private mutating func add(toSum value: SQLValue) {
    guard !value.isNull else { return }
    if case .integer(let number) = value {
      hasIntegers = true
      integers += Int128(number)
      return
    }
    guard !sum.isNull else { return sum = value }
    switch (sum, value) {
    case (.text, _), (_, .text):
      guard let a = DecimalText(sum), let b = DecimalText(value) else { return }
      sum = .text(DecimalText.sum(a, and: b).text)
    default: sum = .real((sum.double ?? 0) + (value.double ?? 0))
    }
  }

  private mutating func choose(_ value: SQLValue) {
    guard !value.isNull else { return }
    guard !least.isNull else { return least = value }
    let result = order.compare(value, with: least) ?? 0
    if aggregate.function == .minimum ? result < 0 : result > 0 { least = value }
  }

  func result() throws -> SQLValue {
    switch aggregate.function {
    case .count: .integer(Int64(count))
    case .countDistinct: .integer(Int64(distinct.count))
    case .sum, .total: try total()
    case .average:
      count == 0
        ? .null : ValueArithmetic.run(sum.string == nil ? "../" : ".d.d/", [sum, .real(Double(count))])
    case .minimum, .maximum: least
    }
  }

  private func total() throws -> SQLValue {
    // As in SQL, it is an error only if the group is in the result.
    if aggregate.isTooLarge(sum) { return sum }
    // The engine has no NaN, which is the sum of infinities with different signs.
    if sum.double?.isNaN == true { return .null }
    guard hasIntegers else { return sum }
    if let real = sum.double { return .real(real + Double(integers)) }
    guard let number = Int64(exactly: integers) else { throw aggregate.tooLarge(entity) }
    return .integer(number)
  }
}

/// Values that are equal only if they are stored alike: texts by their bytes, as the engine compares
/// them. Swift's `String` takes different spellings of a character as equal.
struct ExactValues: Hashable {
  private let values: [SQLValue]
  private let texts: [[UInt8]]

  init(_ values: [SQLValue]) {
    self.values = values
    texts = values.compactMap { $0.string.map { Array($0.utf8) } }
  }
}
