// Renders a model as Swift classes that declare it. The output compiles, and its schema equals the model
// except for what the notes report.

internal import CipherSQLite
private import Foundation
internal import ObjectVault

struct SwiftRendering {
  private let schema: Schema
  private let names: SwiftNames
  private let jsonName: String

  init(_ schema: Schema) {
    self.schema = schema
    names = SwiftNames(schema)
    jsonName = names.free("AnyJSON")
  }

  var rendered: SchemaText {
    var parts = [schema.entities.isEmpty ? "import ObjectVault" : "import Foundation\nimport ObjectVault"]
    parts += schema.entities.map { classText($0, members($0)) }
    if schema.entities.contains(where: { $0.attributes.contains { $0.type == .json } }) { parts.append(json) }
    parts.append(model)
    return SchemaText(text: parts.joined(separator: "\n\n") + "\n", notes: notes)
  }

  // MARK: Classes

  private func classText(_ entity: EntityDescription, _ members: [String]) -> String {
    ([classHead(entity)] + members.map { "  \($0)" } + ["}"]).joined(separator: "\n")
  }

  private func classHead(_ entity: EntityDescription) -> String {
    let isFinal = schema.children(of: entity).isEmpty
    let parent =
      entity.parent.map(SwiftNames.quoted) ?? names.name("ManagedObject", of: "ObjectVault")
    return "\(isFinal ? "final " : "")class \(SwiftNames.quoted(entity.name)): \(parent) {"
  }

  private func members(_ entity: EntityDescription) -> [String] {
    entity.attributes.map(attribute) + entity.relationships.map { relationship($0, of: entity) }
  }

  private func attribute(_ attribute: AttributeDescription) -> String {
    let options =
      (attribute.isUnique ? [".unique"] : []) + (attribute.isIndexed ? [".indexed"] : [])
      + (attribute.isLazy ? [".lazy"] : [])
    let value = attribute.defaultValue.flatMap { literal($0, attribute.type) }
    return "@\(names.name("Attribute", of: "ObjectVault"))"
      + (options.isEmpty ? "" : "(\(options.joined(separator: ", ")))")
      + " var \(SwiftNames.quoted(attribute.name)): \(type(attribute.type))\(attribute.isOptional ? "?" : "")"
      + (value.map { " = \($0)" } ?? "")
  }

  private func relationship(_ relationship: RelationshipDescription, of entity: EntityDescription) -> String {
    var options = relationship.isRequired ? [".required"] : []
    if let inverse = relationship.inverse, namesInverse(relationship, of: entity) {
      options.append(
        "inverse: \\\(SwiftNames.quoted(relationship.destination)).\(SwiftNames.path(inverse))")
    }
    if relationship.deleteRule != .nullify {
      options.append("onDelete: .\(relationship.deleteRule.rawValue)")
    }
    let target = SwiftNames.quoted(relationship.destination)
    let wrapper = names.name(relationship.isToMany ? "ToMany" : "ToOne", of: "ObjectVault")
    return "@\(wrapper)" + (options.isEmpty ? "" : "(\(options.joined(separator: ", ")))")
      + " var \(SwiftNames.quoted(relationship.name)): "
      + type(relationship, target)
  }

  private func type(_ relationship: RelationshipDescription, _ target: String) -> String {
    guard relationship.isToMany else { return "\(target)?" }
    return relationship.isOrdered ? "[\(target)]" : "\(names.name("Set", of: "Swift"))<\(target)>"
  }

  /// Whether this end names its inverse in its declaration. Only one end may, because key paths of two
  /// ends that name each other are a circular reference in Swift. That end is the to-many; in a
  /// one-to-one, the end without the column; in a many-to-many, the end whose name comes first.
  private func namesInverse(_ relationship: RelationshipDescription, of entity: EntityDescription) -> Bool {
    guard let inverse = relationship.inverse,
      let back = schema.entity(named: relationship.destination)?.relationship(named: inverse),
      back.inverse == relationship.name
    else { return true }
    if relationship.isToMany != back.isToMany { return relationship.isToMany }
    if !relationship.isToMany { return relationship.isLookedUp }
    return (entity.name, relationship.name) < (relationship.destination, inverse)
  }

  // MARK: Types and values

  private func type(_ type: AttributeType) -> String {
    switch type {
    case .bool: names.name("Bool", of: "Swift")
    case .int: names.name("Int", of: "Swift")
    case .int8: names.name("Int8", of: "Swift")
    case .int16: names.name("Int16", of: "Swift")
    case .int32: names.name("Int32", of: "Swift")
    case .uint8: names.name("UInt8", of: "Swift")
    case .uint16: names.name("UInt16", of: "Swift")
    case .uint32: names.name("UInt32", of: "Swift")
    case .float: names.name("Float", of: "Swift")
    case .double: names.name("Double", of: "Swift")
    case .decimal: names.name("Decimal", of: "Foundation")
    case .string: names.name("String", of: "Swift")
    case .data: names.name("Data", of: "Foundation")
    case .date: names.name("Date", of: "Foundation")
    case .uuid: names.name("UUID", of: "Foundation")
    case .url: names.name("URL", of: "Foundation")
    case .json: jsonName
    }
  }

  /// The default as an expression; nil where a class cannot have it, which a note reports.
  private func literal(_ value: DefaultValue, _ type: AttributeType) -> String? {
    switch (value, type) {
    case (_, .date), (_, .uuid): nil
    case (.integer(let number), .bool): number == 0 ? "false" : "true"
    case (.integer(let number), _): "\(number)"
    case (.real(let number), .float): "\(Float(number))"
    case (.real(let number), _): "\(number)"
    case (.text(let text), .decimal): "\(self.type(.decimal))(string: \(text.swiftLiteral)) ?? 0"
    case (.text(let text), .url):
      "\(self.type(.url))(string: \(text.swiftLiteral)) ?? \(self.type(.url))(fileURLWithPath: \"/\")"
    case (.text(let text), .json): "\(jsonName)(\(text.swiftLiteral))"
    case (.text(let text), _): text.swiftLiteral
    }
  }

  /// What classes cannot express of the model.
  private var notes: [String] {
    schema.entities.flatMap { entity in
      let own = entity.propertyNames.filter { SchemaFault.ownNames[$0] != nil }.map {
        "\(schema.reservedName($0, entity))"
      }
      return own
        + entity.attributes.compactMap { attribute in
          guard let value = attribute.defaultValue else { return nil }
          let place = "\(entity.name).\(attribute.name)"
          if literal(value, attribute.type) == nil {
            return
              "\(place): a class computes the default of a \(attribute.type.rawValue) for each object, but "
              + "the model has the constant \(value.text). Remove it from the model: set default of \(place) "
              + "to none."
          }
          guard attribute.type == .decimal, case .text(let text) = value else { return nil }
          guard case .text(let form)? = try? Decimal(stored: .text(text))?.stored() else {
            return "\(place): a class cannot have the default \(text), because it is not the text of a "
              + "Decimal. Change it in the model."
          }
          guard form != text else { return nil }
          return "\(place): a class writes the default \(text) as \(form). Write \(form) in the model."
        }
    }
  }

  // MARK: The schema, and JSON

  private var model: String {
    let (schemaName, entityName) = (
      names.name("Schema", of: "ObjectVault"), names.name("Entity", of: "ObjectVault")
    )
    let lines = schema.entities.map { entity in
      "  \(entityName)(\(SwiftNames.quoted(entity.name)).self)"
        + entity.indexes.map { index in
          let paths = index.properties.map { "\\.\(SwiftNames.path($0))" }.joined(separator: ", ")
          let comparing = index.comparing.isEmpty ? "" : ", comparing: \(index.comparing.swiftText)"
          return "\n    .\(index.isUnique ? "unique" : "index")(\(paths)\(comparing))"
        }.joined()
        + (entity.history.map { "\n    .history(\($0 == .full ? "" : ".\($0.rawValue)"))" } ?? "")
    }
    let rawName = names.name("RawObject", of: "ObjectVault")
    let raw = schema.rawObjects.map { object in
      "  \(rawName).\(object.kind.rawValue)(\(object.name.swiftLiteral), "
        + (object.isUnique ? "unique: true, " : "") + "sql: \(object.sql.swiftLiteral))"
    }
    return "let \(names.free("model")) = \(schemaName) {\n"
      + (lines + raw).map { "\($0)\n" }.joined() + "}"
  }

  private var json: String {
    """
    /// Any JSON. Replace it with a Codable type of your own.
    enum \(jsonName): Codable, AttributeValue {
      case null
      case bool(Swift.Bool)
      case integer(Swift.Int64)
      case number(Swift.Double)
      case text(Swift.String)
      case list([\(jsonName)])
      case object([Swift.String: \(jsonName)])

      static var placeholder: \(jsonName) { .null }

      init(_ text: Swift.String) {
        self = (try? JSONDecoder().decode(\(jsonName).self, from: Foundation.Data(text.utf8))) ?? .null
      }

      init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
          self = .null
        } else if let bool = try? value.decode(Swift.Bool.self) {
          self = .bool(bool)
        } else if let integer = try? value.decode(Swift.Int64.self) {
          self = .integer(integer)
        } else if let number = try? value.decode(Swift.Double.self) {
          self = .number(number)
        } else if let text = try? value.decode(Swift.String.self) {
          self = .text(text)
        } else if let list = try? value.decode([\(jsonName)].self) {
          self = .list(list)
        } else {
          self = .object(try value.decode([Swift.String: \(jsonName)].self))
        }
      }

      func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        switch self {
        case .null: try value.encodeNil()
        case .bool(let bool): try value.encode(bool)
        case .integer(let integer): try value.encode(integer)
        case .number(let number): try value.encode(number)
        case .text(let text): try value.encode(text)
        case .list(let list): try value.encode(list)
        case .object(let object): try value.encode(object)
        }
      }
    }
    """
  }
}
