// The closed list of what a migration step can do, and how each operation is written canonically.
// What it does to a model is in MigrationOperation+Apply, what it does to a file in MigrationCompiler.

/// One operation of a migration step.
public enum MigrationOperation: Sendable, Hashable {
  /// `create entity E { … }`, `create entity E : P { … }`
  case createEntity(EntityDescription)
  /// `drop entity E`
  case dropEntity(String)
  /// `rename entity A -> B`
  case renameEntity(String, to: String)
  /// `set parent of E to P`, `to none`
  case setParent(String, to: String?)
  /// `add attribute E.a TYPE …`
  case addAttribute(String, AttributeDescription)
  /// `drop attribute E.a`
  case dropAttribute(String, String)
  /// `rename attribute E.a -> b`
  case renameAttribute(String, String, to: String)
  /// `retype E.a to TYPE using (SQL)`
  case retype(String, String, to: AttributeType, using: String?)
  /// `retype E.a to TYPE using swift NAME`
  case retypeBySwift(String, String, to: AttributeType, function: String)
  /// `make E.a required filling V`
  case makeRequired(String, String, filling: DefaultValue?)
  /// `make E.a optional`
  case makeOptional(String, String)
  /// `set default of E.a to V`, `to none`
  case setDefault(String, String, DefaultValue?)
  /// `add relationship E.r -> D …`
  case addRelationship(String, RelationshipDescription)
  /// `drop relationship E.r`
  case dropRelationship(String, String)
  /// `set delete rule of E.r to cascade`
  case setDeleteRule(String, String, DeleteRule)
  /// `make E.r many`
  case makeMany(String, String)
  /// `make E.r one picking (SQL)`: the first in that order; without it an object that has several is refused
  case makeOne(String, String, picking: String?)
  /// `make E.r ordered`
  case makeOrdered(String, String)
  /// `make E.r unordered`
  case makeUnordered(String, String)
  /// `make entity E a relationship A.r -> B …`
  case makeEntityRelationship(EntityToRelationship)
  /// `make relationship A.r an entity E (a, b) …`
  case makeRelationshipEntity(RelationshipToEntity)
  /// `move attribute E.a, … -> F.b, … by E.r`
  case moveAttributes(AttributeMove)
  /// `merge entity E into F with E.a -> F.b, …`
  case mergeEntities(EntityMerge)
  /// `rename relationship E.r -> s`
  case renameRelationship(String, String, to: String)
  /// `add index E(a, b) unique`
  case addIndex(String, IndexDescription)
  /// `drop index E(a, b)`
  case dropIndex(String, [String])
  /// `create raw view NAME { SQL }`, `create raw trigger NAME { SQL }`, `create raw index NAME unique { SQL }`
  case createRawObject(RawObject)
  /// `drop raw view NAME`
  case dropRawObject(RawObject.Kind, String)
  /// `transform sql { … }`
  case transform(String)
  /// `transform swift NAME on E …`
  case transformSwift(SwiftTransform)
  /// `seed { … }`, which runs for new stores too
  case seed(String)
  /// `require "text" { SELECT … }`
  case require(String, String)
}

extension MigrationOperation: CustomStringConvertible {
  /// The operation as the checksum sees it: one spelling for each meaning.
  public var description: String {
    switch self {
    case .createEntity(let entity):
      (["\(summary) {"] + Self.members(of: entity).map { "    \($0)" } + ["}"])
        .joined(separator: "\n")
    case .createRawObject(let object): "create \(object)"
    case .transform(let sql): "transform sql {\n\(sql)\n}"
    case .seed(let sql): "seed {\n\(sql)\n}"
    case .require(let text, let sql): "require \(Self.quoted(text)) {\n\(sql)\n}"
    default: summary
    }
  }

  /// The operation in one line, without its SQL.
  public var summary: String {
    switch self {
    case .createEntity(let entity): "create entity \(entity.name)\(entity.parent.map { " : \($0)" } ?? "")"
    case .dropEntity(let name): "drop entity \(name)"
    case .renameEntity(let name, let new): "rename entity \(name) -> \(new)"
    case .setParent(let entity, let parent): "set parent of \(entity) to \(parent ?? "none")"
    case .addAttribute(let entity, let attribute): "add attribute \(entity).\(Self.text(of: attribute))"
    case .dropAttribute(let entity, let name): "drop attribute \(entity).\(name)"
    case .renameAttribute(let entity, let name, let new): "rename attribute \(entity).\(name) -> \(new)"
    case .retype(let entity, let name, let type, let using):
      "retype \(entity).\(name) to \(type.rawValue)\(using.map { " using (\($0))" } ?? "")"
    case .retypeBySwift(let entity, let name, let type, let function):
      "retype \(entity).\(name) to \(type.rawValue) using swift \(function)"
    case .makeRequired(let entity, let name, let filling):
      "make \(entity).\(name) required\(filling.map { " filling \($0.text)" } ?? "")"
    case .makeOptional(let entity, let name): "make \(entity).\(name) optional"
    case .setDefault(let entity, let name, let value):
      "set default of \(entity).\(name) to \(value?.text ?? "none")"
    case .addRelationship(let entity, let relationship):
      "add relationship \(entity).\(Self.text(of: relationship))"
    case .dropRelationship(let entity, let name): "drop relationship \(entity).\(name)"
    case .setDeleteRule(let entity, let name, let rule):
      "set delete rule of \(entity).\(name) to \(rule.rawValue)"
    case .makeMany(let entity, let name): "make \(entity).\(name) many"
    case .makeOne(let entity, let name, let order):
      "make \(entity).\(name) one\(order.map { " picking (\($0))" } ?? "")"
    case .makeOrdered(let entity, let name): "make \(entity).\(name) ordered"
    case .makeUnordered(let entity, let name): "make \(entity).\(name) unordered"
    case .makeEntityRelationship(let change): change.description
    case .makeRelationshipEntity(let change): change.description
    case .moveAttributes(let move): move.description
    case .mergeEntities(let merge): merge.description
    case .renameRelationship(let entity, let name, let new): "rename relationship \(entity).\(name) -> \(new)"
    case .addIndex(let entity, let index):
      "add index \(entity)(\(index.properties.joined(separator: ", ")))\(index.isUnique ? " unique" : "")"
    case .dropIndex(let entity, let names): "drop index \(entity)(\(names.joined(separator: ", ")))"
    case .createRawObject(let object): "create \(object.heading)"
    case .dropRawObject(let kind, let name): "drop raw \(kind.rawValue) \(name)"
    case .transform: "transform sql"
    case .transformSwift(let transform): transform.description
    case .seed: "seed"
    case .require(let text, _): "require \(Self.quoted(text))"
    }
  }

  static func members(of entity: EntityDescription) -> [String] {
    entity.attributes.sorted { $0.name < $1.name }.map { "attribute \(text(of: $0))" }
      + entity.relationships.sorted { $0.name < $1.name }.map { "relationship \(text(of: $0))" }
      + entity.indexes.map {
        "index (\($0.properties.joined(separator: ", ")))\($0.isUnique ? " unique" : "")"
      }.sorted()
  }

  static func text(of attribute: AttributeDescription) -> String {
    "\(attribute.name) \(attribute.type.rawValue)" + (attribute.isOptional ? " optional" : "")
      + (attribute.isUnique ? " unique" : "") + (attribute.isIndexed ? " indexed" : "")
      + (attribute.defaultValue.map { " default \($0.text)" } ?? "")
  }

  static func text(of relationship: RelationshipDescription) -> String {
    "\(relationship.name) -> \(relationship.destination)" + (relationship.isToMany ? " many" : "")
      + (relationship.isOrdered ? " ordered" : "")
      + (relationship.isRequired ? " required" : "")
      + (relationship.inverse.map { " inverse \(relationship.destination).\($0)" } ?? "")
      + (relationship.deleteRule == .nullify ? "" : " on delete \(relationship.deleteRule.rawValue)")
  }

  static func quoted(_ text: String) -> String {
    // By scalars: a line end of two is one Character, and a file is split at each of them.
    "\""
      + text.unicodeScalars.map { scalar in
        switch scalar {
        case "\\": "\\\\"
        case "\"": "\\\""
        case "\n": "\\n"
        case "\r": "\\r"
        default: String(scalar)
        }
      }.joined() + "\""
  }
}

extension DefaultValue {
  /// The value as a migration file writes it.
  var text: String {
    switch self {
    case .integer(let value): "\(value)"
    case .real(let value): "\(value)"
    case .text(let value): MigrationOperation.quoted(value)
    }
  }
}
