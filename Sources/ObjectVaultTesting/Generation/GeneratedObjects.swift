// Objects of any model, made up: the same for the same seed. What values they get is in ObjectGenerator+Values, whom they
// know in ObjectGenerator+Links, and how they get into a store in GeneratedObjects+Writing.

public import CipherSQLite
public import ObjectVault

/// Objects that fit a model: made up, the same for the same seed, with what breaks things among them.
///
/// ```swift
/// let objects = try GeneratedObjects(of: schema, perEntity: 20, seed: 7)
/// let users = objects.all.filter { $0.entity == "User" }
/// let names = users.map { $0.values["name"] }
/// ```
///
/// Optional attributes are nil in some and set in others; the values are limits, empty ones, quotes, other scripts
/// (``edgeValues(of:)``). What is unique is there once, what is required is there; to-ones lead to
/// others of their kind and around in circles, one-to-ones pair each with one, to-manys have no member, one and several.
/// An entity of which a unique value, such as a `bool`, allows fewer objects has fewer.
///
/// A value: making it opens nothing, and costs time in proportion to the objects.
public struct GeneratedObjects: Sendable, Hashable {
  /// An object, by what it holds.
  public struct Object: Sendable, Hashable {
    /// Its entity.
    public let entity: String
    /// Its number among those of the entity, from 0.
    public let number: Int
    /// Its attributes that are not nil, in the form in which they are stored.
    public internal(set) var values: [String: SQLValue]
    /// The numbers of the objects that its to-ones lead to, among those of the destination and, behind them, of the
    /// entities below it. Of a one-to-one one end alone says it.
    public internal(set) var toOne: [String: Int] = [:]
    /// The same of the members of its many-to-many relationships. Of one with an inverse one end alone says it.
    public internal(set) var toMany: [String: [Int]] = [:]
  }

  /// How many relationships lead somewhere.
  public enum Links: Sendable, Hashable {
    /// Some do, some are nil or empty.
    case some
    /// All that can.
    case all
  }

  /// Whether a value may be held: see ``init(of:perEntity:seed:links:values:rules:)``.
  public typealias Rule = @Sendable (SQLValue) -> Bool

  /// The model.
  public let schema: Schema
  /// All objects, entity by entity.
  public let all: [Object]

  /// - Parameters:
  ///   - schema: The model. Where it was declared with classes, their Swift types choose: an enum gets its cases.
  ///   - perEntity: How many objects each entity gets, at least 1.
  ///   - seed: Another number gives other objects.
  ///   - links: How many relationships lead somewhere.
  ///   - values: What attributes are to hold instead, by `Entity.attribute`, such as `["User.mood": ["calm"]]`.
  ///   - rules: What attributes may hold, by `Entity.attribute`, such as `["User.name": { $0 != "" }]`; those that classes
  ///     declare with ``/ObjectVault/Entity/check(_:_:)`` are known.
  /// - Throws: `StoreError.invalidSchema`; ``CheckFailure`` when no value of a required attribute keeps
  ///   its rules.
  public init(
    of schema: Schema, perEntity: Int = 12, seed: UInt64 = 1, links: Links = .some,
    values: [String: [SQLValue]] = [:], rules: [String: Rule] = [:]
  ) throws {
    try schema.validate()
    self.schema = schema
    let sources = try ValueSource.all(of: schema, values, rules)
    var limits = Dictionary(uniqueKeysWithValues: schema.entities.map { ($0.name, max(1, perEntity)) })
    while true {
      var generator = ObjectGenerator(schema, limits, seed, links, sources)
      do {
        all = try generator.objects()
        return
      } catch let shortage {
        // What is unique did not allow so many: anew with as many as it did, and one is always allowed.
        limits[shortage.entity] = max(1, shortage.possible)
      }
    }
  }

  /// The objects of an entity, by their numbers.
  public func objects(of entity: String) -> [Object] { all.filter { $0.entity == entity } }
}

/// An entity of which there cannot be so many objects.
struct ObjectShortage: Error {
  let entity: String
  let possible: Int
}
