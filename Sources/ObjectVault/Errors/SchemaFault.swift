// What can be wrong with a schema. All faults are listed at once.

/// One thing that is wrong with a schema, with the entity and property it is about.
public enum SchemaFault: Error, Sendable, Hashable {
  /// Two entities, or two properties of one, have the same name.
  case duplicateName(entity: String, property: String?)
  /// A name that the store needs for itself, or that is no identifier. `free` is another one that the property can have; nil for
  /// an entity.
  case reservedName(entity: String, property: String?, free: String?)
  /// A table or an index would have a name that another one has.
  case clashingName(name: String, owner: String, other: String)
  /// The entity that one inherits from is not in the schema.
  case unknownParent(entity: String, parent: String)
  /// An entity stands above itself: the parents of some entities form a circle.
  case circularParents(entity: String)
  /// A property has a name that another entity of the same table has, which it would share a column with.
  case familyName(entity: String, property: String, other: String)
  /// An index of an entity with a parent is over inherited properties alone, whose rows are not only its own.
  case inheritedIndex(entity: String, properties: [String])
  /// A relationship leads to an entity that the schema lacks.
  case unknownDestination(entity: String, relationship: String, destination: String)
  /// The inverse is no relationship of the entity at the other end, or leads elsewhere.
  case wrongInverse(entity: String, relationship: String, inverse: String)
  /// What is named as the inverse is a property that the other entity inherits.
  case inheritedInverse(
    entity: String, relationship: String, destination: String, inverse: String, owner: String)
  /// What is named as the inverse leads to an entity above the one that names it.
  case narrowInverse(entity: String, relationship: String, inverse: String, owner: String)
  /// A relationship is declared as its own inverse.
  case ownInverse(entity: String, relationship: String)
  /// Two relationships name the same inverse.
  case contestedInverse(entity: String, relationship: String, inverse: String)
  /// An index or a rule names something that cannot be indexed or checked.
  case unknownProperty(entity: String, property: String, use: String)
  /// A key path that leads to no property: to something computed, as a rule.
  case badKeyPath(entity: String, use: String, reason: String)
  /// An option that does not go with its property.
  case badOption(entity: String, property: String, reason: String)
  /// A default that is no value of its property's type, or that SQL has no constant for, such as infinity.
  case badDefault(entity: String, property: String, reason: String)
  /// The class's initializer reads or writes a property, and an object has none before the store gives it its
  /// place. A default does what was meant.
  case busyInitializer(entity: String, property: String)
  /// An index without properties.
  case emptyIndex(entity: String)
  /// More than 512 properties.
  case tooManyProperties(entity: String, count: Int)
  /// A view, trigger or index in SQL that cannot be one, or whose names are not those of the model. Its name here is that with
  /// its kind, such as `view Adults`.
  case badRawObject(name: String, reason: String)

  /// How many bytes a name has at most.
  static let longestName = 120
  /// Names that each object has for itself, which a Swift class cannot give to a property, each with one to use instead.
  package static let ownNames = [
    "state": "status", "hasChanges": "isModified", "isInserted": "isNew", "isDeleted": "isRemoved",
    "isFault": "isFaulty", "changedValues": "changes", "hashValue": "digest",
  ]
}

extension SchemaFault: CustomStringConvertible {
  /// One sentence that names entity and property and says what to do.
  public var description: String {
    switch self {
    case .duplicateName(let entity, let property?):
      "\(entity).\(property) is declared twice; names are compared without regard to case. Rename one."
    case .duplicateName(let entity, nil):
      "\(entity) is declared twice; names are compared without regard to case. Rename one, or remove it."
    case .clashingName(let name, let owner, let other):
      "\(owner) would be called \(name) in the file, which \(other) is already. Rename one of the two."
    case .reservedName(let entity, let property?, let free) where Self.ownNames[property] != nil:
      "\(entity).\(property): every object has a property of this name for itself "
        + "(\(Self.ownNames.keys.sorted().joined(separator: ", "))). \(renaming(free))"
    case .reservedName(let entity, let property?, let free):
      "\(entity).\(shortened(property)): this name cannot be used (letters, digits and underscores, not first an "
        + "underscore or a digit, \(Self.longestName) bytes at most, and not 'id', 'rowid' or 'self', nor ending in '_id'). "
        + renaming(free)
    case .reservedName(let entity, nil, _):
      "\(entity): this name cannot be used (letters, digits and underscores, \(Self.longestName) bytes at most, "
        + "not beginning with an underscore, 'vault_' or 'sqlite_'). Rename the entity."
    case .unknownParent(let entity, let parent):
      "\(entity) inherits from \(parent), which is not in the schema. Add it."
    case .circularParents(let entity):
      "\(entity) inherits from itself by way of its parents. Let one of them have no parent."
    case .familyName(let entity, let property, let other):
      "\(entity).\(property) would share a column with a property of \(other): all entities below one root lie in one "
        + "table, and names are compared without regard to case. Rename one, or declare it once in an entity above both."
    case .inheritedIndex(let entity, let properties):
      "\(entity) has an index over \(properties.joined(separator: ", ")), all of them inherited. Declare it where they are "
        + "declared, or take in a property of \(entity)."
    case .unknownDestination(let entity, let relationship, let destination):
      "\(entity).\(relationship) leads to \(destination), which is not in the schema. Add it."
    case .wrongInverse(let entity, let relationship, let inverse):
      "\(entity).\(relationship) names \(inverse) as its inverse, which does not lead back. Name a "
        + "relationship of the other entity whose target is \(entity)."
    case .inheritedInverse(let entity, let relationship, let destination, let inverse, let owner):
      "\(entity).\(relationship) names \(destination).\(inverse) as its inverse, which \(destination) inherits from "
        + "\(owner). Let it lead to \(owner), or name a relationship that \(destination) declares itself."
    case .narrowInverse(let entity, let relationship, let inverse, let owner):
      "\(entity).\(relationship) names \(inverse) as its inverse, which leads to \(owner), from which \(entity) "
        + "inherits. Declare \(relationship) in \(owner), or another relationship that leads back to \(entity)."
    case .ownInverse(let entity, let relationship):
      "\(entity).\(relationship) is its own inverse. Declare two relationships."
    case .contestedInverse(let entity, let relationship, let inverse):
      "\(entity).\(relationship) names \(inverse) as its inverse, which another relationship has already. "
        + "Give each its own."
    case .unknownProperty(let entity, let property, let use):
      "\(entity).\(property) cannot be used in \(use). Name an attribute, or a to-one in an index."
    case .badKeyPath(let entity, let use, let reason): "\(entity), \(use): \(ended(reason))"
    case .badOption(let entity, let property, let reason): "\(entity).\(property): \(ended(reason))"
    case .badDefault(let entity, let property, let reason):
      "\(entity).\(property): bad default, \(ended(reason))"
    case .busyInitializer(let entity, let property):
      "\(entity).\(property) is used in the initializer of \(entity), where an object holds nothing yet. Give the "
        + "property a default instead, as in @Attribute var \(property) = …, which is computed for each new object."
    case .emptyIndex(let entity): "\(entity) has an index without properties. Name some, or remove it."
    case .tooManyProperties(let entity, let count):
      "\(entity) has \(count) properties; 512 are possible. Split the entity."
    case .badRawObject(let name, let reason): "The raw \(name): \(ended(reason))"
    }
  }

  private func renaming(_ free: String?) -> String {
    "Rename the property\(free.map { ", for example to \(shortened($0))" } ?? "")."
  }
}
