// What the words of a line say together: an operation, or a line inside of `create entity`.

extension MigrationLine {
  mutating func operation() throws -> MigrationOperation {
    let verbs = ["create", "drop", "rename", "add", "retype", "make", "set", "transform", "seed", "require"]
    guard let verb = next else {
      throw failure("an operation is missing", "begin with \(verbs.joined(separator: ", "))")
    }
    guard verbs.contains(verb) else {
      throw failure(
        "\"\(verb)\" is no operation",
        didYouMean(nearest(verb, among: verbs)) ?? "operations begin with \(verbs.joined(separator: ", "))")
    }
    skip()
    let operation: MigrationOperation
    switch verb {
    case "drop": operation = try drop()
    case "rename": operation = try rename()
    case "add": operation = try add()
    case "retype": operation = try retype()
    case "make": operation = try make()
    case "set": operation = try set()
    default: throw failure("\"\(verb)\" is not written like this", "see the list of operations")
    }
    try end()
    return operation
  }

  private mutating func drop() throws -> MigrationOperation {
    switch try kind("entity", "attribute", "relationship", "index") {
    case "entity": return .dropEntity(try name("the entity's name"))
    case "attribute":
      let (entity, name) = try property()
      return .dropAttribute(entity, name)
    case "relationship":
      let (entity, name) = try property()
      return .dropRelationship(entity, name)
    default: return .dropIndex(try name("the entity's name"), try names())
    }
  }

  private mutating func rename() throws -> MigrationOperation {
    switch try kind("entity", "attribute", "relationship") {
    case "entity":
      let old = try name("the entity's name")
      try expect("->")
      return .renameEntity(old, to: try name("the new name"))
    case "attribute":
      let (entity, old) = try property()
      try expect("->")
      return .renameAttribute(entity, old, to: try name("the new name"))
    default:
      let (entity, old) = try property()
      try expect("->")
      return .renameRelationship(entity, old, to: try name("the new name"))
    }
  }

  private mutating func add() throws -> MigrationOperation {
    switch try kind("attribute", "relationship", "index") {
    case "attribute":
      let (entity, name) = try property()
      return .addAttribute(entity, try attribute(name))
    case "relationship":
      let (entity, name) = try property()
      return .addRelationship(entity, try relationship(name))
    default:
      let entity = try name("the entity's name")
      return .addIndex(entity, IndexDescription(properties: try names(), isUnique: take("unique")))
    }
  }

  private mutating func retype() throws -> MigrationOperation {
    let (entity, name) = try property()
    try expect("to")
    let type = try type()
    guard take("using") else { return .retype(entity, name, to: type, using: nil) }
    return .retype(entity, name, to: type, using: try expression(behind: "using"))
  }

  private mutating func set() throws -> MigrationOperation {
    if take("delete") {
      try expect("rule")
      try expect("of")
      let (entity, name) = try property()
      try expect("to")
      return .setDeleteRule(entity, name, try rule())
    }
    try expect("default")
    try expect("of")
    let (entity, name) = try property()
    try expect("to")
    return .setDefault(entity, name, take("none") ? nil : try value())
  }

  private mutating func rule() throws -> DeleteRule {
    DeleteRule(rawValue: try kind("nullify", "cascade", "deny")) ?? .nullify
  }

  private mutating func make() throws -> MigrationOperation {
    let (entity, name) = try property()
    switch try kind("required", "optional", "many", "one") {
    case "optional": return .makeOptional(entity, name)
    case "many": return .makeMany(entity, name)
    case "one":
      return .makeOne(entity, name, picking: take("picking") ? try expression(behind: "picking") : nil)
    default: return .makeRequired(entity, name, filling: take("filling") ? try value() : nil)
    }
  }

  private mutating func attribute(_ name: String) throws -> AttributeDescription {
    var attribute = AttributeDescription(name: name, type: try type())
    while let word = next {
      switch word {
      case "optional": attribute.isOptional = true
      case "unique": attribute.isUnique = true
      case "indexed": attribute.isIndexed = true
      case "default":
        skip()
        let column = column
        let value = try value()
        if let problem = value.problem(for: attribute.type) {
          throw failure(problem, "write a value of the type, or no default", column)
        }
        attribute.defaultValue = value.fitting(attribute.type)
        continue
      default:
        throw failure(
          "\"\(word)\" is no option",
          didYouMean(nearest(word, among: ["optional", "unique", "indexed", "default"]))
            ?? "options are optional unique indexed default")
      }
      skip()
    }
    return attribute
  }

  private mutating func relationship(_ name: String) throws -> RelationshipDescription {
    try expect("->")
    var relationship = RelationshipDescription(
      name: name, destination: try self.name("the entity at the other end"))
    while let word = next {
      switch word {
      case "many": relationship.isToMany = true
      case "required": relationship.isRequired = true
      case "inverse":
        skip()
        relationship.inverse = try inverse(of: relationship)
        continue
      case "on":
        skip()
        try expect("delete")
        relationship.deleteRule = try rule()
        continue
      default:
        throw failure(
          "\"\(word)\" is no option",
          didYouMean(nearest(word, among: ["many", "required", "inverse", "on"]))
            ?? "options are many, required, inverse D.x, on delete RULE")
      }
      skip()
    }
    return relationship
  }

  private mutating func inverse(of relationship: RelationshipDescription) throws -> String {
    let column = column
    let (entity, inverse) = try property()
    guard entity == relationship.destination else {
      throw failure(
        "the inverse is a property of \(relationship.destination)",
        "write \(relationship.destination).\(inverse)", column)
    }
    return inverse
  }

  /// A line inside `create entity`.
  mutating func member(of entity: inout EntityDescription) throws {
    switch try kind("attribute", "relationship", "index") {
    case "attribute": entity.attributes.append(try attribute(try name("the attribute's name")))
    case "relationship": entity.relationships.append(try relationship(try name("the relationship's name")))
    default: entity.indexes.append(IndexDescription(properties: try names(), isUnique: take("unique")))
    }
    try end()
  }
}
