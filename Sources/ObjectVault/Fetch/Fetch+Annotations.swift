// Fetches of objects with values beside them.

internal import CipherSQLite
public import Foundation

extension Fetch {
  /// Returns a fetch of the objects with values that are computed from their members.
  ///
  /// ```swift
  /// let list = try context.fetch(Conversation.self)
  ///   .annotated(
  ///     with: .count(\.messages), .latest(\.messages, by: \.sentAt))
  ///   .all()
  /// for (conversation, count, last) in list {
  ///   assert(count > 0 || last == nil, conversation.title)
  /// }
  /// ```
  ///
  /// One query finds the objects and their values, and one more for each kind of object reads the rows,
  /// however many objects there are. Conditions, a sort, a limit and prefetches are those of this fetch:
  /// state them first. A condition on members cannot refer to an object that was not saved.
  /// - Parameter annotation: The values.
  /// - Returns: The fetch.
  public func annotated<each Value>(
    with annotation: repeat ObjectAnnotation<Object, each Value>
  ) -> AnnotatedFetch<Object, repeat each Value> {
    AnnotatedFetch(fetch: self, annotations: (repeat each annotation))
  }
}

/// A fetch of objects with values that are computed from their members: see ``Fetch/annotated(with:)``.
public struct AnnotatedFetch<Object: ManagedObject, each Value> {
  private(set) var fetch: Fetch<Object>
  let annotations: (repeat ObjectAnnotation<Object, each Value>)

  /// Fetches all objects, each with its values, in order.
  /// - Returns: The objects and their values.
  /// - Throws: ``StoreError/sumTooLarge(entity:property:)``; the errors of ``Fetch/all()``.
  public func all() throws -> [(Object, repeat each Value)] {
    var columns = [PredicateOperand.objectID]
    for annotation in repeat each annotations {
      columns.append(try fetch.operand(of: try annotation.source.get()))
    }
    // In one snapshot: an object that a later statement does not find would shift the values.
    return try fetch.context.withSnapshot { () throws -> [(Object, repeat each Value)] in
      try found(columns)
    }
  }

  private func found(_ columns: [PredicateOperand]) throws -> [(Object, repeat each Value)] {
    let rows = RowList(columns.count)
    try fetch.run(ColumnSelection(columns: columns.map { .value($0) }), into: rows.collector)
    let reader = AnnotationReader(rows: rows.rows, context: fetch.context)
    let objects = try fetch.finished(try fetch.objects(withIDs: reader.ids).map(\.object))
    let values = (repeat try (each annotations).values(from: reader))
    var found: [(Object, repeat each Value)] = []
    found.reserveCapacity(objects.count)
    for (index, object) in objects.enumerated() { found.append((object, repeat (each values)[index])) }
    return found
  }

  /// Fetches the first object with its values.
  /// - Returns: The object and its values; nil if there is none.
  /// - Throws: The errors of ``all()``.
  public func first() throws -> (Object, repeat each Value)? {
    var one = self
    one.fetch = fetch.limit(min(1, fetch.parameters.limit ?? 1))
    return try one.all().first
  }
}

/// The rows of ids and of the values of annotations, which are read one annotation after another.
private final class AnnotationReader {
  let rows: [[SQLValue]]
  let context: ObjectContext
  private var column = 0

  init(rows: [[SQLValue]], context: ObjectContext) { (self.rows, self.context) = (rows, context) }

  var ids: [Int64] { rows.compactMap(\.[0].int64) }

  func next() -> [SQLValue] {
    column += 1
    return rows.map { $0[column] }
  }
}

extension ObjectAnnotation {
  /// Returns the values of the next column.
  fileprivate func values(from reader: AnnotationReader) throws -> [Value] {
    try read(reader.next(), reader.context)
  }
}

extension Fetch {
  /// Returns what an annotation computes, with the present ids of new objects.
  fileprivate func operand(of source: AnnotationSource) throws -> PredicateOperand {
    guard let condition = source.condition else { return source.operand(where: nil) }
    let settled = context.settled(FetchParameters(conditions: [condition]))
    try context.core.mark.check(settled, on: known())
    return source.operand(where: settled.conditions.first)
  }
}

extension FetchBuilder {
  // The label is not `by:`: for a mistyped key path, the compiler would then report more than the name.
  /// Sorts by a value that is computed from the members, after the keys given before.
  ///
  /// ```swift
  /// let busiest = try context.fetch(Conversation.self)
  ///   .sorted(byMembers: .count(\.messages), .reverse)
  ///   .limit(10)
  ///   .all()
  /// ```
  ///
  /// The value is computed for all objects that satisfy the conditions. An object that was not saved
  /// cannot be in the condition on the members.
  /// - Parameters:
  ///   - annotation: The value. A member, such as `latest`, is sorted by its id.
  ///   - order: The direction.
  /// - Returns: A sorted copy.
  public consuming func sorted<Value>(
    byMembers annotation: ObjectAnnotation<Object, Value>, _ order: SortOrder = .forward
  ) -> Self {
    add(annotation, order)
    return self
  }

  private mutating func add<Value>(_ annotation: ObjectAnnotation<Object, Value>, _ order: SortOrder) {
    do {
      let source = try annotation.source.get()
      if source.condition?.refersToNewObjects == true {
        throw ObjectRequest<Object>.newObject(request.entityName)
      }
      if case .list = source.kind {
        throw StoreError.predicate(
          PredicateError(
            "a list of members has no order; sort by one value of them, such as latest or count",
            entity: request.entityName))
      }
      let value = source.operand(where: source.condition)
      request.parameters.sort.append(SortKey(value: value, order))
    } catch {
      request.parameters.failure =
        request.parameters.failure ?? (error as? StoreError ?? .predicate(PredicateError("\(error)")))
    }
  }
}
