// The properties that an export names, and their values in objects.

internal import CipherSQLite

// A class: the properties of subentities are found when the first such object is exported.
/// The properties that an export names: of an object, and of the objects that it refers to.
final class EncodedPaths {
  /// A property, with the paths through it if it is a relationship.
  private struct Part {
    let slot: Int
    let key: String
    let inner: EncodedPaths?
  }

  /// The most names that a path may have. Each is a level of the export.
  private static let longest = 64

  private let entity: EntityMapping
  private let mapping: JSONMapping
  /// Whether all attributes of the objects are included, those of subentities, too.
  private let includesAll: Bool
  /// The properties that are named, in their order.
  private let named: [(slot: Int, inner: EncodedPaths?)]
  /// The properties by the index of an object's own entity.
  private var parts: [Int: [Part]] = [:]

  /// - Parameters:
  ///   - paths: The paths; an empty one stands for all attributes.
  ///   - entity: The entity of the objects.
  /// - Throws: ``StoreError/noProperty(entity:property:similar:)``,
  ///   ``StoreError/propertyMisused(entity:property:reason:)``.
  init(_ paths: [[String]], of entity: EntityMapping, _ mapping: JSONMapping) throws(StoreError) {
    (self.entity, self.mapping) = (entity, mapping)
    includesAll = paths.contains { $0.isEmpty }
    var order: [Int] = []
    var inner: [Int: [[String]]] = [:]
    for path in paths {
      guard let name = path.first else { continue }
      guard let slot = entity.slot(named: name) else {
        throw .noProperty(
          entity: entity.name, property: name, similar: nearest(name, among: entity.slots.map(\.name)))
      }
      guard path.count == 1 || entity.slots[slot].relationship != nil else {
        throw .propertyMisused(
          entity: entity.name, property: name, reason: "is an attribute, and no path goes through one")
      }
      guard path.count <= Self.longest else {
        throw .propertyMisused(
          entity: entity.name, property: name, reason: "is in a path of more than \(Self.longest) names")
      }
      if inner[slot] == nil { order.append(slot) }
      inner[slot, default: []].append(Array(path.dropFirst()))
    }
    var named: [(slot: Int, inner: EncodedPaths?)] = []
    for slot in order {
      guard let destination = entity.slots[slot].relationship?.destination else {
        named.append((slot, nil))
        continue
      }
      named.append((slot, try EncodedPaths(inner[slot] ?? [[]], of: destination, mapping)))
    }
    self.named = named
  }

  /// Reads the paths of a call; none stands for all attributes.
  convenience init(
    named paths: [String], of entity: EntityMapping, _ mapping: JSONMapping
  ) throws(StoreError) {
    try self.init(paths.isEmpty ? [[]] : paths.map(\.pathNames), of: entity, mapping)
  }

  /// The paths of the relationships, for a prefetch.
  var relationships: [String] {
    named.flatMap { slot, inner -> [String] in
      guard let inner else { return [] }
      let name = entity.slots[slot].name
      return [name] + inner.relationships.map { "\(name).\($0)" }
    }
  }

  /// Returns an object with the values of the properties.
  func encoded(_ object: ManagedObject) throws -> EncodedObject {
    let own = object.origin ?? entity
    return EncodedObject(
      members: try parts(of: own).map { part in
        let info = own.slots[part.slot]
        guard let inner = part.inner, let relationship = info.relationship else {
          let value = try object.value(info.name)
          return (part.key, .stored(value, info.attribute?.type ?? .string, mapping.dates))
        }
        let encoded = try object.related(through: relationship).map(inner.encoded)
        if relationship.isToMany { return (part.key, .list(encoded)) }
        return (part.key, encoded.first.map(EncodedObject.Value.object) ?? .none)
      })
  }

  private func parts(of own: EntityMapping) throws(StoreError) -> [Part] {
    if let known = parts[own.index] { return known }
    let keys = try KeyMap(own, mapping.names).keys
    let slots = Set(named.map(\.slot))
    let all =
      includesAll ? own.slots.indices.filter { own.slots[$0].attribute != nil && !slots.contains($0) } : []
    // Inherited properties have the same slots as in the parent.
    let found =
      all.map { Part(slot: $0, key: keys[$0], inner: nil) }
      + named.map { Part(slot: $0.slot, key: keys[$0.slot], inner: $0.inner) }
    parts[own.index] = found
    return found
  }
}

extension ManagedObject {
  /// Returns the objects at the other end of a relationship: in their order, or by their ids.
  func related(through relationship: RelationshipMapping) throws -> [ManagedObject] {
    let slot = relationship.slot
    if !relationship.isToMany {
      _ = try value(relationship.name)
      return toOneTarget(slot).flatMap { $0.state == .deleted ? nil : [$0] } ?? []
    }
    guard state != .invalid else { throw StoreError.objectGone(entity: nameOfEntity, rowID: rowID) }
    if state != .inserted { try loadMembers(slot) }
    if relationship.isOrdered {
      return readToMany(UInt16(slot), as: [ManagedObject].self) { \ManagedObject.state }
    }
    let members = readToMany(UInt16(slot), as: Set<ManagedObject>.self) { \ManagedObject.state }
    return members.sorted { $0.visibleRowID < $1.visibleRowID }
  }
}
