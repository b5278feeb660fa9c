// The methods that describe what to fetch, which a request and a fetch share.

internal import CipherSQLite
public import Foundation

/// A value with a request: an ``ObjectRequest``, or a ``Fetch`` in a context. Each of these methods
/// returns a copy whose request is narrowed down or ordered.
///
/// ```swift
/// let recent = try Status.request
///   .where(#Predicate {
///     $0.user?.name == "Binger" && $0.text.contains("Watch")
///   })
///   .sorted(by: \.createdAt, .reverse)
///   .prefetch(\.user)
///   .limit(20)
/// ```
public protocol FetchBuilder<Object> {
  /// The class of the fetched objects.
  associatedtype Object: ManagedObject
  /// What is fetched.
  var request: ObjectRequest<Object> { get set }
}

extension FetchBuilder {
  // MARK: Conditions

  /// Adds a predicate. Only objects that satisfy it and all earlier conditions are fetched.
  /// - Parameter predicate: The predicate.
  /// - Returns: A copy with the condition.
  /// - Throws: ``StoreError/predicate(_:)`` for an expression that has no counterpart in SQL.
  public consuming func `where`(_ predicate: Predicate<Object>) throws -> Self {
    // Consuming: a value that is built in one expression is moved, not copied at each step.
    request.parameters.add(try PredicateTemplate.condition(of: predicate))
    return self
  }

  /// Adds a predicate in the format language.
  ///
  /// A fetch may refer to new objects of its context, also after they were saved. A request may not.
  /// - Parameters:
  ///   - format: The text of the predicate.
  ///   - arguments: The values for the placeholders, in their order.
  /// - Returns: A copy with the condition.
  /// - Throws: ``StoreError/predicate(_:)`` with the position in the text; for a request also if an
  ///   argument is an object that was not saved.
  public consuming func `where`(_ format: String, _ arguments: Any?...) throws -> Self {
    let condition = try FetchCondition(format: format, arguments)
    if condition.refersToNewObjects, Self.self == ObjectRequest<Object>.self {
      throw ObjectRequest<Object>.newObject(request.entityName)
    }
    request.parameters.add(condition)
    return self
  }

  /// Adds a condition as a tree.
  /// - Parameter node: The condition. If it is not valid for the entity, the methods that run the fetch
  ///   throw.
  /// - Returns: A copy with the condition.
  public consuming func `where`(_ node: PredicateNode) -> Self {
    request.parameters.add(FetchCondition(checking: node))
    return self
  }

  // MARK: Order

  /// Sorts by a property, after the keys given before.
  ///
  /// ```swift
  /// let items = try context.fetch(Item.self)
  ///   .sorted(by: \.title, comparing: .caseInsensitive)
  ///   .sorted(by: \.owner?.city, nils: .last)
  ///   .all()
  /// ```
  ///
  /// Strings are sorted by code points, unless `options` says what to ignore. nil is less than all
  /// values: it comes first in a forward order and last in a reverse one, unless `nils` says where.
  /// Objects with equal keys are sorted by their ids, in the direction of the last key, so that pages by
  /// ``limit(_:)`` and ``offset(_:)`` neither overlap nor omit objects.
  ///
  /// An index serves a sort without `options` whose nils are where they come by themselves.
  /// - Parameters:
  ///   - path: The property, or a path through to-ones.
  ///   - order: The direction.
  ///   - options: What comparisons of strings ignore. For a property of another type, the methods that
  ///     run the fetch throw.
  ///   - nils: Where nil comes; nil for the place that follows from the direction.
  /// - Returns: A sorted copy.
  public consuming func sorted(
    by path: PartialKeyPath<Object>, _ order: SortOrder = .forward, comparing options: StringOptions = [],
    nils: NilPlacement? = nil
  ) -> Self {
    if let names = names(of: path, isValue: true) {
      sort(by: names, order, comparing: options, nils: nils)
    }
    return self
  }

  // The label is not `by:`: for a mistyped key path, the compiler would then report only that a key path
  // is no string.
  /// Sorts by a property that is named by a text, after the keys given before; see `sorted(by:_:)`.
  ///
  /// The methods that run the fetch throw errors about the path.
  /// - Parameters:
  ///   - path: The property, or a path through to-ones such as `user.name`.
  ///   - order: The direction.
  ///   - options: What comparisons of strings ignore.
  ///   - nils: Where nil comes; nil for the place that follows from the direction.
  /// - Returns: A sorted copy.
  public consuming func sorted(
    byPath path: String, _ order: SortOrder = .forward, comparing options: StringOptions = [],
    nils: NilPlacement? = nil
  ) -> Self {
    sort(by: path.pathNames, order, comparing: options, nils: nils)
    return self
  }

  /// Sorts by one of Foundation's sort descriptors, after the keys given before.
  ///
  /// ```swift
  /// let sorting = [
  ///   SortDescriptor(\Item.kind, comparator: .lexical),
  ///   SortDescriptor(\.bytes, order: .reverse),
  /// ]
  /// let items = try context.fetch(Item.self).sorted(using: sorting).all()
  /// ```
  ///
  /// The order is that of `sorted(by:_:)`: by code points for strings, nil first. A descriptor that
  /// compares strings by the rules of a language, such as `.localizedStandard`, is an error of the
  /// methods that run the fetch.
  /// - Parameter descriptor: The descriptor. Its key path is a property, or a path through to-ones.
  /// - Returns: A sorted copy.
  public consuming func sorted(using descriptor: SortDescriptor<Object>) -> Self {
    sort(using: descriptor)
    return self
  }

  /// Sorts by Foundation's sort descriptors, the first one first, after the keys given before.
  /// - Parameter descriptors: The descriptors.
  /// - Returns: A sorted copy.
  public consuming func sorted(using descriptors: some Sequence<SortDescriptor<Object>>) -> Self {
    for descriptor in descriptors { sort(using: descriptor) }
    return self
  }

  /// Sorts in a random order, after the keys given before.
  ///
  /// ```swift
  /// let three = try context.fetch(Item.self).shuffled(seed: 7).limit(3).all()
  /// ```
  ///
  /// For a seed, the order of the same objects is the same in each program, and from page to page.
  /// No index serves it: all rows that satisfy the conditions are sorted. The order is computed from the ids:
  /// an object that was not saved may have another place once it is saved.
  /// - Parameter seed: Determines the order.
  /// - Returns: A sorted copy.
  public consuming func shuffled(seed: Int) -> Self {
    let seed = PredicateValue(type: .int, stored: .integer(Int64(seed)))
    request.parameters.sort.append(
      SortKey(value: .call(.shuffled, [.objectID, .value(seed)]), .forward))
    return self
  }

  // MARK: What is fetched with the objects

  /// Fetches a relationship or a lazy attribute of all results with one more query.
  /// - Parameter path: The relationship, or the attribute (``AttributeOption/lazy``). For a path of several
  ///   relationships each is fetched.
  /// - Returns: A copy with the relationship or attribute.
  public consuming func prefetch(_ path: PartialKeyPath<Object>) -> Self {
    if let names = names(of: path) { request.parameters.prefetch.append(names) }
    return self
  }

  /// Fetches a relationship or a lazy attribute that is named by a text, of all results, with one more
  /// query.
  /// - Parameter path: The relationship, or the attribute (``AttributeOption/lazy``). For a path of several
  ///   relationships, such as `user.statuses`, each is fetched.
  /// - Returns: A copy with the relationship or attribute.
  public consuming func prefetch(path: String) -> Self {
    request.parameters.prefetch.append(path.pathNames)
    return self
  }

  /// Fetches only some properties of each object. The others are read when they are first needed.
  ///
  /// ```swift
  /// let items = try context.fetch(Item.self)
  ///   .only(\.title, \.kind)
  ///   .all()
  /// let titles = items.map(\.title)
  /// ```
  ///
  /// Use it for a list of objects with large attributes. When another property of an object is read, or
  /// any one is written, its whole row is fetched as it is then, by one query for each object: an object
  /// that is used as a whole should be fetched as a whole. If the row was changed in between, a save of
  /// the object throws ``StoreError/conflicts(_:)``, because the program may have used older values. An
  /// object that is in memory already keeps what it has, unless its row has changed. The properties of the
  /// sort are fetched, too. To-manys are not fetched with a row anyway.
  /// - Parameter path: The properties, without paths. Later calls add to the earlier ones.
  /// - Returns: A copy with the properties.
  public consuming func only(_ path: PartialKeyPath<Object>...) -> Self {
    for path in path {
      if let names = names(of: path) { addOnly(names) }
    }
    return self
  }

  /// Fetches only some properties of each object, which are named by texts; see ``only(_:)``.
  /// - Parameter names: The properties.
  /// - Returns: A copy with the properties.
  public consuming func only(names: String...) -> Self {
    for name in names { addOnly(name.pathNames) }
    return self
  }

  // MARK: Which part is fetched

  /// Returns equal values once: the values of `values(_:)`, and the rows of
  /// ``Fetch/dictionaries(_:)``.
  ///
  /// Distinct values can be sorted only by properties that are among them. Objects are distinct anyway.
  /// - Returns: A copy with the setting.
  public consuming func distinct() -> Self {
    request.parameters.isDistinct = true
    return self
  }

  /// Limits the number of objects.
  ///
  /// A sorted fetch returns the first objects of its order. With neither a sort nor a condition the
  /// objects with the lowest ids are returned; with a condition alone, those that are found first.
  /// - Parameter count: The highest number of objects.
  /// - Returns: A limited copy.
  public consuming func limit(_ count: Int) -> Self {
    request.parameters.limit = max(0, count)
    return self
  }

  /// Skips the first objects, which are read nevertheless: ``Fetch/page(size:after:)`` reads no row
  /// twice.
  /// - Parameter count: The number of objects to skip.
  /// - Returns: A copy with the offset.
  public consuming func offset(_ count: Int) -> Self {
    request.parameters.offset = max(0, count)
    return self
  }

  /// Sets whether pending changes of the context are included. By default they are.
  ///
  /// SQL finds stored rows. Some objects are evaluated in memory: those with pending changes, and those
  /// whose relationships in the predicate or the sort refer to such objects. The rows of these objects,
  /// and of the objects in these relationships, are fetched. Objects that pending deletions cascade to
  /// are excluded.
  ///
  /// The cost is in proportion to the number of such objects, and zero where nothing is pending. An
  /// equality on an attribute or a to-one examines only the pending objects with that value, so that
  /// find-or-create by a key takes as long at the end of a loop as at its beginning: <doc:predicates>
  /// states when. After thousands of changes a ``ObjectContext/save()`` makes other fetches cheap again.
  ///
  /// With `false` stored rows are found by their stored values; objects that were deleted in the context
  /// are excluded. Inside ``Store/write(_:)`` everything that ``ObjectContext/save()`` has written counts
  /// as stored.
  /// - Parameter isIncluding: Whether to include pending changes.
  /// - Returns: A copy with the setting.
  public consuming func includingPending(_ isIncluding: Bool) -> Self {
    request.includesPending = isIncluding
    return self
  }

  /// Sets whether objects of subentities are included. By default they are.
  ///
  /// ```swift
  /// let people = try context.fetch(Person.self).all()
  /// let others = try context.fetch(Person.self)
  ///   .includingSubentities(false)
  ///   .all()
  /// ```
  ///
  /// An employee is a person: the first fetch finds employees, as objects of their own class; the second
  /// one finds only persons of no subentity. For an entity without subentities both find the same
  /// objects.
  /// - Parameter isIncluding: Whether to include objects of subentities.
  /// - Returns: A copy with the setting.
  public consuming func includingSubentities(_ isIncluding: Bool) -> Self {
    request.parameters.includesSubentities = isIncluding
    return self
  }
}

/// Where nil comes in an order.
public enum NilPlacement: Sendable, Hashable {
  /// Before all values.
  case first
  /// After all values.
  case last
}

extension SortKey {
  init(
    value: PredicateOperand, _ order: SortOrder, comparing options: StringOptions = [],
    nils: NilPlacement? = nil
  ) {
    self.init(value: value, isDescending: order == .reverse, options: options)
    nilIsGreatest = nils.map { ($0 == .last) != isDescending } ?? false
  }
}

extension FetchBuilder {
  // MARK: Implementation

  /// Returns the names of a key path. An invalid key path is stored; `all()`, `first()` and the others
  /// throw it.
  /// - Parameter isValue: Whether the path may lead to a part of a JSON attribute.
  private mutating func names(of path: PartialKeyPath<Object>, isValue: Bool = false) -> [String]? {
    do { return try isValue ? path.valueNames : path.propertyNames } catch {
      if request.parameters.failure == nil { request.parameters.failure = error }
      return nil
    }
  }

  private mutating func addOnly(_ names: [String]) {
    guard names.count == 1 else {
      return fail(
        "\(names.shownPath) is not a property of the object itself, and only such are fetched with "
          + "it; prefetch the to-one")
    }
    request.parameters.only = (request.parameters.only ?? []) + names
  }

  private mutating func fail(_ reason: String) {
    guard request.parameters.failure == nil else { return }
    request.parameters.failure = .predicate(PredicateError(reason, entity: "\(Object.self)"))
  }

  private mutating func sort(
    by names: [String], _ order: SortOrder, comparing options: StringOptions = [],
    nils: NilPlacement? = nil
  ) {
    request.parameters.sort.append(
      SortKey(value: .property(names), order, comparing: options, nils: nils))
  }

  private mutating func sort(using descriptor: SortDescriptor<Object>) {
    guard let path = descriptor.keyPath, let names = names(of: path, isValue: true) else {
      return fail("a sort descriptor without a key path cannot be a sort in SQL")
    }
    if var comparator = descriptor.stringComparator {
      comparator.order = .forward
      guard comparator == .lexical else {
        return fail(
          "a sort descriptor of \(names.shownPath) compares by the rules of a language, which a store "
            + "does not have; write comparator: .lexical, or sort the fetched objects")
      }
    }
    sort(by: names, descriptor.order)
  }
}

extension PartialKeyPath where Root: ManagedObject {
  /// The names of the properties along the path.
  var propertyNames: [String] {
    get throws(StoreError) { try found(KeyPathResolver.resolve(self, root: Root.self)) }
  }

  /// The names along a path to a value, which may be a part of a JSON attribute.
  var valueNames: [String] {
    get throws(StoreError) { try found(KeyPathResolver.resolveValue(self, root: Root.self)) }
  }

  private func found(_ result: Result<[String], KeyPathError>) throws(StoreError) -> [String] {
    switch result {
    case .success(let names): return names
    case .failure(let error): throw .predicate(PredicateError(error.description, entity: "\(Root.self)"))
    }
  }
}

extension String {
  /// The names in a path.
  var pathNames: [String] {
    split(separator: ".", omittingEmptySubsequences: false).map(String.init)
  }
}
