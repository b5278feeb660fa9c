// A schema prepared for use: slots, columns and ends of relationships, resolved once per store. It is
// made from the schema alone; where an entity has a Swift class, the class supplies defaults, rules and
// the order of properties through its binding.

internal import CipherSQLite

// Safe to share: SchemaMapping completes it before any other code has it. Afterwards only values change
// that are safe by themselves: `nilColumns`, in a lock, and the values that are made once. The properties
// that each insertion reads are not written any more, so their accesses need no check for exclusivity.
/// The mapping of an entity to its table. Its properties include inherited ones, which come before its
/// own.
package final class EntityMapping: @unchecked Sendable {
  /// The index of the entity in ``SchemaMapping/entities``.
  package let index: Int
  /// The entity's description, with everything that it inherits.
  let description: EntityDescription
  /// The table of the root entity.
  let table: SQLName
  /// The entities that share the table; nil when there are no others.
  fileprivate(set) var hierarchy: EntityHierarchy?
  /// The properties, inherited ones first. A slot is an index of this array.
  @safe @exclusivity(unchecked) package fileprivate(set) var slots: [PropertyMapping] = []
  package fileprivate(set) var relationships: [RelationshipMapping] = []
  /// The one-to-ones whose column is in this entity's table.
  fileprivate(set) var oneToOnes: [RelationshipMapping] = []
  /// The relationships that the entity declares itself.
  package var ownRelationships: [RelationshipMapping] { relationships.filter { $0.owner === self } }
  /// The slots that have a column, attributes and to-ones, in the order of the column list.
  @safe @exclusivity(unchecked) package fileprivate(set) var storedSlots: [Int] = []
  /// The stored slots that are read with a row: all but those of lazy attributes.
  @safe @exclusivity(unchecked) fileprivate(set) var fetchedSlots: [Int] = []
  /// The stored slots of lazy attributes.
  fileprivate(set) var lazySlots: [Int] = []
  /// For each slot, whether it is a to-one with a column; the value may then be a temporary id.
  @safe @exclusivity(unchecked) package fileprivate(set) var isToOne: [Bool] = []
  @safe @exclusivity(unchecked) fileprivate(set) var hasToOne = false
  package var slotCount: Int { slots.count }
  /// For each slot, whether nil is rejected.
  @safe @exclusivity(unchecked) fileprivate(set) var isRequired: [Bool] = []
  @safe @exclusivity(unchecked) fileprivate(set) var slotsWithInitialValue: [Int] = []
  /// The set of ``storedSlots``.
  @safe @exclusivity(unchecked) package fileprivate(set) var allStored = SlotSet()
  /// The slots with rules of the Swift class.
  @safe @exclusivity(unchecked) fileprivate(set) var checkedSlots: [Int] = []
  /// To-ones of any entity that reference this entity and have no inverse. No inverse has a delete rule
  /// for them, so the save of a deletion sets them to nil.
  fileprivate(set) var danglingReferrers: [RelationshipMapping] = []
  /// Whether objects of the entity may be members of a many-to-many. Then an object may be in sets to
  /// which it has no reference itself.
  fileprivate(set) var isInManyToMany = false
  /// The sets of slots whose values together are unique, one for each unique attribute, unique index and
  /// one-to-one.
  fileprivate(set) var uniqueKeys: [[Int]] = []
  /// The slots that occur anywhere in the SQL of the model's raw unique indexes.
  fileprivate(set) var rawUniqueSlots: [Int] = []
  /// The statement that inserts one row.
  fileprivate(set) var insertSQL = ""
  /// The statement that inserts all rows of a ``RowFeed``.
  fileprivate(set) var feedSQL = ""
  /// The query for the whole row of one id.
  var rowSQL: String { rowText.value { rowStatement } }
  /// The query for the whole row of one id, which passes the row to a function inside the engine. Only
  /// for entities whose ``columnCount`` does not exceed the number of arguments that a function can have.
  var functionRowSQL: String { functionRowText.value { functionRowStatement } }
  /// The query for the high-water mark of the table, and for the highest id of a row.
  var lastIDsSQL: String { lastIDsText.value { IdentifierTable.lastSQL(of: name) } }
  /// `id`, the version and the columns of ``fetchedSlots``, of the table with the alias `t0`. For an
  /// entity with descendants: `id`, the version, the number of the row's entity, and the columns of all
  /// entities of the branch.
  var objectColumns: SQL { branchRows.columns }
  /// `id`, the version and the columns of ``fetchedSlots``, without those of descendants.
  fileprivate(set) var ownColumns: SQL = ""
  /// The columns of each entity of the branch in ``objectColumns``; empty for an entity without
  /// descendants.
  var branchColumns: [BranchColumns] { branchRows.entities }
  private var slotsByName: [String: Int] = [:]
  /// The columns in which most rows are nil, according to the file's statistics; nil if there are no
  /// statistics of the table.
  let nilColumns = Locked<Set<SQLName>?>(nil)
  /// Whether the file has statistics of the table, so that the engine can choose between indexes.
  var hasStatistics: Bool { nilColumns.withLock { $0 != nil } }

  // Made on demand: for a chain of n entities, each the child of the one before, the size of all these
  // values together would grow with the cube of n.
  private let branchRowsOnce = ComputedOnce<BranchRows>()
  private let rowText = ComputedOnce<String>()
  private let functionRowText = ComputedOnce<String>()
  private let lastIDsText = ComputedOnce<String>()
  private var branchRows: BranchRows { branchRowsOnce.value { BranchRows(self) } }

  /// The number of ``objectColumns``.
  var columnCount: Int { branchRows.count }
  /// The number of ``ownColumns``.
  var ownColumnCount: Int { fetchedSlots.count + 2 }

  /// Returns the columns of a query for rows: ``objectColumns`` or ``ownColumns``, or as many of them as
  /// some slots need.
  /// - Parameters:
  ///   - slots: The slots that are read; nil for ``fetchedSlots``, also those of subentities.
  ///   - isBranch: Whether rows of subentities are included.
  func columns(of slots: [Int]?, isBranch: Bool = true) -> SQL {
    guard let slots else { return isBranch ? objectColumns : ownColumns }
    var columns: SQL = "t0.\"id\", t0.\"_version\""
    if isBranch, hasChildren { columns.append(", \(branchNumber("t0."))") }
    for column in slots.compactMap({ self.slots[$0].columnName }) { columns.append(", t0.\(column)") }
    return columns
  }

  /// Returns the number of ``columns(of:isBranch:)``.
  func columnCount(of slots: [Int]?, isBranch: Bool = true) -> Int {
    guard let slots else { return isBranch ? columnCount : ownColumnCount }
    return slots.count + (isBranch && hasChildren ? 3 : 2)
  }

  /// Returns the slots with a column that a fetch of some properties reads: theirs, and those of
  /// one-to-ones, by which a row tells its partners that they may be outdated.
  /// - Throws: ``StoreError/predicate(_:)`` for a name that is no property.
  func slots(of names: [String]) throws -> [Int] {
    var found = Set(oneToOnes.map(\.slot))
    for name in names where name != "id" {
      guard let slot = slot(named: name) else {
        let near = nearest(name, among: slots.map(\.name))
        throw StoreError.predicate(
          PredicateError(
            "\(self.name) has no property \"\(shortened(name))\" that could be fetched alone"
              + (didYouMean(near).map { "; \($0)" } ?? ""), entity: self.name))
      }
      found.insert(slot)
    }
    return storedSlots.filter(found.contains)
  }

  package var name: String { description.name }

  fileprivate init(index: Int, description: EntityDescription, table: String) {
    self.index = index
    self.description = description
    self.table = SQLName(table)
  }

  func slot(named name: String) -> Int? { slotsByName[name] }

  /// Returns whether an index finds rows by the property.
  func isIndexed(_ slot: Int) -> Bool {
    let info = slots[slot]
    if info.relationship != nil { return true }
    return info.attribute.map { $0.isUnique || $0.isIndexed } == true
      || description.indexes.contains { $0.properties.first == info.name && isExact($0, slot) }
  }

  /// Returns whether an index compares a property exactly: it ignores case or diacritics in Strings only.
  private func isExact(_ index: IndexDescription, _ slot: Int) -> Bool {
    index.comparing.isEmpty || slots[slot].attribute?.type != .string
  }

  /// Returns whether an index of a String attribute ignores exactly this.
  func isIndexed(_ name: String, comparing options: StringOptions) -> Bool {
    description.indexes.contains { $0.comparing == options && $0.properties.contains(name) }
  }

  /// Returns whether an index contains all of the properties, so that their values can be read without
  /// the rows.
  func isCovered(_ slots: [Int]) -> Bool {
    let names = Set(slots.map { self.slots[$0].name })
    return slots.allSatisfy { $0 == slots.first && isIndexed($0) }
      || description.indexes.contains { names.isSubset(of: $0.properties) }
  }

  /// Returns the slots that follow `first` in indexes that begin with `first`. A slot counts only if all
  /// slots between `first` and it are in `isEqual`, the slots that the condition restricts to one value.
  func slots(indexedAfter first: Int, where isEqual: Set<Int>) -> Set<Int> {
    var found: Set<Int> = []
    for index in description.indexes
    where index.properties.first == slots[first].name && isExact(index, first) {
      for slot in index.properties.dropFirst().compactMap(slot(named:)) {
        guard isExact(index, slot) else { break }
        found.insert(slot)
        guard isEqual.contains(slot) else { break }
      }
    }
    return found
  }

  /// Sets everything that is derived from the slots.
  fileprivate func complete() {
    for (slot, property) in slots.enumerated() { slotsByName[property.name] = slot }
    relationships = slots.compactMap(\.relationship)
    oneToOnes = relationships.filter { !$0.hasMembers && $0.inverseIsLookedUp }
    storedSlots = slots.indices.filter { slots[$0].columnName != nil }
    lazySlots = storedSlots.filter { slots[$0].attribute?.isLazy == true }
    fetchedSlots = storedSlots.filter { !lazySlots.contains($0) }
    isToOne = slots.map { $0.relationship?.hasMembers == false }
    hasToOne = isToOne.contains(true)
    isRequired = slots.map {
      $0.attribute.map { !$0.isOptional } ?? $0.relationship?.isRequired ?? false
    }
    slotsWithInitialValue = storedSlots.filter { slots[$0].initialValue != nil }
    for slot in storedSlots { allStored.insert(slot) }
    checkedSlots = slots.indices.filter { !slots[$0].checks.isEmpty }
    uniqueKeys =
      description.attributes.filter(\.isUnique).compactMap { slot(named: $0.name).map { [$0] } }
      + description.indexes.filter(\.isUnique).map { $0.properties.compactMap(slot(named:)) }
      + oneToOnes.map { [$0.slot] }
    ownColumns = "t0.\"id\", t0.\"_version\""
    for column in fetchedSlots.compactMap({ slots[$0].columnName }) { ownColumns.append(", t0.\(column)") }
    let columns = storedSlots.compactMap { slots[$0].columnName }
    insertSQL = insertStatement(columns)
    feedSQL = feedStatement(columns)
  }
}

/// A property and everything that the store needs to use it.
package struct PropertyMapping {
  package let name: String
  /// The column; nil for a to-many, and for a to-one without a column.
  let columnName: SQLName?
  let attribute: AttributeDescription?
  /// Returns a new object's value; nil when a new object begins with nil.
  let initialValue: (() throws -> SQLValue)?
  let checks: [CheckRule]
  /// Checks whether the Swift type of the class can represent a stored value; nil if it can represent all
  /// values of the attribute type.
  let reader: ValueReader?
  let relationship: RelationshipMapping?
  /// The key in JSON that the class declares; nil if it declares none.
  let key: String?

  /// The quoted column; empty where there is none.
  var column: String { columnName?.description ?? "" }
}

// Safe to share: the initializer completes it before any other code has it, and it never changes
// afterwards.
/// The mapping of all entities of a store.
package final class SchemaMapping: @unchecked Sendable {
  let schema: Schema
  package let entities: [EntityMapping]
  /// Whether any relationship is ordered.
  private(set) var hasOrder = false
  /// Whether any entity has a history.
  let hasHistory: Bool
  private let byName: [String: EntityMapping]

  /// Creates the mapping of a schema.
  /// - Throws: ``StoreError/invalidSchema(_:)``.
  package init(_ schema: Schema) throws {
    try schema.validate()
    self.schema = schema
    entities = schema.entities.enumerated().map {
      EntityMapping(index: $0, description: schema.flattened($1), table: schema.root(of: $1).name)
    }
    byName = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0) })
    hasHistory = entities.contains { $0.description.history != nil }
    if schema.hasHierarchies { setHierarchies() }
    var names: [String: [String]] = [:]
    let parentsFirst = schema.parentsFirst
    // Inherited properties come first, in the same slots as in the parent.
    for entity in parentsFirst {
      names[entity.name] =
        schema.bindings[entity.name]?.propertyNames
        ?? (entity.parent.flatMap { names[$0] } ?? []) + entity.propertyNames
    }
    for entity in parentsFirst.compactMap({ byName[$0.name] }) {
      entity.slots = (names[entity.name] ?? []).enumerated().map { slot, name in
        if let above = entity.parent, slot < above.slotCount {
          return inherited(above.slots[slot], by: entity)
        }
        return property(name, slot: slot, of: entity, names: names)
      }
      entity.complete()
    }
    for statement in schema.rawStatements where statement.object.kind == .index && statement.object.isUnique {
      let words = statement.words
      for entity in entities where words.contains(entity.root.name.lowercased()) {
        entity.rawUniqueSlots += entity.storedSlots.filter { slot in
          let name = entity.slots[slot].name.lowercased()
          return words.contains(name) || words.contains("\(name)_id")
        }
      }
    }
    for relationship in relationships {
      if relationship.isOrdered { hasOrder = true }
      for destination in relationship.destination.branch {
        if !relationship.hasMembers, relationship.inverseSlot == nil {
          destination.danglingReferrers.append(relationship)
        }
        if relationship.join != nil { destination.isInManyToMany = true }
      }
    }
  }

  /// The ends of all relationships, each once, at the entity that declares it.
  package var relationships: [RelationshipMapping] { entities.flatMap(\.ownRelationships) }

  private func setHierarchies() {
    func references(_ some: [EntityDescription]) -> [EntityReference] {
      some.compactMap { byName[$0.name].map(EntityReference.init) }
    }
    let tree = DescendantIndex(schema)
    for hierarchy in schema.hierarchies {
      let members = references(hierarchy)
      for description in hierarchy {
        guard let entity = byName[description.name] else { continue }
        let below = tree.descendants(of: description.name).map { EntityReference(entity: entities[$0]) }
        entity.hierarchy = EntityHierarchy(
          parent: description.parent.flatMap { byName[$0] }.map(EntityReference.init), root: members[0],
          branch: [EntityReference(entity: entity)] + below, members: members)
      }
    }
  }

  /// Returns the mapping of a property that the parent has. It keeps the parent's relationship; defaults
  /// and rules may come from the entity's own class.
  private func inherited(_ property: PropertyMapping, by entity: EntityMapping) -> PropertyMapping {
    guard let binding = schema.bindings[entity.name] else { return property }
    return PropertyMapping(
      name: property.name, columnName: property.columnName, attribute: property.attribute,
      initialValue: binding.initialValue(of: property.name), checks: binding.checks(of: property.name),
      reader: property.reader, relationship: property.relationship, key: property.key)
  }

  func entity(named name: String) -> EntityMapping? { byName[name] }

  /// Returns the entity with a name that a user wrote.
  /// - Throws: ``StoreError/noEntity(name:similar:)``.
  func known(_ name: String) throws(StoreError) -> EntityMapping {
    if let entity = byName[name] { return entity }
    throw .noEntity(name: name, similar: nearest(name, among: entities.map(\.name)))
  }

  private func property(
    _ name: String, slot: Int, of entity: EntityMapping, names: [String: [String]]
  ) -> PropertyMapping {
    let binding = schema.bindings[entity.name]
    if let attribute = entity.description.attribute(named: name) {
      let constant = attribute.defaultValue?.sqlValue
      return PropertyMapping(
        name: name, columnName: SQLName(name), attribute: attribute,
        initialValue: binding.map { $0.initialValue(of: name) } ?? constant.map { value in { value } },
        checks: binding?.checks(of: name) ?? [],
        reader: binding?.reader(of: name).flatMap { $0.isNarrow ? $0 : nil }, relationship: nil,
        key: binding?.key(of: name))
    }
    let relationship = entity.description.relationship(named: name)
    return PropertyMapping(
      name: name,
      columnName: relationship.flatMap { $0.hasColumn ? SQLName($0.columnName) : nil },
      attribute: nil, initialValue: nil, checks: [], reader: nil,
      relationship: relationship.flatMap { end($0, slot: slot, of: entity, names: names) },
      key: binding?.key(of: name))
  }

  private func end(
    _ relationship: RelationshipDescription, slot: Int, of entity: EntityMapping,
    names: [String: [String]]
  ) -> RelationshipMapping? {
    guard let destination = byName[relationship.destination] else { return nil }
    let inverse = relationship.inverse.flatMap { name -> InverseEnd? in
      guard let back = names[destination.name]?.firstIndex(of: name),
        let description = destination.description.relationship(named: name)
      else { return nil }
      return InverseEnd(description, slot: back)
    }
    return RelationshipMapping(
      relationship, slot: slot, owner: entity, destination: destination, inverse: inverse,
      join: schema.joinTable(of: relationship, in: entity.description))
  }
}
