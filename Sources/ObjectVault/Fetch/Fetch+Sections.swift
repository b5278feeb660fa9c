// Sections of a list: the groups of a sorted fetch, each with its place in the list.

internal import CipherSQLite

/// A section of a list: the objects that have the same value of a property, and their place among all.
public struct FetchSection<Object: ManagedObject, Key> {
  /// The value that the objects share.
  public let key: Key
  /// The number of objects.
  public let count: Int
  /// The number of objects in the sections before.
  public let offset: Int
  /// The fetch of the section's objects, in the order of the list.
  public let fetch: Fetch<Object>
}

extension Fetch {
  /// Returns the sections of a list: the values of a property, each with the number of its objects and
  /// with the place of the first one.
  ///
  /// ```swift
  /// let list = context.fetch(Item.self).sorted(by: \.title)
  /// for section in try list.sections(by: \.kind) {
  ///   let rows = try section.fetch.limit(20).all()
  ///   assert(section.count >= rows.count)
  /// }
  /// ```
  ///
  /// The list is in the order of the property, and within a section in that of the fetch. Sections are in
  /// ascending order, unless the first sort key of the fetch is the property: then they are in its order.
  /// If this sort ignores case, the fetch mixes objects whose keys differ only in case. In the list, each
  /// such key has a section of its own, one after another. nil is a key like any other. One query finds all
  /// sections. The fetch's limit and offset are ignored.
  /// - Parameter path: The property. For a to-one use the id of its object: `\.owner?.id`.
  /// - Returns: The sections.
  /// - Throws: The errors of `values(_:)`.
  public func sections<Key: ColumnValue>(by path: KeyPath<Object, Key>) throws -> [FetchSection<Object, Key>]
  {
    let entity = try known()
    let names = try path.valueNames
    let key = entity.byValue(.property(names))
    var groups = self
    groups.request.parameters.sort = [
      parameters.sort.first.flatMap { entity.byValue($0.value) == key ? $0 : nil } ?? SortKey(value: key)
    ]
    (groups.request.parameters.limit, groups.request.parameters.offset) = (nil, 0)
    let columns = EvaluatedColumns([key], entity: entity.name, schema: context.core.mapping.schema)
    let keys = Key.makeColumn(of: context.origin)
    let rows = try groups.rows(
      ColumnSelection(
        columns: [.value(key), .aggregate(AggregateColumn(function: .count, value: nil))], grouping: [key])
    )
    var (sections, offset): ([FetchSection<Object, Key>], Int) = ([], 0)
    var members = self
    (members.request.parameters.limit, members.request.parameters.offset) = (nil, 0)
    for (index, row) in rows.enumerated() {
      keys.takeValue(row[0])
      var value = PredicateValue(type: row[0].isNull ? nil : columns.types[0], stored: row[0])
      // A reference to a new object is compared by the number that stands for the object's id (IDOrder).
      if columns.areIDs[0], let id = row[0].int64 { value.stored = .integer(IDOrder.rank(id)) }
      let count = Int(row[1].int64 ?? 0)
      sections.append(
        FetchSection(
          key: keys.values.all[index], count: count, offset: offset,
          fetch: members.where(.comparison(key, .equal, .value(value), []))))
      offset += count
    }
    note(names, keys)
    return sections
  }
}
