// What is pending in a context, as a fetch sees it: who differs from the file, and who goes with deleted objects.

internal import CipherSQLite

/// The objects of a context whose part in a fetch the file cannot tell.
final class PendingObjects {
  /// By the index of each object's own entity: who is new, changed or deleted, or has other members than in the file.
  private var changed: [[ManagedObject]]
  /// By the entity's index: who goes with deleted objects by their delete rules, which the save applies.
  private var doomed: [GatheredRowIDs]
  /// The same with those of the entities below, of each that was asked for.
  private var branches: [Int: RowIDSet] = [:]
  private var seen: Set<ManagedObject> = []
  /// The indexes of those that the fetch looks at.
  private let entities: Set<Int>

  init(_ context: ObjectContext, of entities: Set<Int>, _ related: inout RelatedRows) throws {
    self.entities = entities
    changed = Array(repeating: [], count: context.maps.count)
    doomed = Array(repeating: GatheredRowIDs(), count: context.maps.count)
    for object in context.pending.inserted where object.state == .inserted { note(object) }
    for object in context.pending.updated where object.overlay != nil { note(object) }
    for object in context.pending.deleted where object.state == .deleted { note(object) }
    for object in context.pending.touched { note(object) }
    for gain in context.pending.gained.all { note(gain.owner) }
    for link in context.pending.links.values {
      note(link.source)
      note(link.target)
    }
    for object in context.pending.waiting.values.joined() { note(object) }
    try followRules(context, &related)
  }

  private func note(_ object: ManagedObject) {
    guard let index = object.entity?.index, entities.contains(index), seen.insert(object).inserted else {
      return
    }
    changed[index].append(object)
  }

  /// Whether the object is there once what is pending is saved.
  func isPresent(_ object: ManagedObject) -> Bool {
    switch object.state {
    case .inserted, .fault, .loaded:
      object.entity.map { doomed[$0.index].contains(object.rowID) } == false
    case .deleted, .invalid, .detached: false
    }
  }

  /// The objects of an entity, and of those below it, that differ from the file.
  func changed(_ entity: EntityMapping) -> [ManagedObject] {
    entity.hasChildren ? entity.branch.flatMap { changed[$0.index] } : changed[entity.index]
  }

  /// The rows of an entity, and of those below it, that go.
  func doomedRows(of entity: EntityMapping) -> RowIDSet {
    if let known = branches[entity.index] { return known }
    let all =
      entity.hasChildren
      ? entity.branch.reduce(into: RowIDSet()) { $0.formUnion(doomed[$1.index].all) }
      : doomed[entity.index].all
    branches[entity.index] = all
    return all
  }

  /// The rows of an entity, and of those below it, that memory decides about, whether they are in memory or go with others.
  func rows(of entity: EntityMapping) -> Set<Int64> {
    Set(doomedRows(of: entity))
      .union(changed(entity).lazy.filter { $0.state != .inserted && $0.rowID > 0 }.map(\.rowID))
  }

  /// Level by level: who goes with the deleted objects, who goes with them, and so on.
  private func followRules(_ context: ObjectContext, _ related: inout RelatedRows) throws {
    let entities = context.core.mapping.entities
    // Of entities of which something goes, and of no others: a chain of entities has as many levels as it has entities.
    var level = context.pending.deletedIDs()
    while !level.isEmpty {
      var next: [Int: RowIDSet] = [:]
      for (index, ids) in level.sorted(by: { $0.key < $1.key }) {
        let entity = entities[index]
        doomed[index].formUnion(ids)
        for relationship in entity.relationships where relationship.deleteRule == .cascade {
          let links = try related.links(relationship, of: ids)
          let destination = relationship.destination
          for (entity, some) in try related.byEntity(RowIDSet(links.lazy.map(\.other)), destination) {
            next[entity.index, default: RowIDSet()].formUnion(some)
          }
        }
      }
      level = Dictionary(
        uniqueKeysWithValues: next.map { index, ids in (index, ids.filter { !doomed[index].contains($0) }) }
          .filter { !$0.1.isEmpty })
    }
  }
}

/// An object that is asked for its attributes only.
struct PlainSubject: PredicateSubject {
  let object: ManagedObject

  var subjectID: Int64 { object.knownRowID }
  func value(of attribute: String) -> SQLValue {
    object.entity?.slot(named: attribute).flatMap { object.storedValue($0) } ?? .null
  }
  func target(of relationship: String) -> PlainSubject? { nil }
  func members(of relationship: String) -> [PlainSubject] { [] }
}
