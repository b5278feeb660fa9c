// Plans of fetches. Fetches that differ only in values share the SQL of one plan. The plans are cached by
// the shape of the predicates.

internal import CipherSQLite
private import Synchronization

/// What a fetch selects.
enum Selection: Hashable {
  case objects, ids, count, existence
  case columns(ColumnSelection)

  /// A number for the key of a plan; nil for columns, which differ by more than a number.
  fileprivate var number: UInt? {
    switch self {
    case .objects: 0
    case .ids: 1
    case .count: 2
    case .existence: 3
    case .columns: nil
    }
  }
}

/// The SQL of a fetch. Each question mark has a value, or the index of the captured value to use.
final class FetchPlan: Sendable {
  let text: String
  /// The form in which the query for whole rows is run.
  let form: ScanForm
  let bindings: [Binding]
  /// Whether the plan can be used with other captured values.
  let isReusable: Bool

  init(text: String, form: ScanForm, bindings: [Binding], isReusable: Bool) {
    (self.text, self.form, self.bindings, self.isReusable) = (text, form, bindings, isReusable)
  }

  /// Returns the fetch with the values of a request.
  func filled(_ request: FetchParameters) -> CompiledFetch {
    var values: [SQLValue] = []
    values.reserveCapacity(bindings.count + 2)
    let captured = request.conditions.count == 1 ? request.conditions[0].values : request.allValues
    for binding in bindings {
      if let source = binding.source, source < captured.count {
        values.append(captured[source].stored)
      } else {
        values.append(binding.value)
      }
    }
    if request.isWindow {
      values.append(.integer(Int64(request.limit ?? -1)))
      if request.offset > 0 { values.append(.integer(Int64(request.offset))) }
    }
    return CompiledFetch(text: text, bindings: values, plan: self)
  }
}

extension FetchParameters {
  /// Whether the request is a single IN with a list, without a window and without excluded rows. The list
  /// may consist of ids.
  fileprivate var isSingleList: Bool {
    guard conditions.count == 1, !isWindow, !excludesPending, firstsOf == nil, case .isIn = conditions[0].node
    else {
      return false
    }
    return true
  }

  fileprivate var allValues: [PredicateValue] { conditions.flatMap(\.values) }
}

// Safe to share: the plans are protected by locks.
/// The cached plans of one entity.
final class FetchPlans: Sendable {
  /// The shape of a request.
  private struct Key: Hashable {
    let selection: Selection
    let isLimited: Bool
    let isOffset: Bool
    let includesSubentities: Bool
    let excludesPending: Bool
    let firstsOf: Int?
    let only: [String]?
    let templates: [ObjectIdentifier]
    let sort: [SortKey]
  }

  /// The shape of a request with a single condition and no sort keys, as most requests are. This key has
  /// no array, and one word to hash.
  private struct PlainKey: Hashable {
    private let template: UInt
    let details: UInt

    init?(_ selection: Selection, _ request: FetchParameters) {
      guard request.conditions.count == 1, request.sort.isEmpty, request.firstsOf == nil,
        request.only == nil, let number = selection.number,
        let template = request.conditions[0].template
      else { return nil }
      self.template = UInt(bitPattern: ObjectIdentifier(template))
      details =
        number | (request.limit != nil ? 8 : 0) | (request.offset > 0 ? 16 : 0)
        | (request.includesSubentities ? 32 : 0) | (request.excludesPending ? 64 : 0)
    }

    // The lowest bits of an address are 0, so the combination rarely collides; equal keys have equal
    // hashes.
    func hash(into hasher: inout Hasher) { hasher.combine(template << 4 ^ details) }
  }

  private struct Entry {
    let plan: FetchPlan
    /// Retained, because the key identifies templates by address: a released template's address could be
    /// reused.
    let templates: [PredicateTemplate]
  }

  /// The maximum number of plans that are kept. A program has few shapes. If there are more, they are
  /// generated at run time and are not worth caching.
  private static let capacity = 500
  private let known = Locked<[Key: Entry]>([:])
  private let knownPlain = Locked<[PlainKey: Entry]>([:])
  /// The look-ups whose query plan was determined, by the text of the statement; also for fetches whose
  /// plans are not cached.
  private let lookups = Locked<[String: LateLookup]>([:])
  private let entity: EntityMapping
  // Plans are identified by a number and not by their address, which the plans of a closed store may have
  // had.
  private static let count = Atomic(0)
  /// A number that identifies these plans to templates, unique in the process.
  private let currentNumber = Atomic(newNumber)
  private var number: Int { currentNumber.load(ordering: .relaxed) }
  private static var newNumber: Int { count.wrappingAdd(1, ordering: .relaxed).newValue }

  init(_ entity: EntityMapping) { self.entity = entity }

  /// Discards all plans, so that they are made again when they are next needed.
  func discardPlans() {
    known.withLock { $0.removeAll() }
    knownPlain.withLock { $0.removeAll() }
    lookups.withLock { $0.removeAll() }
    currentNumber.store(Self.newNumber, ordering: .relaxed)
  }

  /// Returns the plan of a request, and makes it if there is none.
  private func plan(_ selection: Selection, _ request: FetchParameters, make: () throws -> FetchPlan) rethrows
    -> FetchPlan
  {
    if let key = PlainKey(selection, request), let template = request.conditions[0].template {
      if let plan = template.recent(of: number, key.details) as? FetchPlan { return plan }
      let plan = try Self.plan(key, in: knownPlain, request, make: make)
      if plan.isReusable { template.keep(plan, of: number, key.details) }
      return plan
    }
    guard let key = Self.key(selection, request) else { return try make() }
    return try Self.plan(key, in: known, request, make: make)
  }

  private static func plan<SomeKey: Hashable>(
    _ key: SomeKey, in known: Locked<[SomeKey: Entry]>, _ request: FetchParameters,
    make: () throws -> FetchPlan
  ) rethrows -> FetchPlan {
    if let plan = known.withLock({ $0[key]?.plan }) { return plan }
    let plan = try make()
    guard plan.isReusable else { return plan }
    let entry = Entry(plan: plan, templates: request.conditions.compactMap(\.template))
    known.withLock { known in
      if known.count >= capacity { known.removeAll(keepingCapacity: true) }
      known[key] = entry
    }
    return plan
  }

  /// Returns the key of a request; nil when a condition has no template.
  private static func key(_ selection: Selection, _ request: FetchParameters) -> Key? {
    var templates: [ObjectIdentifier] = []
    for condition in request.conditions {
      guard let template = condition.template else { return nil }
      templates.append(ObjectIdentifier(template))
    }
    return Key(
      selection: selection, isLimited: request.limit != nil, isOffset: request.offset > 0,
      includesSubentities: request.includesSubentities, excludesPending: request.excludesPending,
      firstsOf: request.firstsOf, only: request.fetchedNames, templates: templates, sort: request.sort)
  }

  /// Returns the SQL of a request on this entity.
  /// - Parameter store: The store that runs the statement.
  /// - Throws: ``StoreError/predicate(_:)``.
  func compiled(
    _ selection: Selection, _ request: FetchParameters, in store: StoreFingerprint
  ) throws -> CompiledFetch {
    if let failure = request.failure { throw failure }
    try store.check(request, on: entity)
    return try plan(selection, request) { try made(selection, request) }.filled(request)
  }

  private func made(_ selection: Selection, _ request: FetchParameters) throws -> FetchPlan {
    var compiler = PredicateCompiler(entity)
    let isBranch = request.includesSubentities
    let slots = try request.slots(of: entity)
    let statement =
      switch selection {
      case .objects: try compiler.select(entity.columns(of: slots, isBranch: isBranch), request)
      case .ids: try compiler.select("t0.\"id\"", request)
      case .existence: try compiler.select("1", request, isOrdered: false)
      case .count where request.isWindow:
        SelectStatement.count(of: try compiler.select("1", request, isOrdered: false))
      case .count: try compiler.select("count(*)", request, isOrdered: false)
      case .columns(let columns): try compiler.select(columns, request)
      }
    if case .columns(let selection) = selection {
      // Rows of aggregates are few, and cannot be passed to a function inside the same statement. Values
      // of an index are read by one connection: halves of the table would be read without the index.
      return try compiler.plan(
        statement, columnCount: selection.isGrouped ? nil : selection.columns.count,
        canBeSplit: !entity.isCovered(selection.values))
    }
    let columnCount = entity.columnCount(of: slots, isBranch: isBranch)
    // In a shared table, the ids of a list may be those of other entities' rows, so such a list is not
    // run as `listed`. With descendants, one column is computed, the number of the row's entity.
    let isListed =
      selection == .objects && slots == nil && !entity.isInHierarchy && statement.order.isEmpty
      && request.isSingleList
    let ids = isListed ? compiler.listedIDs : nil
    return try compiler.plan(
      statement, columnCount: selection == .objects ? columnCount : nil,
      columnsAreNames: !isBranch || !entity.hasChildren, ids: ids
    ) { selection == .objects && isBranch && ids == nil && slots == nil ? lookup($0, statement) : nil }
  }

  // MARK: Ids first

  /// Returns the state with which a statement for whole rows can run in two parts, the ids first; nil
  /// where that never helps.
  private func lookup(_ text: String, _ statement: SelectStatement) -> LateLookup? {
    // In the order of the ids, the rows are in table order already.
    guard statement.order.isEmpty || !statement.isInOrderOfScan,
      statement.condition != nil || !statement.order.isEmpty, statement.grouping.isEmpty,
      statement.columns.values.isEmpty
    else { return nil }
    if let known = lookups.withLock({ $0.isEmpty ? nil : $0[text] }) { return known }
    return LateLookup(text) {
      var ids = statement
      ids.columns = "t0.\"id\""
      return .init(text: ids.sql.text, form: ids.form(columnCount: 1, columnsAreNames: true))
    }
  }

  /// Caches a look-up whose query plan was determined.
  func keep(_ lookup: LateLookup) {
    lookups.withLock { lookups in
      if lookups.count >= Self.capacity { lookups.removeAll(keepingCapacity: true) }
      lookups[lookup.text] = lookup
    }
  }
}
