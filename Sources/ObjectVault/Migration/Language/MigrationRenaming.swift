// A renaming that a person states, because models do not show whether a property was renamed or replaced.

/// A renaming of an entity, an attribute or a relationship.
public enum MigrationRenaming: Sendable, Hashable {
  /// A renamed entity.
  case entity(String, to: String)
  /// A renamed attribute or relationship; `entity` is the entity's name in the new model.
  case property(entity: String, String, to: String)

  /// Parses `User=Person`, or `User.name=fullName`; the entity may be repeated, as in
  /// `User.name=User.fullName`.
  ///
  /// In the renaming of a property, the entity must have its name in the new model.
  /// - Parameter text: The text to parse.
  /// - Returns: The renaming; nil for text in another form.
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

  /// Returns the operation that renames in a model; nil if the model does not have the former name.
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
  /// The text that ``init(_:)`` parses.
  public var description: String {
    switch self {
    case .entity(let name, let new): "\(name)=\(new)"
    case .property(let entity, let name, let new): "\(entity).\(name)=\(new)"
    }
  }
}
