// The list of all operations of a migration step. The rules of each operation are in the folder
// Operations, where opposite operations may share a file. MigrationOperation+Rules maps each case to the
// type with its rules.

/// One operation of a migration step.
public enum MigrationOperation: Sendable, Hashable {
  /// `create entity E { … }`, `create entity E : P history full { … }`
  case createEntity(EntityDescription)
  /// `drop entity E`
  case dropEntity(String)
  /// `rename entity A -> B`
  case renameEntity(String, to: String)
  /// `set parent of E to P`, `to none`
  case setParent(String, to: String?)
  /// `set history of E to full`, `to changes`, `to none`
  case setHistory(String, HistoryDetail?)
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
  /// `make E.a lazy` and `make E.a eager`
  case setLazy(String, String, Bool)
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
  /// `make E.r one picking (SQL)`: keeps each object's first link in that order; without an order, the
  /// step is refused if objects have several links
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
  /// `add index E(a, b) unique`, `add index E(a) ignoring case`
  case addIndex(String, IndexDescription)
  /// `drop index E(a, b)`, `drop index E(a) ignoring case`
  case dropIndex(String, [String], StringOptions = [])
  /// `create raw view NAME { SQL }`, `create raw trigger NAME { SQL }` or `create raw index NAME unique {
  /// SQL }`
  case createRawObject(RawObject)
  /// `drop raw view NAME`
  case dropRawObject(RawObject.Kind, String)
  /// `transform sql [reads E.a, F] [writes E.b] { … }`
  case transform(SQLTransform)
  /// `transform swift NAME on E …`
  case transformSwift(SwiftTransform)
  /// `seed { … }`: creates rows, in a new store as well as in a migrated one
  case seed(String)
  /// `require "text" { SELECT … }`
  case require(String, String)
}

extension MigrationOperation: CustomStringConvertible {
  /// The operation in its canonical spelling, from which checksums are made.
  public var description: String { rules.text.whole }

  /// The operation in one line, without its SQL.
  public var summary: String { rules.text.summary }

  static func quoted(_ text: String) -> String {
    // Works on scalars: CR LF is one Character, but a file is split at both CR and LF.
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

extension StringOptions {
  /// What an index ignores, in the form of a migration file, with a space before it: ` ignoring case`.
  var ignoring: String {
    isEmpty
      ? ""
      : " ignoring" + (contains(.caseInsensitive) ? " case" : "")
        + (contains(.diacriticInsensitive) ? " diacritics" : "")
  }
}

extension IndexDescription {
  /// The index in the form of a migration file, without the entity: `(a, b) unique`.
  var text: String {
    "(\(properties.joined(separator: ", ")))\(isUnique ? " unique" : "")\(comparing.ignoring)"
  }
  /// The index in the form in which `drop index` names it: `(a, b)`.
  var wording: String { "(\(properties.joined(separator: ", ")))\(comparing.ignoring)" }
}

extension AttributeDescription {
  /// The attribute in the form of a migration file.
  var text: String {
    "\(name) \(type.rawValue)" + (isOptional ? " optional" : "") + (isUnique ? " unique" : "")
      + (isIndexed ? " indexed" : "") + (isLazy ? " lazy" : "")
      + (defaultValue.map { " default \($0.text)" } ?? "")
  }
}

extension RelationshipDescription {
  /// The relationship in the form of a migration file.
  var text: String {
    "\(name) -> \(destination)" + (isToMany ? " many" : "") + (isOrdered ? " ordered" : "")
      + (isRequired ? " required" : "") + (inverse.map { " inverse \(destination).\($0)" } ?? "")
      + (deleteRule == .nullify ? "" : " on delete \(deleteRule.rawValue)")
  }
}

extension DefaultValue {
  /// The value in the form of a migration file.
  package var text: String {
    switch self {
    case .integer(let value): "\(value)"
    case .real(let value): "\(value)"
    case .text(let value): MigrationOperation.quoted(value)
    }
  }
}
