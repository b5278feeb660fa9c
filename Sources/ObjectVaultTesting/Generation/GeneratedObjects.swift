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
  ///   its rules, and when the model has no attribute that `values` or `rules` name.
  public init(
    of schema: Schema, perEntity: Int = 12, seed: UInt64 = 1, links: Links = .some,
    values: [String: [SQLValue]] = [:], rules: [String: Rule] = [:]
  ) throws {
    try require(
      AttributeNames([schema]).faults(values.keys, "values")
        + AttributeNames([schema]).faults(rules.keys, "rules"),
      "GeneratedObjects", "its arguments", advice: AttributeNames.advice)
    try self.init(
      checked: schema, perEntity: perEntity, seed: seed, links: links, values: values, rules: rules)
  }

  /// The same where values and rules may be for other versions of the model, too.
  init(
    checked schema: Schema, perEntity: Int, seed: UInt64, links: Links, values: [String: [SQLValue]],
    rules: [String: Rule]
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
        Self.lower(&limits, shortage, schema)
      }
    }
  }

  /// What is unique did not allow so many: anew with as many as it did. One is left where relatives, who take from the same
  /// values, can have fewer.
  private static func lower(_ limits: inout [String: Int], _ shortage: ObjectShortage, _ schema: Schema) {
    let name = shortage.entity
    guard shortage.possible == 0, limits[name] == 1 else {
      limits[name] = max(1, shortage.possible)
      return
    }
    let relatives = (schema.entity(named: name).map(schema.family) ?? []).map(\.name)
    let largest = relatives.max { (limits[$0] ?? 0) < (limits[$1] ?? 0) } ?? name
    if let limit = limits[largest], limit > 1 { limits[largest] = limit - 1 } else { limits[name] = 0 }
  }

  /// The objects of an entity, by their numbers.
  public func objects(of entity: String) -> [Object] { all.filter { $0.entity == entity } }
}

/// An entity of which there cannot be so many objects.
struct ObjectShortage: Error {
  let entity: String
  let possible: Int
}
