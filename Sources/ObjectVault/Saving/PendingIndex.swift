// An index of a context's pending objects by the values of their properties, so that a fetch checks only
// a few of thousands of objects.

internal import CipherSQLite
private import Foundation

/// The new, changed and deleted objects of a context, for fetches.
///
/// Each fetch adds the objects that became pending since the last one. ``wake(_:)`` reports later writes,
/// refreshes and deletions of objects that are already in the index.
final class PendingIndex {
  /// The objects, by the index of each object's own entity.
  private var entities: [Int: ChangedObjects] = [:]
  /// The rows of changed and deleted objects, by the index of the table's root entity.
  private var rows: [Int: Set<Int64>] = [:]
  /// The rows of deleted objects alone.
  private var deletedRows: [Int: Set<Int64>] = [:]
  private var seen = (generation: 0, inserted: 0, updated: 0, deleted: 0)
  /// Objects that have changed since the last fetch.
  private var woken: [ManagedObject] = []

  /// Adds what has become pending since the last update.
  func update(_ pending: PendingChanges) {
    if seen.generation != pending.generation { clear() }
    let (former, woken) = (seen, woken)
    // Releasing an object may run a fetch, so all state is final before that.
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

  /// Marks an object that is written to, refreshed or deleted, so that the next fetch checks it again.
  @inline(__always) func wake(_ object: ManagedObject) {
    guard !entities.isEmpty, object.isRegistered || object.state == .inserted, woken.last !== object else {
      return
    }
    woken.append(object)
  }

  /// Removes the row of an object whose changes are lost, because another program has moved the row to
  /// another entity.
  func lose(_ id: Int64, table: Int) { rows[table]?.remove(id) }

  /// Empties the index.
  func clear() {
    // Releasing an object may run code that uses the context, so all state is final before that.
    let former = (entities, woken)
    (entities, woken, rows, deletedRows) = ([:], [], [:], [:])
    seen = (0, 0, 0, 0)
    withExtendedLifetime(former) {}
  }

  /// The ids of changed and deleted rows in the table of an entity.
  func rows(of entity: EntityMapping) -> Set<Int64> { rows[entity.root.index] ?? [] }

  /// The ids of the rows to be deleted in the table of an entity.
  func deletedRows(of entity: EntityMapping) -> Set<Int64> { deletedRows[entity.root.index] ?? [] }

  /// Returns the new and changed objects of an entity and its subentities, each once.
  func objects(of entity: EntityMapping) -> [ManagedObject] {
    entity.branch.flatMap { entities[$0.index]?.all ?? [] }
  }

  /// Returns the new and changed objects of an entity and its subentities whose property may have one of
  /// `values`. The result may include objects with other values.
  func objects(of entity: EntityMapping, where name: String, isOneOf values: [SQLValue]) -> [ManagedObject] {
    entity.branch.flatMap { entities[$0.index]?.all(where: name, isOneOf: values) ?? [] }
  }

  /// Returns the number of objects that ``objects(of:where:isOneOf:)`` would check.
  func count(of entity: EntityMapping, where name: String, isOneOf values: [SQLValue]) -> Int {
    entity.branch.reduce(0) { $0 + (entities[$1.index]?.count(where: name, isOneOf: values) ?? 0) }
  }
}

/// The new and changed objects of one entity, without its subentities.
private final class ChangedObjects {
  // A class, so that no change copies the dictionary.
  /// The objects by the value of one property. An object whose value has changed is also listed under its
  /// earlier values.
  private final class Column {
    var objects: [ComparedValue: [ManagedObject]] = [:]
    var entryCount = 0
  }

  private let entity: EntityMapping
  /// All objects that were ever added. Objects that were deleted or refreshed since are skipped on
  /// reading.
  private var objects: [ManagedObject] = []
  /// The columns by slot: one for each property that a fetch has compared.
  private var columns: [Int: Column] = [:]

  init(of entity: EntityMapping) { self.entity = entity }

  func append(_ object: ManagedObject) {
    objects.append(object)
    enter(object)
  }

  /// Adds an object to all columns, by its present values.
  func enter(_ object: ManagedObject) {
    for (slot, column) in columns {
      // If most entries are under earlier values, the column is discarded, and the next fetch that needs
      // it builds it again.
      if column.entryCount > 2 * objects.count + 64 {
        columns[slot] = nil
      } else {
        enter(object, slot: slot, in: column)
      }
    }
  }

  private func enter(_ object: ManagedObject, slot: Int, in column: Column) {
    guard object.isChanged, let value = object.storedValue(slot) else { return }
    // Setters notify the context only of the first write to an object, unless `notifiesNextWrite` is set.
    object.overlay?.notifiesNextWrite = true
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
      // Otherwise each fetch would check the entries of objects that have another value by now.
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
    for object in objects { enter(object, slot: slot, in: column) }
    columns[slot] = column
    return column
  }
}

extension ManagedObject {
  /// Whether it is new or differs from its row.
  fileprivate final var isChanged: Bool { state == .inserted || (state == .loaded && overlay != nil) }
}

/// A value as a dictionary key. Equal values have equal keys. Some different values also have equal keys;
/// the predicate distinguishes them.
private enum ComparedValue: Hashable {
  case null
  case number(Double)
  case text(String)
  case bytes(Data)

  /// Creates the key of a value.
  /// - Parameter isNumber: Whether texts are compared as numbers, as the values of a Decimal are.
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
