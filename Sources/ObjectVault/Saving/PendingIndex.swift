// The pending objects of a context by the values of their properties, so that a fetch looks at a few of thousands.

internal import CipherSQLite
private import Foundation

/// The new, changed and deleted objects of a context, as fetches ask for them.
///
/// Each fetch takes in the objects that became pending since the last one. Of those that are in it, later writes, refreshes and
/// deletions are told by ``wake(_:)``.
final class PendingIndex {
  /// By the index of each object's own entity.
  private var entities: [Int: ChangedObjects] = [:]
  /// By the index of the entity at the root of the table: the rows of changed and deleted objects.
  private var rows: [Int: Set<Int64>] = [:]
  /// Of these, the rows of deleted objects.
  private var deletedRows: [Int: Set<Int64>] = [:]
  private var seen = (generation: 0, inserted: 0, updated: 0, deleted: 0)
  /// Objects about which something has changed since the last fetch.
  private var woken: [ManagedObject] = []

  /// Takes in what has become pending.
  func update(_ pending: PendingChanges) {
    if seen.generation != pending.generation { clear() }
    let (former, woken) = (seen, woken)
    // All is as it will be when an object is released, which may fetch.
    defer { withExtendedLifetime(woken) {} }
    self.woken = []
    seen = (pending.generation, pending.inserted.count, pending.updated.count, pending.deleted.count)
    for object in pending.inserted[former.inserted...] { takeIn(object, isNew: true) }
    for object in pending.updated[former.updated...] { takeIn(object, isNew: true) }
    for object in woken { takeIn(object, isNew: false) }
    for object in pending.deleted[former.deleted...] where object.rowID > 0 {
      guard let table = object.map?.table else { continue }
      rows[table, default: []].insert(object.rowID)
      deletedRows[table, default: []].insert(object.rowID)
    }
  }

  private func takeIn(_ object: ManagedObject, isNew: Bool) {
    guard let entity = object.entity else { return }
    if isNew, entities[entity.index] == nil { entities[entity.index] = ChangedObjects(of: entity) }
    guard let objects = entities[entity.index] else { return }
    if isNew { objects.append(object) } else { objects.enter(object) }
    guard object.rowID > 0 else { return }
    if object.state == .deleted || object.isChanged {
      rows[entity.root.index, default: []].insert(object.rowID)
    } else {
      rows[entity.root.index]?.remove(object.rowID)
    }
  }

  /// The next fetch looks at an object again, which is written to, refreshed or deleted.
  @inline(__always) func wake(_ object: ManagedObject) {
    guard !entities.isEmpty, object.isRegistered || object.state == .inserted, woken.last !== object else {
      return
    }
    woken.append(object)
  }

  /// Another program has made a row one of another entity: what was written to its object here is lost.
  func lose(_ id: Int64, table: Int) { rows[table]?.remove(id) }

  /// Forgets all.
  func clear() {
    // An object that is released may ask the context something: all is as it will be by then.
    let former = (entities, woken)
    (entities, woken, rows, deletedRows) = ([:], [], [:], [:])
    seen = (0, 0, 0, 0)
    withExtendedLifetime(former) {}
  }

  /// The ids of changed and deleted rows in the table of an entity.
  func rows(of entity: EntityMapping) -> Set<Int64> { rows[entity.root.index] ?? [] }

  /// The ids of rows to be deleted in the table of an entity.
  func deletedRows(of entity: EntityMapping) -> Set<Int64> { deletedRows[entity.root.index] ?? [] }

  /// The new and changed objects of an entity and of those below it, each once.
  func objects(of entity: EntityMapping) -> [ManagedObject] {
    entity.branch.flatMap { entities[$0.index]?.all ?? [] }
  }

  /// Those of them whose property may have one of some values. Who has a value that is none of these may be among them.
  func objects(of entity: EntityMapping, where name: String, isOneOf values: [SQLValue]) -> [ManagedObject] {
    entity.branch.flatMap { entities[$0.index]?.all(where: name, isOneOf: values) ?? [] }
  }

  /// How many objects that would look at.
  func count(of entity: EntityMapping, where name: String, isOneOf values: [SQLValue]) -> Int {
    entity.branch.reduce(0) { $0 + (entities[$1.index]?.count(where: name, isOneOf: values) ?? 0) }
  }
}

/// The new and changed objects of one entity itself.
private final class ChangedObjects {
  // A class, so that no change copies the dictionary.
  /// The objects by the value of one property. One whose value has changed stands under the former value, too.
  private final class Column {
    var objects: [ComparedValue: [ManagedObject]] = [:]
    var entryCount = 0
  }

  private let entity: EntityMapping
  /// All that were ever taken in; who was deleted or refreshed since is left out when it is read.
  private var objects: [ManagedObject] = []
  /// By slot: one for each property that a fetch has compared.
  private var columns: [Int: Column] = [:]

  init(of entity: EntityMapping) { self.entity = entity }

  func append(_ object: ManagedObject) {
    objects.append(object)
    enter(object)
  }

  /// Enters an object by the values that it has.
  func enter(_ object: ManagedObject) {
    for (slot, column) in columns {
      // Where most entries are under former values, the column is made anew by the next fetch that asks for it.
      if column.entryCount > 2 * objects.count + 64 {
        columns[slot] = nil
      } else {
        enter(object, slot, column)
      }
    }
  }

  private func enter(_ object: ManagedObject, _ slot: Int, _ column: Column) {
    guard object.isChanged, let value = object.storedValue(slot) else { return }
    // A setter tells the context of its first write alone, unless it is asked to.
    object.overlay?.tellsNextWrite = true
    column.objects[key(value, slot), default: []].append(object)
    column.entryCount += 1
  }

  private func key(_ value: SQLValue, _ slot: Int) -> ComparedValue {
    ComparedValue(value, isNumber: entity.slots[slot].attribute?.type.isNumeric ?? true)
  }

  var all: [ManagedObject] { objects.filter(\.isChanged) }

  func all(where name: String, isOneOf values: [SQLValue]) -> [ManagedObject] {
    guard let slot = entity.slot(named: name) else { return all }
    let column = columns[slot] ?? made(slot)
    return Set(values.map { key($0, slot) }).flatMap { key in
      let entries = column.objects[key] ?? []
      var seen: Set<ManagedObject> = []
      let present = entries.filter { object in
        object.isChanged && object.storedValue(slot).map { self.key($0, slot) } == key
          && seen.insert(object).inserted
      }
      // Entries of objects that have another value by now would be looked at by each fetch.
      if present.count * 2 < entries.count {
        column.objects[key] = present
        column.entryCount -= entries.count - present.count
      }
      return present
    }
  }

  // Counted without a copy: most objects may have the same value.
  func count(where name: String, isOneOf values: [SQLValue]) -> Int {
    guard let slot = entity.slot(named: name) else { return objects.count }
    let column = columns[slot] ?? made(slot)
    return Set(values.map { key($0, slot) }).reduce(0) { $0 + (column.objects[$1]?.count ?? 0) }
  }

  private func made(_ slot: Int) -> Column {
    let column = Column()
    for object in objects { enter(object, slot, column) }
    columns[slot] = column
    return column
  }
}

extension ManagedObject {
  /// Whether it is new, or differs from its row.
  fileprivate final var isChanged: Bool { state == .inserted || (state == .loaded && overlay != nil) }
}

/// A value as a key. Equal values have equal keys; so may a few others, which the predicate tells apart.
private enum ComparedValue: Hashable {
  case null
  case number(Double)
  case text(String)
  case bytes(Data)

  /// - Parameter isNumber: Whether texts are compared as numbers, as those of a Decimal are.
  init(_ value: SQLValue, isNumber: Bool) {
    switch value {
    case .null: self = .null
    case .integer(let number): self = .number(Double(number))
    case .real(let number): self = .number(number)
    case .text(let text): self = (isNumber ? Double(text) : nil).map(Self.number) ?? .text(text)
    case .blob(let bytes): self = .bytes(bytes)
    }
  }
}
