// A merge where one of the entities has a parent or children. The source first becomes a subentity of the
// destination, as with `set parent`: only that operation moves rows to another table, with new ids and
// correct references. Then its objects become objects of the destination.

internal import CipherSQLite

/// The parts of `merge entity A into B` where A or B has a parent or children.
///
/// Subentities of A become subentities of B and keep their objects. The values that A carries over to B are
/// carried over for these objects as well.
struct HierarchyMerge {
  private(set) var parts: [CompositePart] = []
  let places: MergeMapping
  /// What single parts drop, but the merge as a whole does not lose.
  private(set) var kept: Set<String> = []

  private let merge: EntityMerge
  /// The model after the parts so far.
  private var present: Schema
  /// The temporary names of the source's properties, by their former names.
  private var passing: [String: String] = [:]
  private let isOneTable: Bool
  /// Whether properties of the destination are temporarily optional and without a default.
  private var hasSuspendedRequirements = false

  init(_ merge: EntityMerge, in model: Schema) throws(ModelError) {
    (self.merge, present) = (merge, model)
    let (source, destination) = (try model.known(merge.source), try model.known(merge.destination))
    guard merge.source == merge.destination || !model.line(of: destination.name).contains(source.name) else {
      throw ModelError(
        reason:
          "\(destination.name) inherits from \(source.name), so \(source.name) cannot be merged into it; "
          + "write: merge entity \(destination.name) into \(source.name), then "
          + "rename entity \(source.name) -> \(destination.name)")
    }
    isOneTable = model.root(of: source).name == model.root(of: destination).name
    if !isOneTable, source.parent != nil {
      let parting = MigrationOperation.setParent(source.name, to: nil)
      try Self.requireNoInheritedToMany(merge, source, in: model)
      try parting.apply(to: &present)
      parts.append(.operation(parting))
    }
    places = try MergeMapping(merge, in: present)
    if isOneTable {
      try carryRows()
      try makeSubentity()
    } else {
      try requireUniqueness(of: source)
      try dropUnmapped()
      try renameConflicting()
      try renameMapped()
      try makeSubentity()
      try carryRows()
    }
    try restoreRequirements()
    try note(present)
    try fold()
  }

  /// Refuses to map an inherited to-many of a source that leaves its hierarchy: the links stay with the
  /// ancestor.
  private static func requireNoInheritedToMany(
    _ merge: EntityMerge, _ source: EntityDescription, in model: Schema
  ) throws(ModelError) {
    for owner in model.ancestors(of: source) {
      for relationship in owner.relationships
      where relationship.isToMany && merge.pairs.contains(where: { $0.name == relationship.name }) {
        throw ModelError(
          reason:
            "\(source.name) inherits \(owner.name).\(relationship.name), whose links stay with "
            + "\(owner.name); remove it from the list"
        )
      }
    }
  }

  /// Refuses a merge that would lose a unique key of the source, because the destination's properties are
  /// not unique. Runs before any property is renamed, so that the error has the names from before the
  /// merge.
  /// - Parameter former: The source before the merge.
  private func requireUniqueness(of former: EntityDescription) throws(ModelError) {
    let news = Dictionary(places.attributes.map { ($0.from.name, $0.to.name) }) { first, _ in first }
    for key in try current(merge.source).uniqueKeys {
      let new = Set(key.compactMap { news[$0] })
      guard new.count == key.count,
        !places.destination.uniqueKeys.contains(where: { new.isSuperset(of: $0) })
      else { continue }
      let parting = MigrationOperation.setParent(former.name, to: nil)
      throw ParentChange.sharing(
        former.name, key, with: merge.destination,
        after: former.uniqueKeys.contains(key) ? nil : parting.summary)
    }
  }

  private mutating func add(_ operation: MigrationOperation) throws(ModelError) {
    try operation.apply(to: &present)
    parts.append(.operation(operation))
  }

  private mutating func add(_ operations: [MigrationOperation]) throws(ModelError) {
    for operation in operations { try add(operation) }
  }

  private func current(_ name: String) throws(ModelError) -> EntityDescription { try present.known(name) }

  private func isShared(_ name: String) -> Bool { places.shared.contains(name) }

  // MARK: Names

  /// Collects what the parts drop, but the merge does not lose. `places` lists the real losses.
  private mutating func note(_ model: Schema) throws(ModelError) {
    let source = try model.known(merge.source)
    let names = places.source.propertyNames + Array(passing.values)
    for entity in [source] + model.descendants(of: source) {
      kept.formUnion(names.map { "\(entity.name).\($0)" })
    }
    kept.insert(merge.source)
    kept.formUnion((places.redirected + places.dropped).map(\.name))
    // Relationships to the destination or to its ancestors lose no links: the source's objects become
    // objects of the destination.
    let line = model.line(of: merge.destination)
    for entity in model.entities {
      for relationship in entity.relationships where line.contains(relationship.destination) {
        kept.insert("\(entity.name).\(relationship.name)")
      }
    }
  }

  /// Drops attributes without a counterpart in the destination, so that they need not fit into its table.
  private mutating func dropUnmapped() throws(ModelError) {
    let mapped = Set(places.attributes.map(\.from.name))
    for attribute in places.source.attributes where !mapped.contains(attribute.name) {
      let indexes = try current(merge.source).indexes.filter { $0.properties.contains(attribute.name) }
      try add(indexes.map { .dropIndex(merge.source, $0.properties, $0.comparing) })
      try add(.dropAttribute(merge.source, attribute.name))
    }
  }

  private func isTaken(_ name: String, by entity: String) throws(ModelError) -> Bool {
    present.hierarchy(of: try current(entity)).contains { relative in
      relative.propertyNames.contains { $0.lowercased() == name.lowercased() }
    }
  }

  private mutating func pass(_ name: String) throws(ModelError) {
    let relatives =
      present.hierarchy(of: try current(merge.source)) + present.hierarchy(of: try current(merge.destination))
    let new = freeName("\(name)Merged", among: Set(relatives.flatMap(\.propertyNames)))
    try add(
      try current(merge.source).attribute(named: name) == nil
        ? .renameRelationship(merge.source, name, to: new) : .renameAttribute(merge.source, name, to: new))
    passing[name] = new
  }

  /// Renames relationships whose names the destination's hierarchy uses: unlike attributes, two
  /// relationships do not become one when the source becomes a subentity.
  private mutating func renameConflicting() throws(ModelError) {
    for relationship in places.source.relationships
    where try isTaken(relationship.name, by: merge.destination) {
      try pass(relationship.name)
    }
  }

  /// Gives each mapped attribute the name and type of its counterpart. Then both become one when the source
  /// becomes a subentity.
  private mutating func renameMapped() throws(ModelError) {
    for (former, new) in places.attributes where former.type != new.type {
      try add(.retype(merge.source, former.name, to: new.type, using: nil))
    }
    let renamed = places.attributes.filter { $0.from.name != $0.to.name }
    for (former, _) in renamed { try pass(former.name) }
    for (former, new) in renamed {
      guard let name = passing.removeValue(forKey: former.name) else { continue }
      try add(.renameAttribute(merge.source, name, to: new.name))
    }
  }

  // MARK: Below the destination

  /// The properties that the source's rows get from the destination, and that are temporarily optional and
  /// without a default until the rows have values.
  private var awaited: [(owner: String, property: String, isRequired: Bool, value: DefaultValue?)] {
    let attributes = isOneTable ? places.attributes.map(\.to) : []
    let toOnes = places.toOnes.map(\.to)
    return attributes.filter { !isShared($0.name) && (!$0.isOptional || $0.defaultValue != nil) }.compactMap {
      attribute in
      declarer(of: attribute.name).map { ($0, attribute.name, !attribute.isOptional, attribute.defaultValue) }
    }
      + toOnes.filter { !isShared($0.name) && $0.isRequired }.compactMap { toOne in
        declarer(of: toOne.name).map { ($0, toOne.name, true, nil) }
      }
  }

  private func declarer(of property: String) -> String? {
    present.declarer(of: property, in: places.destination)?.name
  }

  private mutating func makeSubentity() throws(ModelError) {
    guard try current(merge.source).parent != merge.destination else { return }
    for (owner, property, isRequired, value) in awaited {
      if isRequired { try add(.makeOptional(owner, property)) }
      if value != nil { try add(.setDefault(owner, property, nil)) }
    }
    hasSuspendedRequirements = true
    try add(.setParent(merge.source, to: merge.destination))
  }

  private mutating func restoreRequirements() throws(ModelError) {
    guard hasSuspendedRequirements else { return }
    for (owner, property, isRequired, value) in awaited {
      if let value { try add(.setDefault(owner, property, value)) }
      if isRequired { try add(.makeRequired(owner, property, filling: nil)) }
    }
  }

  // MARK: Rows

  /// Copies the values and links of the source's rows to the counterparts in the destination.
  private mutating func carryRows() throws(ModelError) {
    let rows = try MergedRows(places, in: present, .staying(fromBelow: !isOneTable)) { passing[$0] ?? $0 }
    parts += rows.checks.map { .check($0) } + rows.statements.map { .sql($0) }
  }

  /// Drops the source. The destination replaces it in relationships, and as the parent of its children.
  private mutating func fold() throws(ModelError) {
    for end in places.redirected {
      let detour = RedirectedRelationship(end, to: merge.destination, in: present)
      try add(detour.making)
      parts.append(.sql(try detour.copy(in: present) { $0 }))
      try add(detour.closing(in: present))
    }
    for end in places.dropped {
      try add(present.indexes(with: end.relationship.name, of: try current(end.entity.name)).drops)
      try add(.dropRelationship(end.entity.name, end.relationship.name))
    }
    let source = try current(merge.source)
    let indexes = try indexesOfSubentities(source)
    try add(indexes.map { .dropIndex($0.owner, $0.index.properties, $0.index.comparing) })
    parts.append(.sql(renaming(source)))
    for child in present.children(of: source) { try add(.setParent(child.name, to: merge.destination)) }
    try add(.dropEntity(merge.source))
    for (owner, _, new) in indexes { try add(.addIndex(owner, new)) }
  }

  /// The statement that makes the rows objects of the destination, and clears the to-ones that are
  /// dropped with the source. These are also cleared in rows of subentities: if one is required, the
  /// `set parent` that follows would refuse references that remain.
  private func renaming(_ source: EntityDescription) -> SQL {
    let place = present.place(of: source.name)
    let column = SQLName(EntityColumn.name)
    let (old, new) = (source.name, merge.destination)
    var settings: [SQL] = [
      present.children(of: source).isEmpty
        ? "\(column) = \(literal: new)"
        : "\(column) = CASE \(column) WHEN \(literal: old) THEN \(literal: new) ELSE \(column) END"
    ]
    for relationship in source.relationships where relationship.hasColumn {
      settings.append("\(identifier: relationship.columnName) = NULL")
      if let order = present.orderColumn(of: relationship) { settings.append("\(identifier: order) = NULL") }
    }
    return "UPDATE \(place.tableName) SET \(SQL.joined(settings))\(place.filter)"
  }

  /// The indexes of subentities that use properties of the source, each with its replacement.
  private func indexesOfSubentities(
    _ source: EntityDescription
  ) throws(ModelError) -> [(owner: String, index: IndexDescription, new: IndexDescription)] {
    var news: [String: String] = [:]
    for (former, new) in places.attributes { news[passing[former.name] ?? former.name] = new.name }
    for (former, new) in places.toOnes { news[passing[former.name] ?? former.name] = new.name }
    var found: [(String, IndexDescription, IndexDescription)] = []
    for below in present.descendants(of: source) {
      for index in below.indexes where index.properties.contains(where: source.declares) {
        if let lost = index.properties.first(where: { source.declares($0) && news[$0] == nil }) {
          throw ModelError(
            reason:
              "the index \(below.name)\(index.wording) uses \(lost), which has no place in "
              + "\(merge.destination); drop the index first")
        }
        var new = index
        new.properties = index.properties.map { source.declares($0) ? news[$0] ?? $0 : $0 }
        found.append((below.name, index, new))
      }
    }
    return found
  }
}
