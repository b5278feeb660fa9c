// Combines successive changes of rows into one change set: from the state before the first change to the
// state after the last change.

internal import CipherSQLite

struct ChangeCollector {
  private struct Key: Hashable {
    let entity: String
    let rowID: Int64
  }

  private enum Entry {
    case inserted(ChangeSet.Values)
    case updated(old: ChangeSet.Values, new: ChangeSet.Values)
    case deleted(ChangeSet.Values)
    /// Deleted, with unknown values.
    case removed
  }

  /// Here and in the next two properties, `place` is the position of an entry in the order of the
  /// changes. An update that becomes a deletion gets a new position. ``place(_:)`` is about another kind
  /// of place: that of a member in an ordered relationship.
  private var entries: [Key: (entry: Entry, place: Int)] = [:]
  private var links: [ChangeSet.Link: (isAdded: Bool, place: Int)] = [:]
  private var placements: [Member: (old: Int64?, new: Int64?, place: Int)] = [:]
  private var places = 0
  /// The names of the entities that SQL of the program has changed.
  var changedBySQL: Set<String> = []

  /// A member of an ordered relationship.
  private struct Member: Hashable {
    let entity: String
    let relationship: String
    let owner: Int64
    let member: Int64
  }

  init() {}

  mutating func add(_ changes: ChangeSet) {
    for row in changes.inserted { insert(row.entity, rowID: row.rowID, values: row.values) }
    for row in changes.updated { update(row.entity, rowID: row.rowID, old: row.old, new: row.new) }
    for link in changes.unlinked { unlink(link) }
    for row in changes.deleted { delete(row.entity, rowID: row.rowID, values: row.values) }
    for link in changes.linked { self.link(link) }
    for placement in changes.placed { place(placement) }
    changedBySQL.formUnion(changes.changedBySQL)
  }

  /// Adds a new row. Values that are NULL may be omitted.
  mutating func insert(_ entity: String, rowID: Int64, values: ChangeSet.Values) {
    let key = Key(entity: entity, rowID: rowID)
    if case .removed? = entries[key]?.entry { return set(key, .updated(old: [:], new: values)) }
    let values = values.filter { !$0.value.isNull }
    guard case .deleted(let old)? = entries[key]?.entry else { return set(key, .inserted(values)) }
    let names = Set(old.keys).union(values.keys)
    set(key, Self.difference(in: names, from: old, to: values))
  }

  mutating func update(_ entity: String, rowID: Int64, old: ChangeSet.Values, new: ChangeSet.Values) {
    let key = Key(entity: entity, rowID: rowID)
    switch entries[key]?.entry {
    case nil: set(key, Self.difference(in: Set(new.keys), from: old, to: new))
    case .inserted(let values):
      set(key, .inserted(values.merging(new) { $1 }.filter { !$0.value.isNull }))
    case .updated(let first, let present):
      let old = old.merging(first) { $1 }
      set(key, Self.difference(in: Set(old.keys), from: old, to: present.merging(new) { $1 }))
    case .deleted, .removed: break
    }
  }

  /// Adds new values of a row whose old values are unknown.
  mutating func change(_ entity: String, rowID: Int64, to new: ChangeSet.Values) {
    let key = Key(entity: entity, rowID: rowID)
    switch entries[key]?.entry {
    case nil: set(key, .updated(old: [:], new: new))
    case .updated(let old, let present): set(key, .updated(old: old, new: present.merging(new) { $1 }))
    case .inserted, .deleted, .removed: update(entity, rowID: rowID, old: [:], new: new)
    }
  }

  /// Adds the deletion of a row whose values are unknown.
  mutating func remove(_ entity: String, rowID: Int64) {
    let key = Key(entity: entity, rowID: rowID)
    if case .inserted? = entries[key]?.entry { return set(key, nil) }
    entries[key] = (.removed, nextPlace())
  }

  /// Adds the deletion of a row, with the values that it had after the last change that was added.
  mutating func delete(_ entity: String, rowID: Int64, values: ChangeSet.Values) {
    let key = Key(entity: entity, rowID: rowID)
    let values = values.filter { !$0.value.isNull }
    switch entries[key]?.entry {
    case nil: set(key, .deleted(values))
    case .inserted: set(key, nil)
    case .updated(let old, _):
      // The entry gets the position of the deletion, so that owners come before members that they cascade
      // to.
      entries[key] = (.deleted(values.merging(old) { $1 }.filter { !$0.value.isNull }), nextPlace())
    case .deleted, .removed: break
    }
  }

  mutating func link(_ link: ChangeSet.Link) { set(link, true) }
  mutating func unlink(_ link: ChangeSet.Link) { set(link, false) }

  /// Adds a new place of a member.
  mutating func place(_ placement: ChangeSet.Placement) {
    let key = Member(
      entity: placement.entity, relationship: placement.relationship, owner: placement.owner,
      member: placement.member)
    let former = placements[key]
    let old = former.map(\.old) ?? placement.old
    placements[key] = old == placement.new ? nil : (old, placement.new, former?.place ?? nextPlace())
  }

  var isEmpty: Bool { entries.isEmpty && links.isEmpty && placements.isEmpty && changedBySQL.isEmpty }

  var changes: ChangeSet {
    var changes = ChangeSet()
    for (key, (entry, _)) in entries.sorted(by: { $0.value.place < $1.value.place }) {
      switch entry {
      case .inserted(let values):
        changes.inserted.append(.init(entity: key.entity, rowID: key.rowID, values: values))
      case .updated(let old, let new):
        changes.updated.append(.init(entity: key.entity, rowID: key.rowID, old: old, new: new))
      case .deleted(let values):
        changes.deleted.append(.init(entity: key.entity, rowID: key.rowID, values: values))
      case .removed: changes.deleted.append(.init(entity: key.entity, rowID: key.rowID, values: [:]))
      }
    }
    for (link, (isAdded, _)) in links.sorted(by: { $0.value.place < $1.value.place }) {
      if isAdded { changes.linked.append(link) } else { changes.unlinked.append(link) }
    }
    changes.placed = placements.sorted { $0.value.place < $1.value.place }.map { key, change in
      ChangeSet.Placement(
        entity: key.entity, relationship: key.relationship, owner: key.owner, member: key.member,
        old: change.old, new: change.new)
    }
    changes.changedBySQL = changedBySQL.sorted()
    return changes
  }

  private mutating func set(_ key: Key, _ entry: Entry?) {
    guard let entry else {
      entries[key] = nil
      return
    }
    entries[key] = (entry, entries[key]?.place ?? nextPlace())
  }

  private mutating func set(_ link: ChangeSet.Link, _ isAdded: Bool) {
    if let present = links[link] {
      if present.isAdded != isAdded { links[link] = nil }
    } else {
      links[link] = (isAdded, nextPlace())
    }
  }

  private mutating func nextPlace() -> Int {
    places += 1
    return places
  }

  /// Returns the update from one state to another, limited to the given properties; nil if none of them
  /// differs.
  private static func difference(in names: Set<String>, from old: ChangeSet.Values, to new: ChangeSet.Values)
    -> Entry?
  {
    var (before, after): (ChangeSet.Values, ChangeSet.Values) = ([:], [:])
    for name in names {
      let (from, to) = (old[name] ?? .null, new[name] ?? .null)
      guard !from.isStored(as: to) else { continue }
      (before[name], after[name]) = (from, to)
    }
    return after.isEmpty ? nil : .updated(old: before, new: after)
  }
}
