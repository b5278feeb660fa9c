// Faults of schemas. All faults of a schema are listed at once.

/// A fault of a schema, with its entity and property.
public enum SchemaFault: Error, Sendable, Hashable {
  /// Two entities, or two properties of one entity, have the same name.
  case duplicateName(entity: String, property: String?)
  /// A name is reserved for the store, or is no identifier. `free` is a name that the property could
  /// have; nil for an entity.
  case reservedName(entity: String, property: String?, free: String?)
  /// A table or an index would have a name that is taken.
  case clashingName(name: String, owner: String, other: String)
  /// The parent of an entity is not in the schema.
  case unknownParent(entity: String, parent: String)
  /// An entity inherits from itself: the parents of some entities form a cycle.
  case circularParents(entity: String)
  /// A property has the name of a property of another entity in the same inheritance hierarchy: the two
  /// would share a column.
  case hierarchyName(entity: String, property: String, other: String)
  /// An index of an entity with a parent has only inherited properties, so that it would include rows of
  /// other entities.
  case inheritedIndex(entity: String, properties: [String])
  /// A relationship refers to an entity that is not in the schema.
  case unknownDestination(entity: String, relationship: String, destination: String)
  /// The inverse is no relationship of the destination, or refers to another entity.
  case wrongInverse(entity: String, relationship: String, inverse: String)
  /// The inverse is a property that the destination inherits.
  case inheritedInverse(
    entity: String, relationship: String, destination: String, inverse: String, owner: String)
  /// The inverse refers to an ancestor of the entity that names it.
  case narrowInverse(entity: String, relationship: String, inverse: String, owner: String)
  /// A relationship is declared as its own inverse.
  case ownInverse(entity: String, relationship: String)
  /// Two relationships name the same inverse.
  case contestedInverse(entity: String, relationship: String, inverse: String)
  /// An index or a rule names a property that cannot be indexed or checked.
  case unknownProperty(entity: String, property: String, use: String)
  /// A key path refers to no property, usually to a computed one.
  case badKeyPath(entity: String, use: String, reason: String)
  /// An option does not fit its property.
  case badOption(entity: String, property: String, reason: String)
  /// A default is no value of its property's type, or SQL has no constant for it, as for infinity.
  case badDefault(entity: String, property: String, reason: String)
  /// The class's initializer reads or writes a property. An object has no values before it belongs to a
  /// context; declare a default instead.
  case busyInitializer(entity: String, property: String)
  /// An index has no properties.
  case emptyIndex(entity: String)
  /// An entity has more than 512 properties.
  case tooManyProperties(entity: String, count: Int)
  /// The SQL of a view, trigger or index is invalid, or uses names that the model does not have. `name`
  /// includes the kind, such as `view Adults`.
  case badRawObject(name: String, reason: String)

  /// The maximal length of a name in bytes.
  static let longestName = 120
  /// Names of properties that every object has, and that a Swift class cannot declare, each with an
  /// alternative.
  package static let ownNames = [
    "objectState": "status", "hasChanges": "isModified", "isInserted": "isNew", "isDeleted": "isRemoved",
    "isFault": "isFaulty", "isUpdated": "isChanged", "changedValues": "changes",
    "committedValues": "savedValues", "debugDescription": "debugText",
    "hashValue": "digest", "entityDescription": "entityText", "managedObjectContext": "objectContext",
  ]
}

extension SchemaFault: CustomStringConvertible {
  /// Names entity and property, and states what is wrong and what to do.
  public var description: String {
    switch self {
    case .duplicateName(let entity, let property?):
      "\(entity).\(property) is declared twice; names are compared without regard to case. Rename one."
    case .duplicateName(let entity, nil):
      "\(entity) is declared twice; names are compared without regard to case. Rename one, or remove it."
    case .clashingName(let name, let owner, let other):
      "\(owner) would have the name \(name) in the file, but \(other) already has that name. Rename one of "
        + "the two."
    case .reservedName(let entity, let property?, let free) where Self.ownNames[property] != nil:
      "\(entity).\(property): this name is reserved, because every object has properties with the names "
        + "\(Self.ownNames.keys.sorted().joined(separator: ", ")). \(renaming(free))"
    case .reservedName(let entity, let property?, let free):
      "\(entity).\(shortened(property)): this name cannot be used. A name has letters, digits and "
        + "underscores, begins with a letter, has at most \(Self.longestName) bytes, is not 'id', 'rowid' or "
        + "'self', and does not end in '_id'. "
        + renaming(free)
    case .reservedName(let entity, nil, _):
      "\(entity): this name cannot be used. A name has letters, digits and underscores, has at most "
        + "\(Self.longestName) bytes, and does not begin with an underscore, 'vault_' or 'sqlite_'. Rename "
        + "the entity."
    case .unknownParent(let entity, let parent):
      "\(entity) inherits from \(parent), which is not in the schema. Add it."
    case .circularParents(let entity):
      "\(entity) inherits from itself through its parents. Remove the parent of one of them."
    case .hierarchyName(let entity, let property, let other):
      "\(entity).\(property) would share a column with a property of \(other): all entities of an "
        + "inheritance hierarchy are in one table, and names are compared without regard to case. Rename "
        + "one, or declare it once in a parent of both."
    case .inheritedIndex(let entity, let properties):
      "\(entity) has an index over \(properties.joined(separator: ", ")); all of its properties are "
        + "inherited. Declare the index in the entity that declares them, or add a property of \(entity) to "
        + "it."
    case .unknownDestination(let entity, let relationship, let destination):
      "\(entity).\(relationship) refers to \(destination), which is not in the schema. Add it."
    case .wrongInverse(let entity, let relationship, let inverse):
      "\(entity).\(relationship) names \(inverse) as its inverse, which does not refer back. Name a "
        + "relationship of the other entity whose target is \(entity)."
    case .inheritedInverse(let entity, let relationship, let destination, let inverse, let owner):
      "\(entity).\(relationship) names \(destination).\(inverse) as its inverse, which \(destination) inherits from "
        + "\(owner). Make \(owner) the target, or name a relationship that \(destination) declares itself."
    case .narrowInverse(let entity, let relationship, let inverse, let owner):
      "\(entity).\(relationship) names \(inverse) as its inverse, but \(inverse) refers to \(owner), "
        + "an ancestor of \(entity). Declare \(relationship) in \(owner), or declare another relationship "
        + "that refers to \(entity)."
    case .ownInverse(let entity, let relationship):
      "\(entity).\(relationship) is its own inverse. Declare two relationships."
    case .contestedInverse(let entity, let relationship, let inverse):
      "\(entity).\(relationship) names \(inverse) as its inverse, which is already the inverse of another "
        + "relationship. Give each its own inverse."
    case .unknownProperty(let entity, let property, let use):
      "\(entity).\(property) cannot be used in \(use). Name an attribute; in an index, a to-one is also "
        + "possible."
    case .badKeyPath(let entity, let use, let reason): "\(entity), \(use): \(ended(reason))"
    case .badOption(let entity, let property, let reason): "\(entity).\(property): \(ended(reason))"
    case .badDefault(let entity, let property, let reason):
      "\(entity).\(property): bad default, \(ended(reason))"
    case .busyInitializer(let entity, let property):
      "\(entity).\(property) is used in the initializer of \(entity), where an object has no values yet. "
        + "Give the property a default instead, as in @Attribute var \(property) = …, which is computed for "
        + "each new object."
    case .emptyIndex(let entity): "\(entity) has an index without properties. Name some, or remove it."
    case .tooManyProperties(let entity, let count):
      "\(entity) has \(count) properties; at most 512 are allowed. Split the entity."
    case .badRawObject(let name, let reason): "The raw \(name): \(ended(reason))"
    }
  }

  private func renaming(_ free: String?) -> String {
    "Rename the property\(free.map { ", for example to \(shortened($0))" } ?? "")."
  }
}
