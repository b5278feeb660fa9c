// Fetches of values: no object is made.

public import CipherSQLite

extension Fetch {
  /// Returns the values of some properties of each object, in order. No objects are made.
  ///
  /// ```swift
  /// let rows: [(String, Int)] = try context.fetch(Item.self)
  ///   .values(\.title, \.bytes)
  /// let cities: [String?] = try context.fetch(Item.self).distinct()
  ///   .values(\.owner?.city)
  /// let owners = try context.fetch(Item.self).values(\.owner?.id)
  /// ```
  ///
  /// With pending changes the values are those that the next save will write. A stored value that its
  /// type cannot represent becomes the type's placeholder, as in an object, and is added to
  /// ``ObjectContext/unreadableValues``.
  /// - Parameter path: The properties: attributes and ids, also through to-ones. For one property the
  ///   elements are its values, for several they are tuples.
  /// - Returns: The values.
  /// - Throws: ``StoreError/predicate(_:)``, ``StoreError/unknownEntity(name:)``; ``SQLError``.
  public func values<each Value: ColumnValue>(
    _ path: repeat KeyPath<Object, each Value>
  ) throws -> [(repeat each Value)] {
    var paths: [[String]] = []
    for path in repeat each path { paths.append(try path.valueNames) }
    let origin = context.origin
    let columns = (repeat (each Value).makeColumn(of: origin))
    var collected: [any CollectedColumn] = []
    for column in repeat each columns { collected.append(column) }
    let count = try collect(paths, into: collected)
    let values = (repeat (each columns).values.all)
    var rows: [(repeat each Value)] = []
    rows.reserveCapacity(count)
    for index in 0..<count { rows.append((repeat (each values)[index])) }
    return rows
  }

  // The forms for one and for two properties need no parameter pack: in another module the compiler then
  // specializes the code that makes the tuples, which otherwise takes as long as reading the rows.

  /// Returns the values of a property of each object, in order. See the form for several properties.
  /// - Parameter path: The property.
  /// - Returns: The values.
  /// - Throws: The errors of the form for several properties.
  public func values<Value: ColumnValue>(_ path: KeyPath<Object, Value>) throws -> [Value] {
    let column = Value.makeColumn(of: context.origin)
    _ = try collect([path.valueNames], into: [column])
    return column.values.all
  }

  /// Returns the values of two properties of each object, in order.
  /// - Parameters:
  ///   - first: The first property.
  ///   - second: The second property.
  /// - Returns: The pairs of values.
  /// - Throws: The errors of the form for several properties.
  @inlinable public func values<First: ColumnValue, Second: ColumnValue>(
    _ first: KeyPath<Object, First>, _ second: KeyPath<Object, Second>
  ) throws -> [(First, Second)] {
    let (one, two) = try columns(first, second)
    return one.indices.map { (one[$0], two[$0]) }
  }

  @usableFromInline func columns<First: ColumnValue, Second: ColumnValue>(
    _ first: KeyPath<Object, First>, _ second: KeyPath<Object, Second>
  ) throws -> ([First], [Second]) {
    let origin = context.origin
    let (one, two) = (First.makeColumn(of: origin), Second.makeColumn(of: origin))
    _ = try collect([first.valueNames, second.valueNames], into: [one, two])
    return (one.values.all, two.values.all)
  }

  /// Returns the values of some properties of each object by their names, in order. No objects are made.
  ///
  /// ```swift
  /// let rows = try context.fetch(entity: "Item")
  ///   .dictionaries("title", "owner.city")
  /// let title = rows.first?["title"]?.string
  /// ```
  /// - Parameter paths: The properties, or paths through to-ones. A to-one has the id of its object.
  /// - Returns: For each object the stored form of each value by its path.
  /// - Throws: The errors of `values(_:)`.
  public func dictionaries(_ paths: String...) throws -> [[String: SQLValue]] {
    try rows(of: paths).map { row in
      Dictionary(zip(paths, row), uniquingKeysWith: { first, _ in first })
    }
  }

  /// Returns each object as a value of a `Decodable` type, in order. No objects are made.
  ///
  /// ```swift
  /// struct Summary: Decodable {
  ///   let title: String
  ///   let bytes: Int
  /// }
  /// let summaries = try context.fetch(Item.self)
  ///   .all(as: Summary.self)
  /// ```
  ///
  /// The keys of the type are names of attributes, or `id`. A to-one has the id of its object, as an
  /// integer. An attribute is decoded as its own type, or as one with the same stored form. A stored value
  /// that is not of the type is an error.
  /// - Parameters:
  ///   - type: The type of the elements. A type that is a single value, such as `Int`, gets the first of
  ///     the properties.
  ///   - paths: The properties to select: names, and paths through to-ones. By default: the id, all
  ///     attributes, all to-ones with a column. The key of a path is its text, such as
  ///     `case city = "owner.city"`. Name the properties if the objects have large attributes that the type
  ///     does not have.
  /// - Returns: The values.
  /// - Throws: `DecodingError`; the errors of `values(_:)`.
  public func all<Value: Decodable>(as type: Value.Type, _ paths: String...) throws -> [Value] {
    let entity = try known()
    let names = paths.isEmpty ? ["id"] + entity.storedSlots.map { entity.slots[$0].name } : paths
    let rows = Row.rows(try rows(of: names), names: names, dates: .secondsSinceReferenceDate) {
      guard let type = $0 as? any AttributeValue.Type else { return nil }
      return .some(type.init(stored: $1))
    }
    return try rows.map { try $0.decode(type) }
  }

  /// Returns the stored form of some properties of each object.
  private func rows(of paths: [String]) throws -> [[SQLValue]] {
    let rows = RowList(paths.count)
    let columns = paths.map { ColumnSelection.Column.value(.property($0.pathNames)) }
    try run(
      ColumnSelection(columns: columns, isDistinct: request.parameters.isDistinct), into: rows.collector)
    return rows.rows
  }

  // MARK: Implementation

  /// Collects the values of some paths, and notes those that could not be read.
  /// - Returns: The number of rows.
  private func collect(_ paths: [[String]], into columns: [any CollectedColumn]) throws -> Int {
    let collector = ColumnCollector(columns)
    let selection = ColumnSelection(
      columns: paths.map { .value(.property($0)) }, isDistinct: request.parameters.isDistinct)
    try run(selection, into: collector)
    for (path, column) in zip(paths, columns) { note(path, column) }
    return collector.rowCount
  }

  /// Runs the query for a selection, with the pending changes of the context.
  /// - Parameter readsRows: Whether to read each row, also if SQL could aggregate them.
  func run(_ selection: ColumnSelection, readsRows: Bool = false, into collector: ColumnCollector) throws {
    let entity = try known()
    guard !selection.columns.isEmpty else {
      throw StoreError.predicate(
        PredicateError("no property is named; name at least one", entity: request.entityName))
    }
    guard parameters.sort.allSatisfy({ !entity.endsAtRelationship($0.value) }),
      selection.isByValue(of: entity)
    else {
      var other = self
      for index in parameters.sort.indices {
        other.request.parameters.sort[index].value = entity.byValue(parameters.sort[index].value)
      }
      return try other.run(selection.byValue(of: entity), readsRows: readsRows, into: collector)
    }
    if selection.isDistinct, let sort = parameters.exactSort {
      var other = self
      other.request.parameters.sort = sort
      return try other.run(selection, readsRows: readsRows, into: collector)
    }
    try inOneSnapshot(entity) {
      if let merge = try merge(entity, selecting: selection.values) {
        // The compiler reports errors in the selection.
        _ = try compiled(.columns(selection), entity)
        try selection.isGrouped
          ? merge.collectGroups(selection, readsRows: readsRows, into: collector)
          : merge.collect(selection, into: collector)
      } else if readsRows {
        try collectGroups(selection, entity, into: collector)
      } else {
        let compiled = try compiled(.columns(selection), entity)
        try collector.run(compiled.form, compiled.bindings, of: entity, in: context)
      }
      context.recordQuery(rows: collector.rowCount)
    }
  }

  /// Adds the groups of a selection to a collector, aggregated in memory.
  private func collectGroups(
    _ selection: ColumnSelection, _ entity: EntityMapping, into collector: ColumnCollector
  ) throws {
    let schema = context.core.mapping.schema
    let columns = EvaluatedColumns(selection.values, entity: entity.name, schema: schema)
    let table = GroupTable(selection, columns: columns, entity: entity.name)
    var all = self
    if !selection.grouping.isEmpty { all.request.parameters = all.request.parameters.withoutOrder }
    let rows = RowList(selection.values.count)
    try all.run(ColumnSelection(columns: selection.values.map { .value($0) }), into: rows.collector)
    for row in rows.rows { table.add(row) }
    for row in try table.rows(of: request.parameters, schema) { collector.take(row) }
  }

  /// Adds the values of a path that could not be read to the context's errors. A second query finds their
  /// objects, so that the first one need not select ids.
  func note(_ path: [String], _ column: any CollectedColumn) {
    guard column.unreadableCount > 0 else { return }
    var all = self
    all.request.parameters = all.request.parameters.withoutOrder
    all.request.parameters.isDistinct = false
    let rows = RowList(2)
    do {
      try all.run(
        ColumnSelection(columns: [.value(.objectID), .value(.property(path))]), into: rows.collector)
    } catch {
      return context.note(error)
    }
    for row in rows.rows where !column.reads(row[1]) {
      context.noteUnreadable(
        .unreadableValue(
          entity: request.entityName, property: path.shownPath, rowID: row[0].int64 ?? 0,
          expected: column.typeName))
    }
  }
}

extension ObjectContext {
  /// Where the values of this context's fetches come from.
  var origin: ColumnOrigin { ColumnOrigin(store: mark, temporary: mark(of: -1)) }
}
