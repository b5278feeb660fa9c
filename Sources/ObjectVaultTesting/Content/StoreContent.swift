// The content of a store as one value. It is read by SQL, without the object layer, so that it can reveal
// faults of that layer.

public import CipherSQLite
public import Foundation
internal import ObjectVault

/// Everything that a store contains, as a value: two of them, before and after a change, can be compared.
///
/// ```swift
/// let before = try test.content()
/// try await test.store.write { context in
///   _ = context.insert(User.self) { $0.name = "Binger" }
/// }
/// let after = try test.content()
/// let differences = after.differences(from: before)
/// ```
///
/// A separate connection reads what is committed at that moment. The versions of rows are not included.
/// All of it is in memory, so it is meant for the small stores of tests.
public struct StoreContent: Sendable, Hashable {
  /// Stored values other than nil, by property: attributes, and to-ones as the id of their target.
  public typealias Values = [String: SQLValue]

  /// A link of a many-to-many relationship.
  public struct Link: Sendable, Hashable {
    /// The id of the object that has the relationship.
    public let source: Int64
    /// The id of its member.
    public let target: Int64

    /// Creates a link between two objects.
    public init(source: Int64, target: Int64) { (self.source, self.target) = (source, target) }
  }

  /// The store's version: the number of steps that ran on it.
  public let version: Int
  /// The objects, by entity and id.
  public let objects: [String: [Int64: Values]]
  /// The links of each many-to-many relationship, by its name, such as `Status.tags`. A relationship and
  /// its inverse are both listed.
  public let links: [String: Set<Link>]
  /// The members of each ordered relationship, by its name, such as `Album.songs`: for the id of each
  /// owner, the ids of its members in their order. Owners without members are omitted.
  public let orders: [String: [Int64: [Int64]]]
  /// The entities whose objects the links of a many-to-many relationship may connect, by the
  /// relationship's name.
  let linkEntities: [String: LinkEntities]

  /// The entities whose objects may be at the ends of a link: at each end one entity and its subentities.
  struct LinkEntities: Sendable, Hashable {
    let sources: [String]
    let targets: [String]
  }

  /// Returns the number of objects of an entity; 0 for an entity that the store does not have.
  /// - Parameter entity: The name of the entity. Objects of its subentities are not counted.
  public func count(of entity: String) -> Int { objects[entity]?.count ?? 0 }

  /// The number of all objects.
  public var count: Int { objects.values.reduce(0) { $0 + $1.count } }
}

extension StoreContent {
  /// Reads a store of any format and version, which may be open. The store is not changed.
  /// - Parameters:
  ///   - url: The file of the store.
  ///   - key: The key of the store.
  /// - Throws: `SQLError` for the file and the key; `StoreError.notAStore`,
  ///   `StoreError.bookkeepingDamaged`.
  public init(at url: URL, key: Key) throws {
    let connection = try Connection.open(url.path, key: key)
    defer { connection.close() }
    try self.init(connection)
  }

  package init(_ connection: Connection) throws {
    try StoreInfo.prepare(connection)
    // One transaction, so that everything is read as of one moment.
    self = try connection.transaction(.deferred) { try Self.read(connection) }
  }

  private static func read(_ connection: Connection) throws -> StoreContent {
    let info = try StoreInfo(connection)
    var objects: [String: [Int64: Values]] = [:]
    var links: [String: Set<Link>] = [:]
    var orders: [String: [Int64: [Int64]]] = [:]
    var linkEntities: [String: LinkEntities] = [:]
    for entity in info.model.entities {
      objects[entity.name] = try rows(of: entity, info, connection)
      for relationship in entity.relationships {
        if let place = info.orderPlace(of: relationship, in: entity) {
          orders["\(entity.name).\(relationship.name)"] = try members(place, connection)
        }
        guard let place = info.linkPlace(of: relationship, in: entity) else { continue }
        let pairs = try connection.rows(
          "SELECT \(identifier: place.own), \(identifier: place.other) FROM \(identifier: place.table)")
        links["\(entity.name).\(relationship.name)"] = Set(
          pairs.compactMap { pair in
            guard let source = pair[0].int64, let target = pair[1].int64 else { return nil }
            return Link(source: source, target: target)
          })
        linkEntities["\(entity.name).\(relationship.name)"] = LinkEntities(
          sources: branch(of: entity.name, info.model),
          targets: branch(of: relationship.destination, info.model))
      }
    }
    return StoreContent(
      version: info.version, objects: objects, links: links, orders: orders, linkEntities: linkEntities)
  }

  /// Returns the names of an entity and its subentities.
  private static func branch(of name: String, _ model: Schema) -> [String] {
    [name] + (model.entity(named: name).map(model.descendants(of:)) ?? []).map(\.name)
  }

  /// Returns the objects of an entity, without those of its subentities.
  private static func rows(
    of entity: EntityDescription, _ info: StoreInfo, _ connection: Connection
  ) throws -> [Int64: Values] {
    let all = info.model.flattened(entity)
    let columns =
      all.attributes.map { ($0.name, $0.name) }
      + all.relationships.filter(\.hasColumn).map { ($0.name, $0.columnName) }
    let place = info.model.ownPlace(of: entity.name)
    let list = SQL.joined(columns.map { ", \(identifier: $0.1)" }, by: "")
    let condition: SQL = place.condition().map { " WHERE \($0)" } ?? ""
    let rows = try connection.rows("SELECT \"id\"\(list) FROM \(identifier: place.table)\(condition)")
    return rows.reduce(into: [:]) { found, row in
      guard let id = row[0].int64 else { return }
      found[id] = Dictionary(
        zip(columns.map(\.0), row.dropFirst()).filter { !$0.1.isNull },
        uniquingKeysWith: { first, _ in first })
    }
  }

  /// Returns the members of a relationship in their order, by the id of their owner.
  private static func members(_ place: LinkPlace, _ connection: Connection) throws -> [Int64: [Int64]] {
    guard let order = place.order else { return [:] }
    let rows = try connection.rows(
      "SELECT \(identifier: place.own), \(identifier: place.other) FROM \(identifier: place.table) WHERE \(identifier: place.own) NOT NULL ORDER BY \(identifier: place.own), \(identifier: order), \(identifier: place.other)"
    )
    var members: [Int64: [Int64]] = [:]
    for row in rows {
      guard let own = row[0].int64, let other = row[1].int64 else { continue }
      members[own, default: []].append(other)
    }
    return members
  }
}
