// Which part of a store's history is read.

public import Foundation

/// A part of the history of a store, for ``Store/history(_:)``.
///
/// ```swift
/// let request = HistoryRequest().of(user.id).changing("city").newestFirst()
///   .limit(1)
/// let last = try await store.history(request).first
/// ```
///
/// The transactions that are found have only the changes that the request asks for.
public struct HistoryRequest: Sendable, Hashable {
  var after: HistoryToken?
  var through: HistoryToken?
  var entity: String?
  var rowID: Int64?
  var property: String?
  var author: String?
  var start: Date?
  var end: Date?
  var maximum: Int?
  var isNewestFirst = false
  var skipsSteps = false
  /// The store of the id.
  var mark = StoreFingerprint.unknown

  /// Creates a request for the whole history, the oldest transaction first.
  public init() {}

  private func with(_ change: (inout Self) -> Void) -> Self {
    var copy = self
    change(&copy)
    return copy
  }

  /// Asks for transactions after a token.
  public func since(_ token: HistoryToken?) -> Self { with { $0.after = token } }
  /// Asks for transactions up to a token, with that of the token.
  public func through(_ token: HistoryToken) -> Self { with { $0.through = token } }
  /// Asks for changes of the objects of an entity and its subentities, with their links and places.
  /// - Parameter entity: The entity's name.
  public func of(entity: String) -> Self { with { ($0.entity, $0.rowID) = (entity, nil) } }
  /// Asks for changes of the objects of a class and its subclasses, with their links and places. For links of
  /// an inherited relationship, ask for the class that declares it, or for an object.
  public func of(_ type: (some ManagedObject).Type) -> Self { of(entity: String(describing: type)) }
  /// Asks for changes of one object, with its links and places.
  public func of(_ id: ObjectID<some ManagedObject>) -> Self {
    with { ($0.entity, $0.rowID, $0.mark) = (id.entityName, id.rowID, id.store) }
  }
  /// Asks for changes of one object without a class, with its links and places.
  public func of(_ id: DynamicID) -> Self {
    with { ($0.entity, $0.rowID, $0.mark) = (id.entity, id.rowID, id.store) }
  }
  /// Asks for transactions that changed a property, that inserted an object with a value of it, or that
  /// changed a relationship of that name. Use it with an entity or an object.
  /// - Parameter property: The property's name.
  public func changing(_ property: String) -> Self { with { $0.property = property } }
  /// Asks for transactions of an author: see ``ObjectContext/author``.
  public func by(author: String) -> Self { with { $0.author = author } }
  /// Asks for transactions at or after a date.
  public func from(_ date: Date) -> Self { with { $0.start = date } }
  /// Asks for transactions before a date.
  public func before(_ date: Date) -> Self { with { $0.end = date } }
  /// Asks for the newest transaction first.
  public func newestFirst() -> Self { with { $0.isNewestFirst = true } }
  /// Asks for at most this many transactions.
  public func limit(_ count: Int) -> Self { with { $0.maximum = max(0, count) } }
}

extension HistoryRequest {
  /// Asks for the newest transaction, if it is not a step.
  func lastChange(_ property: String?) -> Self {
    newestFirst().limit(1).with { ($0.property, $0.skipsSteps) = (property, true) }
  }

  /// Returns the changes that the request asks for.
  /// - Throws: ``StoreError/noEntity(name:similar:)``, ``StoreError/noProperty(entity:property:similar:)``,
  ///   ``StoreError/propertyMisused(entity:property:reason:)`` for a to-many whose links are those of its
  ///   inverse.
  func filter(in model: Schema) throws -> TransactionDecoder.Filter {
    var filter = TransactionDecoder.Filter(rowID: rowID, property: property)
    guard let name = entity else { return filter }
    // An entity that a step removed: `Note@5`.
    if name.contains("@") {
      (filter.entities, filter.gaps) = ([name], [name])
      return filter
    }
    guard let entity = model.entity(named: name) else {
      throw StoreError.noEntity(name: name, similar: nearest(name, among: model.entities.map(\.name)))
    }
    // The ids of a hierarchy are unique in it.
    let top = rowID == nil ? entity : model.root(of: entity)
    let wanted = Set(([top] + model.descendants(of: top)).map(\.name))
    filter.entities = wanted
    // SQL is recorded under the name of the root entity.
    filter.gaps = wanted.union(model.ancestors(of: entity).map(\.name))
    if let property, !property.contains("@") {
      try check(property, of: [entity] + model.descendants(of: entity), in: model)
    }
    for other in model.entities {
      for relationship in other.relationships where relationship.isToMany {
        guard let inverse = relationship.inverse, wanted.contains(relationship.destination) else { continue }
        filter.inverses["\(other.name).\(relationship.name)"] = inverse
      }
    }
    return filter
  }

  private func check(_ property: String, of entities: [EntityDescription], in model: Schema) throws {
    let all = entities.map { model.flattened($0) }
    guard all.contains(where: { $0.propertyNames.contains(property) }) else {
      throw StoreError.noProperty(
        entity: entity ?? "", property: property,
        similar: nearest(property, among: Set(all.flatMap(\.propertyNames)).sorted()))
    }
    for relationship in all.compactMap({ $0.relationship(named: property) }) {
      guard !relationship.hasColumn, !relationship.isOrdered, let inverse = relationship.inverse,
        model.entity(named: relationship.destination).map({ model.flattened($0) })?.relationship(
          named: inverse)?
          .hasColumn == true
      else { continue }
      throw StoreError.propertyMisused(
        entity: entity ?? "", property: property,
        reason: "is recorded as \(relationship.destination).\(inverse), its inverse; ask for changes of that")
    }
  }
}
