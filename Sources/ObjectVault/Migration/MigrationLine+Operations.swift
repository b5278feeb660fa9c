// What the words of a line say together: an operation, or a line inside of `create entity`. Operations that stand for others
// are in MigrationLine+Composites.

extension MigrationLine {
  /// What the line says: one operation, or those that it is short for.
  mutating func operations() throws -> [MigrationOperation] {
    let verbs = [
      "create", "drop", "rename", "add", "retype", "make", "move", "merge", "set", "transform", "seed",
      "require",
    ]
    guard let verb = next else {
      throw failure("an operation is missing", "begin with \(verbs.joined(separator: ", "))")
    }
    guard verbs.contains(verb) else {
      throw failure(
        "\"\(verb)\" is no operation",
        didYouMean(nearest(verb, among: verbs)) ?? "operations begin with \(verbs.joined(separator: ", "))")
    }
    skip()
    let operations: [MigrationOperation]
    switch verb {
    case "drop": operations = [try drop()]
    case "rename": operations = [try rename()]
    case "add": operations = try add()
    case "retype": operations = [try retype()]
    case "make": operations = [try make()]
    case "move": operations = [try move()]
    case "merge": operations = [try merge()]
    case "set": operations = [try set()]
    case "transform": operations = [try transform()]
    default: throw failure("\"\(verb)\" is not written like this", "see the list of operations")
    }
    try end()
    return operations
  }

  private mutating func drop() throws -> MigrationOperation {
    if next == "raw" {
      let (kind, name) = try rawObject()
      return .dropRawObject(kind, name)
    }
    switch try kind("entity", "attribute", "relationship", "index", "raw") {
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

  /// `raw view NAME`
  mutating func rawObject() throws -> (RawObject.Kind, String) {
    try expect("raw")
    let kind = RawObject.Kind(rawValue: try kind("view", "trigger", "index")) ?? .view
    return (kind, try name("the \(kind.rawValue)'s name"))
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

  private mutating func add() throws -> [MigrationOperation] {
    switch try kind("attribute", "relationship", "index") {
    case "attribute": return try addedAttribute()
    case "relationship": return try addedRelationship()
    default:
      let entity = try name("the entity's name")
      return [.addIndex(entity, IndexDescription(properties: try names(), isUnique: take("unique")))]
    }
  }

  private mutating func retype() throws -> MigrationOperation {
    let (entity, name) = try property()
    try expect("to")
    let type = try type()
    guard take("using") else { return .retype(entity, name, to: type, using: nil) }
    if take("swift") {
      return .retypeBySwift(entity, name, to: type, function: try self.name("the function's name"))
    }
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
    if take("parent") {
      try expect("of")
      let entity = try name("the entity's name")
      try expect("to")
      return .setParent(entity, to: take("none") ? nil : try name("the parent's name, or none"))
    }
    try expect("default")
    try expect("of")
    let (entity, name) = try property()
    try expect("to")
    return .setDefault(entity, name, take("none") ? nil : try value())
  }

  private mutating func transform() throws -> MigrationOperation {
    guard take("swift") else {
      throw failure("sql or swift is missing", "write transform sql { … }, or transform swift NAME on Entity")
    }
    let function = try name("the function's name")
    try expect("on")
    let entity = try name("the entity's name")
    var (reads, writes, batch): ([SwiftTransform.Place]?, [SwiftTransform.Place]?, Int?)
    while let word = next {
      skip()
      switch word {
      case "reads" where reads == nil: reads = try places()
      case "writes" where writes == nil: writes = try places()
      case "batch" where batch == nil: batch = try batchSize()
      default:
        throw failure(
          "\"\(word)\" has no meaning here",
          ["reads", "writes", "batch"].contains(word)
            ? "the line goes on with reads, writes or batch, each once"
            : didYouMean(nearest(word, among: ["reads", "writes", "batch"]))
              ?? "the line goes on with reads, writes or batch, each once")
      }
    }
    return .transformSwift(
      SwiftTransform(
        name: function, entity: entity, reads: reads, writes: writes,
        batch: batch ?? SwiftTransform.usualBatch))
  }

  private mutating func places() throws -> [SwiftTransform.Place] {
    var places = [try place()]
    while take(",") { places.append(try place()) }
    return places
  }

  /// `Entity.property`, or `Entity`.
  private mutating func place() throws -> SwiftTransform.Place {
    if next?.contains(".") == true {
      let (entity, property) = try property()
      return SwiftTransform.Place(entity: entity, property: property)
    }
    return SwiftTransform.Place(entity: try name("an entity or Entity.property"))
  }

  private mutating func batchSize() throws -> Int {
    guard let size = next.flatMap(Int.init), (1...100_000).contains(size) else {
      throw failure("the size of the batches is missing", "write a number from 1 to 100000")
    }
    skip()
    return size
  }

  private mutating func rule() throws -> DeleteRule {
    DeleteRule(rawValue: try kind("nullify", "cascade", "deny")) ?? .nullify
  }

  private mutating func make() throws -> MigrationOperation {
    if take("entity") { return .makeEntityRelationship(try entityToRelationship()) }
    if take("relationship") { return .makeRelationshipEntity(try relationshipToEntity()) }
    let (entity, name) = try property()
    switch try kind("required", "optional", "many", "one", "ordered", "unordered") {
    case "optional": return .makeOptional(entity, name)
    case "many": return .makeMany(entity, name)
    case "ordered": return .makeOrdered(entity, name)
    case "unordered": return .makeUnordered(entity, name)
    case "one":
      return .makeOne(entity, name, picking: take("picking") ? try expression(behind: "picking") : nil)
    default: return .makeRequired(entity, name, filling: take("filling") ? try value() : nil)
    }
  }

  /// - Returns: The attribute, and what rows get that are there already.
  mutating func attribute(_ name: String) throws -> (AttributeDescription, filling: DefaultValue?) {
    var attribute = AttributeDescription(name: name, type: try type())
    var filling: DefaultValue?
    while let word = next {
      switch word {
      case "optional": attribute.isOptional = true
      case "unique": attribute.isUnique = true
      case "indexed": attribute.isIndexed = true
      case "default", "filling":
        skip()
        let column = column
        let value = try value()
        if let problem = value.problem(for: attribute.type) {
          throw failure(problem, "write a value of the type, or no \(word)", column)
        }
        if word == "default" {
          attribute.defaultValue = value.fitting(attribute.type)
        } else {
          filling = value
        }
        continue
      default:
        throw failure(
          "\"\(word)\" is no option",
          didYouMean(nearest(word, among: ["optional", "unique", "indexed", "default", "filling"]))
            ?? "options are optional unique indexed default filling")
      }
      skip()
    }
    return (attribute, filling)
  }

  /// - Returns: The relationship, and whom rows lead to that are there already.
  mutating func relationship(_ name: String) throws -> (RelationshipDescription, filling: DefaultValue?) {
    try expect("->")
    var relationship = RelationshipDescription(
      name: name, destination: try self.name("the entity at the other end"))
    var filling: DefaultValue?
    while let word = next {
      switch word {
      case "many": relationship.isToMany = true
      case "ordered": relationship.isOrdered = true
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
      case "filling":
        skip()
        filling = try value()
        continue
      default:
        throw failure(
          "\"\(word)\" is no option",
          didYouMean(nearest(word, among: ["many", "ordered", "required", "inverse", "on", "filling"]))
            ?? "options are many, ordered, required, inverse D.x, on delete RULE, filling ID")
      }
      skip()
    }
    return (relationship, filling)
  }

  mutating func inverse(of relationship: RelationshipDescription) throws -> String {
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
    case "attribute":
      let (attribute, filling) = try attribute(try name("the attribute's name"))
      try requireNo(filling)
      entity.attributes.append(attribute)
    case "relationship":
      let (relationship, filling) = try relationship(try name("the relationship's name"))
      try requireNo(filling)
      entity.relationships.append(relationship)
    default: entity.indexes.append(IndexDescription(properties: try names(), isUnique: take("unique")))
    }
    try end()
  }

  /// A new entity has no rows.
  private func requireNo(_ filling: DefaultValue?) throws {
    guard filling != nil else { return }
    throw failure(
      "a new entity has no rows that could be filled", "leave out filling, or write default VALUE")
  }
}
