// JSON objects, read by the model: their attributes in stored form, and the objects that they refer to.

internal import CipherSQLite
private import Foundation

// A class: a large JSON text has many objects, which refer to each other.
/// One object of a JSON text.
final class DecodedObject {
  let entity: EntityMapping
  /// The place in the JSON.
  let place: String
  var values: [(slot: Int, value: SQLValue)] = []
  var targets: [(slot: Int, target: DecodedTarget)] = []
  var members: [(slot: Int, members: [DecodedTarget])] = []

  /// The other ends of all relationships.
  var others: [DecodedTarget] { targets.map(\.target) + members.flatMap(\.members) }

  init(entity: EntityMapping, place: String) { (self.entity, self.place) = (entity, place) }
}

/// The other end of a relationship in JSON: an object, or the identity of one.
enum DecodedTarget: DecodableWithConfiguration {
  case none
  case object(DecodedObject)
  case identity(SQLValue, of: EntityMapping, place: String)

  /// What is expected at a place of the JSON.
  struct Expected {
    let entity: EntityMapping
    let reading: JSONReading
  }

  init(from decoder: any Decoder, configuration: Expected) throws {
    let (entity, reading) = (configuration.entity, configuration.reading)
    if let container = try? decoder.container(keyedBy: JSONKey.self) {
      self = .object(try reading.object(of: entity, in: container, at: decoder.codingPath))
      return
    }
    if try decoder.singleValueContainer().decodeNil() {
      self = .none
      return
    }
    let place = decoder.codingPath.shownJSONPath
    if (try? decoder.unkeyedContainer()) != nil {
      throw StoreError.jsonRefused(
        place: place, reason: "an object of \(entity.name) is needed, and the JSON value is an array")
    }
    guard let identity = try reading.identity(of: entity) else {
      throw StoreError.jsonRefused(
        place: place,
        reason: "an object of \(entity.name) is needed, and the JSON value is not one. \(entity.name) has no "
          + "unique attribute that the value could be")
    }
    let value = try DecodedValue(
      from: decoder,
      configuration: .init(entity: entity, slot: identity.slots[0], dates: reading.mapping.dates))
    self = .identity(value.stored, of: entity, place: place)
  }
}

/// The objects of a whole JSON text: one, or an array of them.
struct DecodedObjects: DecodableWithConfiguration {
  let objects: [DecodedObject]

  init(from decoder: any Decoder, configuration: DecodedTarget.Expected) throws {
    func object(_ target: DecodedTarget, _ place: String) throws -> DecodedObject {
      if case .object(let object) = target { return object }
      throw StoreError.jsonRefused(
        place: place,
        reason: "an object of \(configuration.entity.name) is needed, and the JSON value is not one")
    }
    guard var list = try? decoder.unkeyedContainer() else {
      objects = [try object(DecodedTarget(from: decoder, configuration: configuration), "")]
      return
    }
    var objects: [DecodedObject] = []
    while !list.isAtEnd {
      let place = "[\(list.currentIndex)]"
      objects.append(try object(list.decode(DecodedTarget.self, configuration: configuration), place))
    }
    self.objects = objects
  }
}

/// What reading one JSON text needs: the model, the mapping, and the keys that were not known.
final class JSONReading {
  let mapping: JSONMapping
  private(set) var unknownKeys: [String: Int] = [:]
  private var keyMaps: [Int: KeyMap] = [:]
  private var identities: [Int: UniqueKey?] = [:]

  /// - Throws: ``StoreError/noEntity(name:similar:)`` for an identity of an entity that the model does not
  ///   have.
  init(_ mapping: JSONMapping, of model: SchemaMapping) throws(StoreError) {
    self.mapping = mapping
    for name in mapping.identities.keys.sorted() { _ = try model.known(name) }
  }

  /// Returns the unique attribute by which objects of an entity are found; nil if there is none.
  func identity(of entity: EntityMapping) throws -> UniqueKey? {
    if let known = identities[entity.index] { return known }
    let first = entity.uniqueKeys.first { $0.count == 1 && entity.slots[$0[0]].attribute != nil }
    var (given, owner): (String?, EntityMapping?) = (nil, entity)
    while given == nil, let next = owner { (given, owner) = (mapping.identities[next.name], next.parent) }
    let name = given ?? first.map { entity.slots[$0[0]].name }
    let key = try name.map { try UniqueKey([$0], of: entity) }
    identities[entity.index] = .some(key)
    return key
  }

  private func keyMap(of entity: EntityMapping) throws -> KeyMap {
    if let known = keyMaps[entity.index] { return known }
    let map = try KeyMap(entity, mapping.names)
    keyMaps[entity.index] = map
    return map
  }

  /// Reads an object.
  func object(
    of entity: EntityMapping, in container: KeyedDecodingContainer<JSONKey>, at path: [any CodingKey]
  ) throws -> DecodedObject {
    let map = try keyMap(of: entity)
    let object = DecodedObject(entity: entity, place: path.shownJSONPath)
    var found: [(slot: Int, key: JSONKey)] = []
    for key in container.allKeys {
      if let slot = map.slots[key.stringValue] {
        found.append((slot, key))
        continue
      }
      guard mapping.unknownKeys == .counted else {
        throw StoreError.jsonRefused(
          place: (path + [key]).shownJSONPath,
          reason: "\(entity.name) has no property with the key \"\(key.stringValue)\""
            + (didYouMean(nearest(key.stringValue, among: map.keys)).map { "; \($0)" } ?? ""))
      }
      unknownKeys["\(entity.name).\(key.stringValue)", default: 0] += 1
    }
    // In the order of the properties: a container has its keys in any order.
    for (slot, key) in found.sorted(by: { $0.slot < $1.slot }) {
      guard let relationship = entity.slots[slot].relationship else {
        let place = DecodedValue.Place(entity: entity, slot: slot, dates: mapping.dates)
        let value = try container.decode(DecodedValue.self, forKey: key, configuration: place)
        object.values.append((slot, value.stored))
        continue
      }
      let expected = DecodedTarget.Expected(entity: relationship.destination, reading: self)
      guard relationship.isToMany else {
        let target = try container.decode(DecodedTarget.self, forKey: key, configuration: expected)
        object.targets.append((slot, target))
        continue
      }
      object.members.append((slot, try members(in: container, key, expected)))
    }
    return object
  }

  private func members(
    in container: KeyedDecodingContainer<JSONKey>, _ key: JSONKey, _ expected: DecodedTarget.Expected
  ) throws -> [DecodedTarget] {
    if try container.decodeNil(forKey: key) { return [] }
    guard var list = try? container.nestedUnkeyedContainer(forKey: key) else {
      throw StoreError.jsonRefused(
        place: (container.codingPath + [key]).shownJSONPath,
        reason: "an array of objects of \(expected.entity.name) is needed, and the JSON value is not one")
    }
    var members: [DecodedTarget] = []
    while !list.isAtEnd {
      let place = "\((container.codingPath + [key]).shownJSONPath)[\(list.currentIndex)]"
      let member = try list.decode(DecodedTarget.self, configuration: expected)
      if case .none = member {
        throw StoreError.jsonRefused(
          place: place, reason: "an object of \(expected.entity.name) is needed, and the JSON value is null")
      }
      members.append(member)
    }
    return members
  }
}
