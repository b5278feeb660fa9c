// A request: what to fetch, as a value without a context.

/// A description of what to fetch: the entity, conditions, order and window, without a context.
///
/// A request is a value. It can be kept, compared, sent to another task, encoded, and fetched in any
/// context:
///
/// ```swift
/// let unread = try Message.request
///   .where("isRead == NO")
///   .sorted(by: \.sentAt, .reverse)
///   .limit(50)
/// let count = try await store.read { try $0.fetch(unread).count() }
/// ```
///
/// A ``Fetch`` is a request and a context; both have the methods of ``FetchBuilder``. A request that
/// refers to objects by id belongs to the store of these objects. An object without a row cannot be part
/// of a request, because only its own context knows it: save it first, or build a fetch in its context.
///
/// Two requests are equal if they have equal conditions, in the same order, and otherwise equal parts; it
/// does not matter whether a condition was written as a `#Predicate` or as a format. A decoded request
/// fetches what the encoded one did, in a store whose model has the same names.
public struct ObjectRequest<Object: ManagedObject>: FetchBuilder, Sendable {
  var parameters = FetchParameters()
  var includesPending = true
  /// The fetched class: `Object`, or a subclass that is known only at run time.
  let type: Object.Type
  /// The name of the fetched entity, in a store without classes or in a decoded request; nil for the
  /// entity of `type`.
  let namedEntity: String?

  /// Creates a request for all objects of an entity, to be narrowed down.
  /// - Parameter type: The entity's class.
  public init(_ type: Object.Type = Object.self) { self.init(type, namedEntity: nil) }

  init(_ type: Object.Type, namedEntity: String?) { (self.type, self.namedEntity) = (type, namedEntity) }

  /// The name of the fetched entity.
  public var entityName: String { namedEntity ?? "\(type)" }

  /// The request itself.
  public var request: ObjectRequest {
    get { self }
    set { self = newValue }
  }
}

extension ObjectRequest where Object == DynamicObject {
  /// Creates a request for all objects of an entity, for a store that is opened without classes.
  ///
  /// ```swift
  /// let newest = ObjectRequest(entity: "Message")
  ///   .sorted(byPath: "sentAt", .reverse)
  /// ```
  /// - Parameter name: The entity's name. The methods that run the request throw
  ///   ``StoreError/noEntity(name:similar:)`` for a name that the model does not have.
  public init(entity name: String) { self.init(DynamicObject.self, namedEntity: name) }
}

extension Persistable where Self: ManagedObject {
  /// A request for all objects of the class, to be narrowed down.
  public static var request: ObjectRequest<Self> { ObjectRequest(self) }
}

extension ObjectRequest: Hashable {
  /// Returns whether both requests have equal conditions, in the same order, and otherwise equal parts.
  public static func == (one: ObjectRequest, other: ObjectRequest) -> Bool {
    let (a, b) = (one.parameters, other.parameters)
    return one.entityName == other.entityName && a.sort == b.sort && a.prefetch == b.prefetch
      && a.only == b.only && a.limit == b.limit && a.isDistinct == b.isDistinct && a.offset == b.offset
      && a.includesSubentities == b.includesSubentities
      && one.includesPending == other.includesPending && a.failure == b.failure
      && a.conditions.count == b.conditions.count
      && zip(a.conditions, b.conditions).allSatisfy { $0.substituted == $1.substituted }
  }

  /// Hashes the entity, the conditions, the order and the window.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(entityName)
    for condition in parameters.conditions { hasher.combine(condition.substituted) }
    hasher.combine(parameters.sort)
    hasher.combine(parameters.limit)
    hasher.combine(parameters.offset)
  }
}

extension ObjectRequest: Codable {
  private enum CodingKeys: CodingKey {
    case entity, conditions, sort, prefetch, only, isDistinct, limit, offset, includesSubentities,
      includesPending
  }

  /// Encodes the entity's name, the conditions as trees with their values, and the other parts by the
  /// names of properties. Parts that have their default are omitted.
  /// - Throws: ``StoreError/predicate(_:)`` for a request with an invalid key path.
  public func encode(to encoder: any Encoder) throws {
    if let failure = failure { throw failure }
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(entityName, forKey: .entity)
    let (conditions, sort, prefetch) = (parameters.conditions, parameters.sort, parameters.prefetch)
    if !conditions.isEmpty { try container.encode(conditions.map(\.substituted), forKey: .conditions) }
    if !sort.isEmpty { try container.encode(sort, forKey: .sort) }
    if !prefetch.isEmpty { try container.encode(prefetch, forKey: .prefetch) }
    try container.encodeIfPresent(parameters.only, forKey: .only)
    if parameters.isDistinct { try container.encode(true, forKey: .isDistinct) }
    try container.encodeIfPresent(parameters.limit, forKey: .limit)
    if parameters.offset > 0 { try container.encode(parameters.offset, forKey: .offset) }
    if !parameters.includesSubentities { try container.encode(false, forKey: .includesSubentities) }
    if !includesPending { try container.encode(false, forKey: .includesPending) }
  }

  /// Decodes what encoding writes.
  ///
  /// Names are checked when the request is fetched, because only a store knows its model.
  /// - Throws: `DecodingError` for another form; ``StoreError/predicate(_:)`` for a condition that is
  ///   deeper than ``PredicateError/maximumDepth``.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let entity = try container.decode(String.self, forKey: .entity)
    self.init(Object.self, namedEntity: entity == "\(Object.self)" ? nil : entity)
    for node in try container.decodeIfPresent([PredicateNode].self, forKey: .conditions) ?? [] {
      parameters.add(FetchCondition(checking: node))
    }
    parameters.sort = try container.decodeIfPresent([SortKey].self, forKey: .sort) ?? []
    parameters.prefetch = try container.decodeIfPresent([[String]].self, forKey: .prefetch) ?? []
    parameters.only = try container.decodeIfPresent([String].self, forKey: .only)
    parameters.isDistinct = try container.decodeIfPresent(Bool.self, forKey: .isDistinct) ?? false
    parameters.limit = try container.decodeIfPresent(Int.self, forKey: .limit).map { max(0, $0) }
    parameters.offset = max(0, try container.decodeIfPresent(Int.self, forKey: .offset) ?? 0)
    parameters.includesSubentities =
      try container.decodeIfPresent(Bool.self, forKey: .includesSubentities) ?? true
    includesPending = try container.decodeIfPresent(Bool.self, forKey: .includesPending) ?? true
  }
}

extension ObjectRequest {
  /// The error of a request that cannot be used without the context that it was built in, or whose key
  /// path is invalid; nil for a valid request.
  var failure: StoreError? {
    parameters.failure ?? (parameters.refersToNewObjects ? Self.newObject(entityName) : nil)
  }

  static func newObject(_ entity: String) -> StoreError {
    .predicate(
      PredicateError(
        "a request cannot refer to an object that was not saved, because only the object's context knows it; "
          + "save the object first, or add the condition to a fetch of its context",
        entity: entity))
  }
}
