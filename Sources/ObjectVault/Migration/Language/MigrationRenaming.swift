// A name that was another one: what only who made the change knows.

/// That an entity, an attribute or a relationship has another name now.
public enum MigrationRenaming: Sendable, Hashable {
  /// An entity.
  case entity(String, to: String)
  /// An attribute or a relationship.
  case property(entity: String, String, to: String)

  /// Reads `User=Person`, or `User.name=fullName`; the entity may be repeated, as in `User.name=User.fullName`.
  ///
  /// Of a property the entity has the name that it has in the new model.
  /// - Returns: nil for other texts.
  public init?(_ text: String) {
    let sides = text.split(separator: "=", omittingEmptySubsequences: false).map { $0.trimmed }
    guard sides.count == 2, !sides.contains("") else { return nil }
    let old = sides[0].split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    var new = sides[1].split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard !old.contains(""), !new.contains("") else { return nil }
    if old.count == 2, new.count == 2, old[0] == new[0] { new.removeFirst() }
    switch (old.count, new.count) {
    case (1, 1): self = .entity(old[0], to: new[0])
    case (2, 1): self = .property(entity: old[0], old[1], to: new[0])
    default: return nil
    }
  }

  /// The operation in a model; nil where nothing of the former name is there.
  func operation(in model: Schema) -> MigrationOperation? {
    switch self {
    case .entity(let name, let new):
      return model.entity(named: name).map { .renameEntity($0.name, to: new) }
    case .property(let entity, let name, let new):
      guard let entity = model.entity(named: entity) else { return nil }
      if entity.attribute(named: name) != nil { return .renameAttribute(entity.name, name, to: new) }
      if entity.relationship(named: name) != nil { return .renameRelationship(entity.name, name, to: new) }
      return nil
    }
  }
}

extension MigrationRenaming: CustomStringConvertible {
  /// As ``init(_:)`` reads it.
  public var description: String {
    switch self {
    case .entity(let name, let new): "\(name)=\(new)"
    case .property(let entity, let name, let new): "\(entity).\(name)=\(new)"
    }
  }
}
