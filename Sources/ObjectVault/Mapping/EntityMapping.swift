// A schema made ready to run: slots, columns and relationship ends, resolved once per store. Made of the schema alone:
// a class adds defaults, rules and the order of its properties, and nothing here knows it.

internal import CipherSQLite

// Safe to share: set up by SchemaMapping before anyone else has it, never changed afterwards. Nor are accesses to what each
// insertion reads checked for overlapping, as nobody writes to it then.
/// How an entity lies in its table. What it inherits is among its properties, and before its own.
package final class EntityMapping: @unchecked Sendable {
  package let index: Int
  /// With what it inherits.
  let description: EntityDescription
  /// Its root's.
  let table: SQLName
  /// Who shares the table; nil where nobody does.
  fileprivate(set) var family: EntityFamily?
  @safe @exclusivity(unchecked) package fileprivate(set) var slots: [PropertyMapping] = []
  package fileprivate(set) var relationships: [RelationshipMapping] = []
  /// The one-to-ones whose column it has.
  fileprivate(set) var oneToOnes: [RelationshipMapping] = []
  /// Those that it declares itself.
  package var ownRelationships: [RelationshipMapping] { relationships.filter { $0.owner === self } }
  /// The slots that have a column: attributes and to-ones, in the order of the column list.
  @safe @exclusivity(unchecked) package fileprivate(set) var storedSlots: [Int] = []
  /// By slot: whether it is a to-one, whose value may be a temporary id.
  @safe @exclusivity(unchecked) package fileprivate(set) var isToOne: [Bool] = []
  @safe @exclusivity(unchecked) fileprivate(set) var hasToOne = false
  package var slotCount: Int { slots.count }
  /// By slot: whether nil is refused.
  @safe @exclusivity(unchecked) fileprivate(set) var isRequired: [Bool] = []
  @safe @exclusivity(unchecked) fileprivate(set) var slotsWithInitialValue: [Int] = []
  @safe @exclusivity(unchecked) package fileprivate(set) var allStored = SlotSet()
  /// The slots with rules of their own.
  @safe @exclusivity(unchecked) fileprivate(set) var checkedSlots: [Int] = []
  /// To-ones of any entity that lead here and have no inverse: nobody but us sets them to nil on deletion.
  fileprivate(set) var danglingReferrers: [RelationshipMapping] = []
  /// Whether objects may be members of a many-to-many, and so stand in sets that they do not know.
  fileprivate(set) var isInJoins = false
  /// The slots whose values together are unique, one array for each index.
  fileprivate(set) var uniqueKeys: [[Int]] = []
  /// The slots that the unique indexes among the raw objects of the model speak of, whatever they make of the values.
  fileprivate(set) var rawUniqueSlots: [Int] = []
  fileprivate(set) var insertSQL = ""
  /// The insertion of all rows of a feed.
  fileprivate(set) var feedSQL = ""
  /// The whole row of one id.
  var rowSQL: String { rowText.value { rowStatement } }
  /// The same, handed over inside the engine; for entities whose ``columnCount`` a function can take.
  var handedRowSQL: String { handedRowText.value { handedRowStatement } }
  /// The SQL for the highest id that was given out in the table, and for the highest one of a row.
  var lastIDsSQL: String { lastIDsText.value { IdentifierTable.lastSQL(of: name) } }
  /// `id`, the version and all stored columns of the table, which is called `t0`. Of an entity with others below it: `id`,
  /// the version, the number of the row's entity, and the stored columns of all of them.
  var objectColumns: SQL { branchRows.columns }
  /// `id`, the version and the entity's own stored columns, whoever stands below it.
  fileprivate(set) var ownColumns: SQL = ""
  /// Where the columns of the entities of its branch stand in ``objectColumns``; empty for one without others below.
  var branchColumns: [BranchColumns] { branchRows.entities }
  private var slotsByName: [String: Int] = [:]
  /// The columns in which most rows are nil, as the file's statistics say.
  let nilColumns = Locked<Set<SQLName>>([])

  // Of a line of entities, each below the one before, all of these together would grow with the cube of its length.
  private let madeRows = MadeOnce<BranchRows>()
  private let rowText = MadeOnce<String>()
  private let handedRowText = MadeOnce<String>()
  private let lastIDsText = MadeOnce<String>()
  private var branchRows: BranchRows { madeRows.value { BranchRows(self) } }

  /// How many ``objectColumns`` are.
  var columnCount: Int { branchRows.count }
  /// How many ``ownColumns`` are.
  var ownColumnCount: Int { storedSlots.count + 2 }

  package var name: String { description.name }

  fileprivate init(index: Int, description: EntityDescription, table: String) {
    self.index = index
    self.description = description
    self.table = SQLName(table)
  }

  func slot(named name: String) -> Int? { slotsByName[name] }

  /// Whether an index finds rows by the property.
  func isIndexed(_ slot: Int) -> Bool {
    let info = slots[slot]
    if info.relationship != nil { return true }
    return info.attribute.map { $0.isUnique || $0.isIndexed } == true
      || description.indexes.contains { $0.properties.first == info.name }
  }

  /// The slots by which indexes that begin with one go on, each as far as those before it are equal for all rows.
  func slots(indexedBehind first: Int, where isEqual: Set<Int>) -> Set<Int> {
    var found: Set<Int> = []
    for index in description.indexes where index.properties.first == slots[first].name {
      for slot in index.properties.dropFirst().compactMap(slot(named:)) {
        found.insert(slot)
        guard isEqual.contains(slot) else { break }
      }
    }
    return found
  }

  /// Derives what follows from the slots.
  fileprivate func complete() {
    for (slot, property) in slots.enumerated() { slotsByName[property.name] = slot }
    relationships = slots.compactMap(\.relationship)
    oneToOnes = relationships.filter { !$0.hasMembers && $0.inverseIsLookedUp }
    storedSlots = slots.indices.filter { slots[$0].columnName != nil }
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
    let columns = storedSlots.compactMap { slots[$0].columnName }
    for column in columns { ownColumns.append(", t0.\(column)") }
    insertSQL = insertStatement(columns)
    feedSQL = feedStatement(columns)
  }
}

/// A property with what the store needs of it.
package struct PropertyMapping {
  package let name: String
  /// The column; nil for a to-many, and for a to-one that is looked up.
  let columnName: SQLName?
  let attribute: AttributeDescription?
  let initialValue: (() throws -> SQLValue)?
  let checks: [CheckRule]
  let relationship: RelationshipMapping?

  /// The column in quotes; empty where there is none.
  var column: String { columnName?.description ?? "" }
}

// Safe to share: set up by SchemaMapping before anyone else has it, never changed afterwards.
/// All entities of a store.
package final class SchemaMapping: @unchecked Sendable {
  let schema: Schema
  package let entities: [EntityMapping]
  /// Whether members of any relationship have an order.
  private(set) var hasOrder = false
  private let byName: [String: EntityMapping]

  /// - Throws: ``StoreError/invalidSchema(_:)``.
  package init(_ schema: Schema) throws {
    try schema.validate()
    self.schema = schema
    entities = schema.entities.enumerated().map {
      EntityMapping(index: $0, description: schema.flattened($1), table: schema.root(of: $1).name)
    }
    byName = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0) })
    if schema.hasFamilies { placeFamilies() }
    var names: [String: [String]] = [:]
    let parentsFirst = schema.parentsFirst
    // What an entity inherits comes first, in the same slots.
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
        return property(name, slot, of: entity, names)
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
        if relationship.join != nil { destination.isInJoins = true }
      }
    }
  }

  /// The ends of relationships, each once, by the entities that declare them.
  package var relationships: [RelationshipMapping] { entities.flatMap(\.ownRelationships) }

  private func placeFamilies() {
    func references(_ some: [EntityDescription]) -> [EntityReference] {
      some.compactMap { byName[$0.name].map(EntityReference.init) }
    }
    let tree = FamilyTree(schema)
    for family in schema.families {
      let members = references(family)
      for description in family {
        guard let entity = byName[description.name] else { continue }
        let below = tree.descendants(of: description.name).map { EntityReference(entity: entities[$0]) }
        entity.family = EntityFamily(
          parent: description.parent.flatMap { byName[$0] }.map(EntityReference.init), root: members[0],
          branch: [EntityReference(entity: entity)] + below, members: members)
      }
    }
  }

  /// A property of the entity above. Its relationship is the same; a class has defaults and rules of its own.
  private func inherited(_ property: PropertyMapping, by entity: EntityMapping) -> PropertyMapping {
    guard let binding = schema.bindings[entity.name] else { return property }
    return PropertyMapping(
      name: property.name, columnName: property.columnName, attribute: property.attribute,
      initialValue: binding.initialValue(of: property.name), checks: binding.checks(of: property.name),
      relationship: property.relationship)
  }

  func entity(named name: String) -> EntityMapping? { byName[name] }

  /// The entity of a name that somebody wrote.
  /// - Throws: ``StoreError/noEntity(name:similar:)``.
  func known(_ name: String) throws(StoreError) -> EntityMapping {
    if let entity = byName[name] { return entity }
    throw .noEntity(name: name, similar: nearest(name, among: entities.map(\.name)))
  }

  private func property(
    _ name: String, _ slot: Int, of entity: EntityMapping, _ names: [String: [String]]
  ) -> PropertyMapping {
    let binding = schema.bindings[entity.name]
    if let attribute = entity.description.attribute(named: name) {
      let constant = attribute.defaultValue?.sqlValue
      return PropertyMapping(
        name: name, columnName: SQLName(name), attribute: attribute,
        initialValue: binding.map { $0.initialValue(of: name) } ?? constant.map { value in { value } },
        checks: binding?.checks(of: name) ?? [], relationship: nil)
    }
    let relationship = entity.description.relationship(named: name)
    return PropertyMapping(
      name: name,
      columnName: relationship.flatMap { $0.hasColumn ? SQLName($0.columnName) : nil },
      attribute: nil, initialValue: nil, checks: [],
      relationship: relationship.flatMap { end($0, slot, of: entity, names) })
  }

  private func end(
    _ relationship: RelationshipDescription, _ slot: Int, of entity: EntityMapping,
    _ names: [String: [String]]
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
