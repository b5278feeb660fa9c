// Packs the changes of a transaction into bytes while a save writes them, and stores the bytes in the
// history, 64 KiB in a row. So a transaction of any size needs no memory for its history.
//
// The bytes are records. A record begins with its kind, or with 0 if it has the form of the one before it:
//   1  a new object: entity, properties       | id, values
//   2  a changed object: entity, properties   | id, former values, new values
//   3  the same, without former values        | id, new values
//   4  a deleted object: entity, properties   | id, values
//   5  the same, without values: entity       | id
//   6  a new link: relationship               | source, target
//   7  a removed link: relationship           | source, target
//   8  a changed place: relationship          | owner, member, former place, new place
//   9  changes that are not known: entity     |
// Entities and properties are their numbers. An id is the difference to the id of the record before it.

internal import CipherSQLite
internal import Foundation

/// The kinds of records in the history.
enum RecordKind: UInt8 {
  case inserted = 1
  case updated, changed, deleted, removed, linked, unlinked, placed, gap
}

/// Records one transaction. A copy is its state at one moment: what a savepoint undoes is undone by returning
/// to the copy.
struct TransactionRecorder: Sendable {
  private enum Form: Equatable {
    case row(RecordKind, entity: Int, slots: [Int])
    case relationship(RecordKind, UInt64)
  }

  let numbers: HistoryNumbers
  private var writer = ByteWriter()
  private var form: Form?
  private var lastID: Int64 = 0
  /// The id of the head, and the number of parts that were written.
  private var head: (id: Int64, parts: Int64)?

  /// The largest body of a row, in bytes.
  private static let partBytes = 65_536

  init(_ numbers: HistoryNumbers) { self.numbers = numbers }

  var isEmpty: Bool { writer.bytes.isEmpty && head == nil }

  // MARK: Records

  /// Records a new object.
  /// - Parameter put: Writes the value of a slot.
  @inline(__always) mutating func insert(
    _ entity: EntityMapping, id: Int64, put: (inout ByteWriter, _ slot: Int) -> Void
  ) {
    guard numbers.detail(entity) != nil else { return }
    begin(.inserted, of: entity, slots: entity.storedSlots)
    putID(id)
    for slot in entity.storedSlots { put(&writer, slot) }
  }

  /// Records changed values of an object.
  @inline(__always) mutating func update(
    _ entity: EntityMapping, id: Int64, slots: [Int], old: (inout ByteWriter, _ slot: Int) -> Void,
    new: (inout ByteWriter, _ slot: Int) -> Void
  ) {
    guard let detail = numbers.detail(entity) else { return }
    begin(detail == .full ? .updated : .changed, of: entity, slots: slots)
    putID(id)
    if detail == .full { for slot in slots { old(&writer, slot) } }
    for slot in slots { new(&writer, slot) }
  }

  /// Records a deletion.
  @inline(__always) mutating func delete(
    _ entity: EntityMapping, id: Int64, put: (inout ByteWriter, _ slot: Int) -> Void
  ) {
    guard let detail = numbers.detail(entity) else { return }
    let slots = detail == .full ? entity.storedSlots : []
    begin(detail == .full ? .deleted : .removed, of: entity, slots: slots)
    putID(id)
    for slot in slots { put(&writer, slot) }
  }

  /// Records a link that was added or removed.
  mutating func link(_ table: JoinTable, from source: Int64, to target: Int64, isAdded: Bool) {
    guard let number = numbers.number(of: table) else { return }
    begin(.relationship(isAdded ? .linked : .unlinked, number))
    putID(source)
    writer.put(signed: target)
  }

  /// Records a new place of a member in an ordered relationship.
  mutating func place(_ placement: ChangeSet.Placement, in relationship: RelationshipMapping) {
    guard let number = numbers.number(of: relationship) else { return }
    begin(.relationship(.placed, number))
    putID(placement.owner)
    writer.put(signed: placement.member)
    for place in [placement.old, placement.new] { writer.put(place.map { .integer($0) } ?? .null) }
  }

  /// Records that objects of an entity, or of its subentities, were changed in an unknown way.
  mutating func gap(_ entity: EntityMapping) {
    guard entity.branch.contains(where: { numbers.detail($0) != nil }) else { return }
    begin(.relationship(.gap, numbers.number(entity)))
  }

  @inline(__always) private mutating func begin(_ kind: RecordKind, of entity: EntityMapping, slots: [Int]) {
    let new = Form.row(kind, entity: entity.index, slots: slots)
    guard form != new else { return writer.put(byte: 0) }
    form = new
    writer.put(byte: kind.rawValue)
    writer.put(unsigned: numbers.number(entity))
    guard kind != .removed else { return }
    writer.put(unsigned: UInt64(slots.count))
    for slot in slots { writer.put(unsigned: numbers.number(entity, slot: slot)) }
  }

  private mutating func begin(_ new: Form) {
    guard form != new, case .relationship(let kind, let number) = new else { return writer.put(byte: 0) }
    form = new
    writer.put(byte: kind.rawValue)
    writer.put(unsigned: number)
  }

  @inline(__always) private mutating func putID(_ id: Int64) {
    writer.put(signed: id &- lastID)
    lastID = id
  }

  // MARK: The file

  /// Stores complete parts, so that the bytes in memory stay few. Called after records.
  @inline(__always) mutating func store(_ connection: Connection) throws {
    if writer.bytes.count >= Self.partBytes { try storeParts(connection) }
  }

  /// Stores the bytes in parts.
  /// - Parameter isEnd: Whether the last part may be shorter.
  private mutating func storeParts(_ connection: Connection, isEnd: Bool = false) throws {
    var head = try head ?? (id: Self.nextID(connection), parts: 0)
    var start = 0
    while writer.bytes.count - start >= (isEnd ? 1 : Self.partBytes) {
      let end = min(start + Self.partBytes, writer.bytes.count)
      head.parts += 1
      try TransactionTable(connection: connection).appendPart(
        head.id + head.parts, body: .blob(Data(writer.bytes[start..<end])))
      start = end
    }
    // Removed once: removing each part by itself would be quadratic for a large value.
    writer.removeFirst(start)
    self.head = head
  }

  /// Returns the id of the next transaction.
  static func nextID(_ connection: Connection) throws -> Int64 {
    // After a purge of all transactions, their ids are not used again.
    let last =
      try TransactionTable(connection: connection).last() ?? HistoryMark(in: connection)?.sequence ?? 0
    guard (0..<TransactionTable.Head.highest).contains(last) else {
      throw StoreError.bookkeepingDamaged(
        file: connection.path, place: "\(TransactionTable.name), row \(last),", reason: "has an invalid id")
    }
    return last + 1
  }

  /// Stores the rest, and the head. Called before the commit.
  /// - Parameters:
  ///   - version: The version of the model.
  ///   - kind: See ``TransactionTable/Head/kind``.
  mutating func end(
    on connection: Connection, author: String?, name: String?, version: Int, kind: Int64 = 0
  ) throws {
    guard !isEmpty else { return }
    if head != nil || writer.bytes.count > Self.partBytes { try storeParts(connection, isEnd: true) }
    let id = try head?.id ?? Self.nextID(connection)
    try TransactionTable(connection: connection).append(
      .init(
        id: id, parts: head?.parts ?? 0, time: Date().timeIntervalSinceReferenceDate, author: author,
        name: name, version: Int64(version), kind: kind),
      body: head == nil ? .blob(Data(writer.bytes)) : .null)
    self = TransactionRecorder(numbers)
  }
}

extension TransactionRecorder {
  /// Records a change set.
  mutating func record(_ changes: ChangeSet, _ mapping: SchemaMapping, on connection: Connection) throws {
    let names = ChangeNames(mapping: mapping)
    for row in changes.inserted {
      let entity = try names.entity(row.entity)
      insert(entity, id: row.rowID) { $0.put(row.values[entity.slots[$1].name] ?? .null) }
      try store(connection)
    }
    for row in changes.updated {
      let entity = try names.entity(row.entity)
      let slots = try names.slots(of: entity, rowID: row.rowID, values: row.new).map(\.slot)
      update(entity, id: row.rowID, slots: slots) {
        $0.put(row.old[entity.slots[$1].name] ?? .null)
      } new: {
        $0.put(row.new[entity.slots[$1].name] ?? .null)
      }
      try store(connection)
    }
    for (links, isAdded) in [(changes.unlinked, false), (changes.linked, true)] {
      for link in links {
        guard let (table, isSource) = try names.end(of: link).1.join else { continue }
        let ends = isSource ? (link.source, link.target) : (link.target, link.source)
        self.link(table, from: ends.0, to: ends.1, isAdded: isAdded)
        try store(connection)
      }
    }
    for row in changes.deleted {
      let entity = try names.entity(row.entity)
      delete(entity, id: row.rowID) { $0.put(row.values[entity.slots[$1].name] ?? .null) }
      try store(connection)
    }
    for placement in changes.placed {
      place(placement, in: try names.relationship(of: placement))
      try store(connection)
    }
    try gaps(changes.changedBySQL, mapping)
  }

  /// Records entities that were changed in an unknown way.
  mutating func gaps(_ entities: some Sequence<String>, _ mapping: SchemaMapping) throws {
    for name in Set(entities).sorted() {
      if let entity = mapping.entity(named: name) { gap(entity) }
    }
  }
}
