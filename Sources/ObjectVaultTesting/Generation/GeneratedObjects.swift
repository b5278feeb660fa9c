// Generated objects of any model; the same seed gives the same objects. Their values are chosen in
// ObjectGenerator+Values.swift, their relationships in ObjectGenerator+Links.swift;
// GeneratedObjects+Writing.swift writes them into a store.

public import CipherSQLite
public import ObjectVault

/// Generated objects that fit a model and include edge cases; the same seed gives the same objects.
///
/// ```swift
/// let objects = try GeneratedObjects(of: schema, perEntity: 20, seed: 7)
/// let users = objects.all.filter { $0.entity == "User" }
/// let names = users.map { $0.values["name"] }
/// ```
///
/// Optional attributes are nil in some objects and set in others. Values include limits, empty values,
/// quotes and other scripts (``edgeValues(of:)``). Unique values occur once, and required ones are set.
/// To-ones that refer to their own entity form chains, or a circle if every object has a target.
/// One-to-ones pair an object with at most one other, and to-manys have no member, one, or several. An
/// entity has fewer objects when a unique value, such as a `bool`, does not allow more.
///
/// This is a value: creating it opens nothing, and takes time proportional to the number of objects.
public struct GeneratedObjects: Sendable, Hashable {
  /// A generated object.
  public struct Object: Sendable, Hashable {
    /// The name of its entity.
    public let entity: String
    /// Its number among the objects of its entity, from 0.
    public let number: Int
    /// Its attributes that are not nil, in their stored form.
    public internal(set) var values: [String: SQLValue]
    /// The targets of its to-ones, as numbers: the objects of the destination are counted first, then
    /// those of its subentities. Of a one-to-one and its inverse, only one is listed.
    public internal(set) var toOne: [String: Int] = [:]
    /// The members of its many-to-many relationships, numbered as in ``toOne``. Of a relationship and its
    /// inverse, only one is listed.
    public internal(set) var toMany: [String: [Int]] = [:]
  }

  /// How many relationships have a target.
  public enum Links: Sendable, Hashable {
    /// Some have a target; others are nil or empty.
    case some
    /// All that can have a target.
    case all
  }

  /// Whether a value is allowed: see ``init(of:perEntity:seed:links:values:rules:)``.
  public typealias Rule = @Sendable (SQLValue) -> Bool

  /// The model.
  public let schema: Schema
  /// All objects, entity by entity.
  public let all: [Object]

  /// Generates objects for a model.
  /// - Parameters:
  ///   - schema: The model. If it was declared with classes, their Swift types decide on the values: an
  ///     enum gets its cases.
  ///   - perEntity: The number of objects of each entity, at least 1.
  ///   - seed: The seed of the random numbers. Another seed gives other objects.
  ///   - links: How many relationships have a target.
  ///   - values: The values that some attributes get instead of generated ones, by `Entity.attribute`,
  ///     such as `["User.mood": ["calm"]]`.
  ///   - rules: The values that attributes may have, by `Entity.attribute`, such as
  ///     `["User.name": { $0 != "" }]`. Rules that classes declare with
  ///     ``/ObjectVault/Entity/check(_:_:)`` apply as well.
  /// - Throws: `StoreError.invalidSchema`; ``CheckFailure`` when no value of a required attribute keeps
  ///   its rules, and when the model has no attribute that `values` or `rules` name.
  public init(
    of schema: Schema, perEntity: Int = 12, seed: UInt64 = 1, links: Links = .some,
    values: [String: [SQLValue]] = [:], rules: [String: Rule] = [:]
  ) throws {
    try require(
      AttributeNames([schema]).faults(values.keys, "values")
        + AttributeNames([schema]).faults(rules.keys, "rules"),
      by: "GeneratedObjects", at: "its arguments", advice: AttributeNames.advice)
    try self.init(
      checked: schema, perEntity: perEntity, seed: seed, links: links, values: values, rules: rules)
  }

  /// Generates objects without a check of the names in `values` and `rules`, which may belong to other
  /// versions of the model.
  init(
    checked schema: Schema, perEntity: Int, seed: UInt64, links: Links, values: [String: [SQLValue]],
    rules: [String: Rule]
  ) throws {
    try schema.validate()
    self.schema = schema
    let sources = try ValueSource.all(of: schema, values, rules)
    var limits = Dictionary(uniqueKeysWithValues: schema.entities.map { ($0.name, max(1, perEntity)) })
    while true {
      var generator = ObjectGenerator(schema, counts: limits, seed: seed, links: links, sources: sources)
      do {
        all = try generator.objects()
        return
      } catch let shortage {
        Self.lower(&limits, after: shortage, in: schema)
      }
    }
  }

  /// Lowers the limits after unique values ran out: to the number that was possible, but at least to 1. If
  /// not even one was possible, the largest entity that shares the values gets one object less; if that
  /// has only one, the entity gets none.
  private static func lower(
    _ limits: inout [String: Int], after shortage: ObjectShortage, in schema: Schema
  ) {
    let name = shortage.entity
    guard shortage.possible == 0, limits[name] == 1 else {
      limits[name] = max(1, shortage.possible)
      return
    }
    let relatives = (schema.entity(named: name).map(schema.hierarchy) ?? []).map(\.name)
    let largest = relatives.max { (limits[$0] ?? 0) < (limits[$1] ?? 0) } ?? name
    if let limit = limits[largest], limit > 1 { limits[largest] = limit - 1 } else { limits[name] = 0 }
  }

  /// Returns the objects of an entity, in the order of their numbers.
  /// - Parameter entity: The name of the entity. Objects of its subentities are not included.
  public func objects(of entity: String) -> [Object] { all.filter { $0.entity == entity } }
}

/// The error for an entity that cannot have the requested number of objects.
struct ObjectShortage: Error {
  let entity: String
  let possible: Int
}
