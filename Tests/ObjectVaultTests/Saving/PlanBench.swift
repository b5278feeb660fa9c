// A planner of saves without a store: a model of two entities, rows in dictionaries, and objects in every
// situation.

import CipherSQLite
import ObjectVault

/// The kinds of relationship between the two entities.
enum PlanKind: CaseIterable, Sendable { case toMany, toOne, oneToOne, manyToMany, manyOneWay }

/// Where the object at the other end is, and its pending changes.
enum PlanSituation: CaseIterable, Sendable {
  case inFile, fault, loaded, movedAway, movedHere, new
  /// Loaded and not changed, while another context has removed or made the reference.
  case goneElsewhere, comeElsewhere

  /// Whether the object is related to the deleted one after the save.
  var isRelated: Bool { self != .movedAway && self != .goneElsewhere }
  /// Whether it is related in the file.
  var isRelatedInFile: Bool { self != .movedHere && self != .new && self != .goneElsewhere }
  /// Whether the row in memory is related.
  var isRelatedInRow: Bool { self == .loaded || self == .movedAway || self == .goneElsewhere }
  /// Whether an object in memory has the relationship.
  var isKnown: Bool { self == .loaded || self == .movedHere || self == .new }
  /// Whether a relationship was changed here.
  var isChanged: Bool { self == .movedAway || self == .movedHere || self == .new }
}

/// A reader whose rows are in dictionaries.
struct BenchReader: SaveReader {
  /// The targets of rows, by the names of entity and to-one.
  var columns: [String: [Int64: Int64]] = [:]
  var links: [(source: Int64, target: Int64)] = []
  var versions: [Int64: Int64] = [1: 1]
  /// Members with their places, in order.
  var places: [MemberPlace] = []
  /// Whether all members of an owner may be read.
  var mayReadMembers = true
  struct TooMuch: Error {}

  private func column(_ entity: EntityMapping, _ slot: Int) -> [Int64: Int64] {
    columns["\(entity.name).\(entity.slots[slot].name)"] ?? [:]
  }
  func targets(_ entity: EntityMapping, _ slot: Int, of owners: [Int64]) -> [LinkEnds] {
    owners.compactMap { id in column(entity, slot)[id].map { LinkEnds(own: id, other: $0) } }
  }
  func referrers(_ entity: EntityMapping, _ slot: Int, to targets: [Int64]) -> [LinkEnds] {
    column(entity, slot).filter { targets.contains($0.value) }.map { LinkEnds(own: $0.value, other: $0.key) }
  }
  func links(_ table: JoinTable, fromSource: Bool, of ids: [Int64]) -> [LinkEnds] {
    links.map { LinkEnds(own: fromSource ? $0.source : $0.target, other: fromSource ? $0.target : $0.source) }
      .filter { ids.contains($0.own) }
  }
  func entities(of ids: [Int64], _ entity: EntityMapping) -> [(id: Int64, entity: EntityMapping)] {
    ids.map { ($0, entity) }
  }
  func versions(_ entity: EntityMapping, of ids: [Int64]) -> [Int64: Int64] {
    versions.filter { ids.contains($0.key) }
  }
  func freeIDs(_ count: Int, of entity: EntityMapping, highestAssigned: Int64) throws -> RowIDs.Run {
    try RowIDs.Run(after: 40, taken: highestAssigned, count: count, of: entity.name)
  }
  func firesTriggers(_ entity: EntityMapping) -> Bool { false }
  func lastPlace(_ relationship: RelationshipMapping, of owner: Int64) -> Int64? {
    places.filter { $0.owner == owner }.compactMap(\.place).max()
  }
  func places(_ relationship: RelationshipMapping, of owners: [Int64]) throws -> [MemberPlace] {
    guard mayReadMembers || owners.isEmpty else { throw TooMuch() }
    return places.filter { owners.contains($0.owner) }
  }
  func places(_ relationship: RelationshipMapping, of owner: Int64, members: [Int64]) -> [MemberPlace] {
    places.filter { $0.owner == owner && members.contains($0.member) }
  }
  func places(_ relationship: RelationshipMapping, ofMembers members: [Int64]) -> [MemberPlace] {
    places.filter { members.contains($0.member) }
  }
}

/// An `A` with row 1 that is deleted, and a `B` that it may be related to.
final class PlanBench {
  let mapping: SchemaMapping
  let maps: IdentityMaps
  var reader = BenchReader()
  var pending = PendingChanges()
  let owner: ManagedObject
  let member: ManagedObject?
  let kind: PlanKind

  init(_ kind: PlanKind, _ rule: DeleteRule, _ situation: PlanSituation) throws {
    self.kind = kind
    let mapping = try SchemaMapping(Self.schema(kind, rule))
    self.mapping = mapping
    maps = IdentityMaps(mapping.entities) { entity, _ in
      IdentityMap(entity, of: DynamicObject.self) { DynamicObject.make(entity) }
    }
    owner = Self.object(1, .loaded, in: maps[0])
    member =
      switch situation {
      case .inFile: nil
      case .fault: Self.object(1, .fault, in: maps[1])
      case .loaded, .movedAway, .movedHere, .goneElsewhere, .comeElsewhere:
        Self.object(1, .loaded, in: maps[1])
      case .new: Self.object(pending.makeTemporaryID(), .inserted, in: maps[1])
      }
    if situation == .new, let member { pending.didInsert(member) }
    for (end, other) in [(owner, member), (member, owner)] { try relate(end, to: other, in: situation) }
    owner.state = .deleted
    pending.didDelete(owner)
    if kind == .manyToMany || kind == .manyOneWay { relateByLink(situation) }
  }

  // Objects do not retain their map. Otherwise the context does.
  deinit { for object in maps.objects { object.map = nil } }

  func plan(recordsEveryRow: Bool = true) throws -> SavePlan {
    var planner = SavePlanner(
      pending, mapping: mapping, maps: maps, reader: reader, recordsEveryRow: recordsEveryRow)
    return try planner.make()
  }

  /// The state of the objects, as texts that can be compared.
  var memory: [String] {
    maps.objects.map { object in
      let values = (object.entity?.storedSlots ?? []).map { slot in
        let overlay = object.overlay.map { $0.changed.contains(slot) ? "\($0[slot])" : "-" }
        return overlay ?? "none"
      }
      return "\(object.entity?.name ?? "") \(object.rowID) \(object.state) \(object.isRegistered) \(values)"
    }.sorted()
  }

  // MARK: Making

  private static func schema(_ kind: PlanKind, _ rule: DeleteRule) -> Schema {
    let isToMany = kind != .toOne && kind != .oneToOne
    let inverse: String? = kind == .toOne || kind == .manyOneWay ? nil : "a"
    let back = RelationshipDescription(
      name: "a", destination: "A", isToMany: kind == .manyToMany, inverse: kind == .oneToOne ? nil : "b",
      deleteRule: .nullify)
    return Schema(entities: [
      EntityDescription(
        name: "A",
        relationships: [
          RelationshipDescription(
            name: "b", destination: "B", isToMany: isToMany, inverse: inverse, deleteRule: rule)
        ]),
      EntityDescription(name: "B", relationships: inverse == nil ? [] : [back]),
    ])
  }

  private static func object(
    _ id: Int64, _ state: ManagedObject.State, in map: IdentityMap
  ) -> ManagedObject {
    let object = map.make()
    object.map = map
    object.rowID = id
    object.state = state
    if state == .inserted {
      object.overlay = Overlay(slotCount: map.entity.slots.count, changed: map.entity.allStored)
    }
    map.insert(object, for: id)
    return object
  }

  /// Lets a to-one of `end` refer to `other`, in the file and in memory.
  private func relate(
    _ end: ManagedObject?, to other: ManagedObject?, in situation: PlanSituation
  ) throws {
    let isOwner = end === owner
    let entity = mapping.entities[isOwner ? 0 : 1]
    let slot = entity.storedSlots.first { entity.isToOne[$0] }
    if let slot, situation.isRelatedInFile {
      reader.columns["\(entity.name).\(entity.slots[slot].name)"] = [1: 1]
    }
    guard let end, end.state == .loaded || end.state == .inserted else { return }
    let row = Overlay(slotCount: entity.slots.count)
    if let slot, situation.isRelatedInRow { row[slot] = .integer(1) }
    if end.state == .loaded {
      let packed = row.values.packed
      end.row = packed.cells
      end.page = packed.page
      end.rowVersion = 1
    }
    guard let slot, situation.isChanged else { return }
    let overlay = end.overlay ?? Overlay(slotCount: entity.slots.count)
    overlay[slot] = situation == .movedAway ? .null : .integer(isOwner ? other?.rowID ?? 1 : 1)
    overlay.changed.insert(slot)
    end.overlay = overlay
    guard end.state == .loaded else { return }
    end.isRegistered = true
    pending.didChange(end)
  }

  private func relateByLink(_ situation: PlanSituation) {
    guard let (table, isSource) = mapping.entities[0].relationships[0].join else { return }
    if situation.isRelatedInFile { reader.links = [(1, 1)] }
    guard let member, situation.isChanged else { return }
    let (source, target) = isSource ? (owner, member) : (member, owner)
    pending.didLink(source, to: target, in: table, isAdded: situation != .movedAway, isKnown: true)
  }
}
