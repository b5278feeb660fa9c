// The objects of a store as plain values, each with a key, and what composite operations do to them.

import CipherSQLite
import ObjectVault

/// The content of a store, independent of its ids and tables.
struct PlainObjects: Equatable {
  struct Object: Equatable {
    var entity: String
    var values: [String: SQLValue] = [:]
    /// The keys of the objects that to-ones reference.
    var toOnes: [String: Int] = [:]
  }
  var objects: [Int: Object] = [:]
  /// The pairs of keys that each end of a many-to-many links, by `Entity.relationship`.
  var links: [String: Set<[Int]>] = [:]

  init() {}

  /// Reads the content of a file.
  init(_ connection: Connection, _ model: Schema) throws {
    var keys: [String: [Int64: Int]] = [:]
    var rows: [(root: String, id: Int64, columns: [String: SQLValue])] = []
    for root in model.roots {
      let names = try connection.tableInfo(root.name).columns.map(\.name)
      for row in try connection.rows("SELECT * FROM \(identifier: root.name)") {
        let columns = Dictionary(uniqueKeysWithValues: zip(names, row))
        guard let id = columns["id"]?.int64 else { continue }
        rows.append((root.name, id, columns))
        keys[root.name, default: [:]][id] = columns["key"]?.int64.map { Int($0) }
      }
    }
    // An object that an operation made has no key. It is identified by the object that references it, or by
    // the objects that it references.
    for _ in 0..<2 {
      for (root, id, columns) in rows {
        let entity = columns["_entity"]?.string ?? root
        guard let own = model.flattenedEntity(named: entity) else { continue }
        var ends: [Int] = []
        for toOne in own.relationships where !toOne.isToMany {
          guard let other = columns["\(toOne.name)_id"]?.int64 else { continue }
          let place = model.root(of: toOne.destination)
          if let key = keys[place]?[other] {
            ends.append(key)
          } else if let key = keys[root]?[id] {
            keys[place, default: [:]][other] = key + Self.made
          }
        }
        if keys[root]?[id] == nil, ends.count == 2 { keys[root, default: [:]][id] = Self.link(ends) }
      }
    }
    for (root, id, columns) in rows {
      guard let key = keys[root]?[id] else { continue }
      var object = Object(entity: columns["_entity"]?.string ?? root)
      guard let own = model.flattenedEntity(named: object.entity) else { continue }
      for attribute in own.attributes where attribute.name != "key" {
        object.values[attribute.name] = columns[attribute.name].flatMap { $0 == .null ? nil : $0 }
      }
      for toOne in own.relationships where !toOne.isToMany {
        object.toOnes[toOne.name] = columns["\(toOne.name)_id"]?.int64.flatMap {
          keys[model.root(of: toOne.destination)]?[$0] ?? -1
        }
      }
      objects[key] = object
    }
    for (name, relationship, owner) in Self.manyToMany(model) {
      let other = relationship.inverse.map { "\(relationship.destination)_\($0)" }
      let own = "\(owner)_\(relationship.name)"
      let isSource = other.map { own < $0 } ?? true
      let pairs = try connection.rows("SELECT * FROM \(identifier: isSource ? own : other ?? own)").map {
        row in
        let (first, second) = (row[0].int64 ?? 0, row[1].int64 ?? 0)
        let (left, right) = isSource ? (first, second) : (second, first)
        return [
          keys[model.root(of: owner)]?[left] ?? -1,
          keys[model.root(of: relationship.destination)]?[right] ?? -1,
        ]
      }
      links[name] = Set(pairs)
    }
  }

  static let made = 10_000
  static func link(_ ends: [Int]) -> Int { 1_000_000 + (ends[0] * 1000 + ends[1]) }

  /// The ends of many-to-many relationships.
  static func manyToMany(_ model: Schema) -> [(
    name: String, relationship: RelationshipDescription, owner: String
  )] {
    model.entities.flatMap { entity in
      entity.relationships.filter { relationship in
        relationship.isToMany
          && relationship.inverse.flatMap {
            model.entity(named: relationship.destination)?.relationship(named: $0)
          }?.isToMany != false
      }.map { ("\(entity.name).\($0.name)", $0, entity.name) }
    }
  }

  /// Removes what the model has no place for, and adds empty sets for many-to-manys without links.
  mutating func fit(_ model: Schema) {
    for (key, object) in objects {
      guard let own = model.flattenedEntity(named: object.entity) else {
        objects[key] = nil
        continue
      }
      let attributes = Set(own.attributes.map(\.name))
      let toOnes = Set(own.relationships.filter { !$0.isToMany }.map(\.name))
      objects[key]?.values = object.values.filter { attributes.contains($0.key) }
      objects[key]?.toOnes = object.toOnes.filter { toOnes.contains($0.key) }
    }
    let there = objects
    for key in there.keys {
      objects[key]?.toOnes = there[key]?.toOnes.filter { there[$0.value] != nil } ?? [:]
    }
    var fitting: [String: Set<[Int]>] = [:]
    for (name, relationship, _) in Self.manyToMany(model) {
      var pairs = links[name] ?? []
      if let inverse = relationship.inverse {
        pairs.formUnion((links["\(relationship.destination).\(inverse)"] ?? []).map { $0.reversed() })
      }
      fitting[name] = pairs.filter { $0.allSatisfy { there[$0] != nil } }
    }
    links = fitting
  }

  func keys(of entity: String, _ model: Schema) -> Set<Int> {
    guard let own = model.entity(named: entity) else { return [] }
    let names = Set([entity] + model.descendants(of: own).map(\.name))
    return Set(objects.filter { names.contains($0.value.entity) }.keys)
  }
}
