// Inserts or updates an object for each row: the objects of a block of rows are found by one query.

internal import CipherSQLite

/// How the key of a row is found.
struct KeyForm<Row> {
  let names: [String]
  /// Returns the values of the key that a row has.
  let parts: (Row, UniqueKey) throws -> [KeyPart]

  init(_ names: [String], _ parts: @escaping (Row, UniqueKey) throws -> [KeyPart]) {
    (self.names, self.parts) = (names, parts)
  }
}

/// One upsert.
struct Upsert<Object: ManagedObject, ID: Hashable & Sendable, Row> {
  private let target: BulkTarget<Object, ID>
  private let key: UniqueKey
  private let lookup: KeyLookup
  private(set) var report: UpsertReport<ID>
  /// The position of the next row.
  private var position = 0

  /// Returns the values of the key that a row has.
  typealias KeyParts = (Row, UniqueKey) throws -> [KeyPart]
  typealias Update = (Object, Row) throws -> Void

  /// Creates an upsert.
  /// - Throws: The errors of ``UniqueKey/init(_:of:)``; why objects cannot be changed now.
  init(_ target: BulkTarget<Object, ID>, on names: [String], withIDs: Bool) throws {
    key = try UniqueKey(names, of: target.entity)
    if let refusal = target.context.refusal { throw refusal }
    self.target = target
    lookup = KeyLookup(key, in: target.context)
    report = UpsertReport(withIDs: withIDs)
  }

  /// Upserts all rows, without a save.
  mutating func run(_ blocks: RowBlocks<Row>, by parts: KeyParts, _ update: Update) throws
    -> UpsertReport<ID>
  {
    while let block = try blocks.next(500) { _ = try run(block, by: parts, update) }
    return report
  }

  /// Upserts all rows, and saves after each block but the last one, whose save is that of the transaction.
  mutating func run(saving blocks: RowBlocks<Row>, by parts: KeyParts, _ update: Update) throws
    -> UpsertReport<ID>
  {
    var size = BlockSize()
    while let block = try blocks.next(size.count) {
      try target.context.saveBlock()
      size.didWrite(rows: block.count, bytes: try run(block, by: parts, update))
    }
    return report
  }

  /// Upserts the rows of a block.
  /// - Returns: The bytes of the values that were written.
  private mutating func run(_ block: [Row], by parts: KeyParts, _ update: Update) throws -> Int {
    var bytes = 0
    var keys: [KeyValues] = []
    keys.reserveCapacity(block.count)
    for row in block { keys.append(try key.values(try parts(row, key), row: position + keys.count)) }
    var known = try lookup.stored(keys)
    // Rises when a closure saves or rolls back: then the query does not describe the file any more.
    let generation = target.context.pending.generation
    for number in block.indices {
      let (row, values) = (block[number], keys[number])
      let isStale = target.context.pending.generation != generation
      var found = isStale ? try lookup.one(values) : nil
      if !isStale {
        found =
          try known[values].flatMap { lookup.has($0, values) ? try lookup.checked($0) : nil }
          ?? lookup.pendingObject(values)
      }
      let object: Object
      if let found = found as? Object {
        object = found
        try change(object) { try update(object, row) }
      } else {
        object = try target.insert(values, of: key) { try update($0, row) }
        report.inserted += 1
        if report.ids != nil { report.ids?.inserted.append(target.id(object)) }
      }
      known[values] = object
      bytes += object.withOverlay { $0.values.byteCount } ?? 0
      position += 1
    }
    return bytes
  }

  /// Calls the closure for an object that exists.
  private mutating func change(_ object: Object, _ update: () throws -> Void) throws {
    let context = target.context
    if let refusal = context.refusal { throw refusal }
    let before = ObjectValues(object, in: context)
    try update()
    if before.differ(from: object, in: context) {
      report.updated += 1
      if report.ids != nil { report.ids?.updated.append(target.id(object)) }
    } else {
      report.unchanged += 1
      if report.ids != nil { report.ids?.unchanged.append(target.id(object)) }
    }
  }
}

/// The values of an object before a change.
struct ObjectValues {
  /// A copy of the pending values; nil if there are none.
  private let overlay: Overlay?
  private let memberCounts: [Int]
  private let gainCount: Int

  init(_ object: ManagedObject, in context: ObjectContext) {
    overlay = object.overlay.map(Overlay.init(copy:))
    memberCounts = Self.memberCounts(object)
    gainCount = context.pending.gained.recentCount
  }

  /// The numbers of members that were added to and removed from each to-many. A to-many is compared by them,
  /// because a copy of its members would be made again for each row.
  private static func memberCounts(_ object: ManagedObject) -> [Int] {
    var counts: [Int] = []
    object.toMany.forEach { counts += [$0.added.count, $0.removed.count, $0.isRearranged ? 1 : 0] }
    return counts
  }

  /// Returns whether the object has other values now. If it has its row's values and had no changes before,
  /// its pending values are discarded, so that the save writes nothing.
  func differ(from object: ManagedObject, in context: ObjectContext) -> Bool {
    guard object.state == .loaded || object.state == .inserted, let entity = object.entity else {
      return true
    }
    // A to-many that was only read has its members now, and no changes.
    let counts = Self.memberCounts(object)
    let hasMembers =
      counts != memberCounts
      && !(counts.dropFirst(memberCounts.count).allSatisfy { $0 == 0 } && counts.starts(with: memberCounts))
    if hasMembers || context.pending.gained.hasGained(object, since: gainCount) { return true }
    guard let now = object.overlay else { return overlay != nil }
    if now.refused != nil { return true }
    for slot in entity.storedSlots where now.changed.contains(slot) {
      guard let former = value(slot, of: object), former.isStored(as: now[slot]) else { return true }
    }
    if overlay == nil { context.discardEqualValues(of: object) }
    return false
  }

  private func value(_ slot: Int, of object: ManagedObject) -> SQLValue? {
    if let overlay, overlay.changed.contains(slot) { return overlay[slot] }
    return object.packedCell(slot).flatMap { $0.isAbsent ? nil : $0.value }
  }
}

extension ObjectContext {
  /// Discards the pending values of an object that equal its row.
  fileprivate func discardEqualValues(of object: ManagedObject) {
    // An undo manager has recorded the writes.
    guard undoes == nil, object.state == .loaded, object.isRegistered else { return }
    discardPendingValues(of: object)
  }
}
