// Reads the bytes of a transaction that TransactionRecorder has packed.

internal import CipherSQLite

/// The changes of one body, and which of them are wanted.
struct TransactionDecoder {
  /// Which changes a reader wants.
  struct Filter {
    /// The names of the entities; nil for all.
    var entities: Set<String>?
    /// The names of the entities whose unknown changes are wanted; nil for all.
    var gaps: Set<String>?
    var rowID: Int64?
    var property: String?
    /// For relationships of other entities (`MemoTag.memos`) that lead to wanted entities: the inverse.
    var inverses: [String: String] = [:]

    /// Whether only a part of the changes is wanted.
    var isPart: Bool { entities != nil || property != nil }

    fileprivate func takes(_ entity: String, _ id: Int64) -> Bool {
      entities.map { $0.contains(entity) } != false && rowID.map { $0 == id } != false
    }

    /// Whether one end of a link, or of a place, is wanted.
    fileprivate func takes(_ link: ChangeSet.Link) -> Bool {
      if takes(link.entity, link.source), property.map({ $0 == link.relationship }) != false { return true }
      guard let inverse = inverses["\(link.entity).\(link.relationship)"] else { return false }
      return rowID.map { $0 == link.target } != false && property.map { $0 == inverse } != false
    }
  }

  private struct Malformed: Error {}

  private let names: [Int64: (entity: String, property: String?)]
  private let filter: Filter
  private var collector = ChangeCollector()
  /// The properties of new objects that were recorded, nil ones included, if one object is wanted.
  private(set) var recordedProperties: Set<String> = []
  /// Whether all old values are there.
  private(set) var isReversible = true

  init(_ names: [Int64: (entity: String, property: String?)], _ filter: Filter) {
    (self.names, self.filter) = (names, filter)
  }

  /// The changes that were read, without those that cancel each other out.
  var changes: ChangeSet {
    var changes = collector.changes
    // Of several changes of an object in one transaction, their result counts.
    if let property = filter.property {
      changes.inserted.removeAll { $0.values[property] == nil }
      changes.updated = changes.updated.compactMap { update in
        guard let new = update.new[property] else { return nil }
        return ChangeSet.Update(
          entity: update.entity, rowID: update.rowID, old: update.old.filter { $0.key == property },
          new: [property: new])
      }
    }
    return changes
  }

  private enum Form {
    case row(RecordKind, entity: String, properties: [String])
    case relationship(RecordKind, entity: String, name: String)
  }

  /// Reads a body.
  /// - Throws: An error if the bytes are not those of a body.
  mutating func read(_ body: [UInt8]) throws {
    var reader = ByteReader(body)
    var (form, lastID): (Form?, Int64) = (nil, 0)
    func id() throws -> Int64 {
      lastID &+= try reader.signed()
      return lastID
    }
    func entity() throws -> String { try name(reader.unsigned()).entity }
    while !reader.isAtEnd {
      let byte = try reader.byte()
      if byte != 0 {
        guard let kind = RecordKind(rawValue: byte) else { throw Malformed() }
        switch kind {
        case .inserted, .updated, .changed, .deleted:
          let name = try entity()
          let properties = try (0..<reader.count()).map { _ in
            guard let property = try self.name(reader.unsigned()).property else { throw Malformed() }
            return property
          }
          form = .row(kind, entity: name, properties: properties)
        case .removed: form = .row(kind, entity: try entity(), properties: [])
        case .linked, .unlinked, .placed:
          let (name, property) = try name(reader.unsigned())
          guard let property else { throw Malformed() }
          form = .relationship(kind, entity: name, name: property)
        case .gap: form = .relationship(kind, entity: try entity(), name: "")
        }
      }
      switch form {
      case .row(let kind, let entity, let properties):
        try readRow(kind, of: entity, id: id(), properties: properties, &reader)
      case .relationship(.gap, let entity, _):
        guard filter.gaps.map({ $0.contains(entity) }) != false else { continue }
        isReversible = false
        collector.changedBySQL.insert(entity)
      case .relationship(let kind, let entity, let name):
        let ends = ChangeSet.Link(
          entity: entity, relationship: name, source: try id(), target: try reader.signed())
        try readRelationship(kind, ends: ends, &reader)
      case nil: throw Malformed()
      }
    }
  }

  private func name(_ number: UInt64) throws -> (entity: String, property: String?) {
    guard let name = names[Int64(bitPattern: number)] else { throw Malformed() }
    return name
  }

  private mutating func readRow(
    _ kind: RecordKind, of entity: String, id: Int64, properties: [String], _ reader: inout ByteReader
  ) throws {
    func values() throws -> ChangeSet.Values {
      var values: ChangeSet.Values = [:]
      for property in properties { values[property] = try reader.value() }
      return values
    }
    let old = kind == .updated ? try values() : [:]
    let new = kind == .removed ? [:] : try values()
    guard filter.takes(entity, id) else { return }
    if kind == .changed || kind == .removed { isReversible = false }
    switch kind {
    case .inserted:
      if filter.rowID != nil { recordedProperties.formUnion(properties) }
      collector.insert(entity, rowID: id, values: new)
    case .updated: collector.update(entity, rowID: id, old: old, new: new)
    case .changed: collector.change(entity, rowID: id, to: new)
    case .deleted: collector.delete(entity, rowID: id, values: new)
    case .removed: collector.remove(entity, rowID: id)
    case .linked, .unlinked, .placed, .gap: break
    }
  }

  /// Reads the rest of a record about a relationship.
  /// - Parameter ends: The relationship, with the owner and the member of a place as source and target.
  private mutating func readRelationship(
    _ kind: RecordKind, ends: ChangeSet.Link, _ reader: inout ByteReader
  ) throws {
    var places: [Int64?] = []
    if kind == .placed { places = [try reader.value().int64, try reader.value().int64] }
    guard filter.takes(ends) else { return }
    switch kind {
    case .linked: collector.link(ends)
    case .unlinked: collector.unlink(ends)
    case _ where places.count == 2:
      collector.place(
        .init(
          entity: ends.entity, relationship: ends.relationship, owner: ends.source, member: ends.target,
          old: places[0], new: places[1]))
    default: break
    }
  }
}
