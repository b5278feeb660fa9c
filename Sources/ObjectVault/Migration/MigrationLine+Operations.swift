// What the words of a line say together: an operation, or a line inside of `create entity`.

extension MigrationLine {
  mutating func operation() throws -> MigrationOperation {
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
    let operation: MigrationOperation
    switch verb {
    case "drop": operation = try drop()
    case "rename": operation = try rename()
    case "add": operation = try add()
    case "retype": operation = try retype()
    case "make": operation = try make()
    case "move": operation = try move()
    case "merge": operation = try merge()
    case "set": operation = try set()
    case "transform": operation = try transform()
    default: throw failure("\"\(verb)\" is not written like this", "see the list of operations")
    }
    try end()
    return operation
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
    switch try kind("required", "optional", "many", "one") {
    case "optional": return .makeOptional(entity, name)
    case "many": return .makeMany(entity, name)
    case "one":
      return .makeOne(entity, name, picking: take("picking") ? try expression(behind: "picking") : nil)
    default: return .makeRequired(entity, name, filling: take("filling") ? try value() : nil)
    }
  }

  private mutating func entityToRelationship() throws -> EntityToRelationship {
    let entity = try name("the entity's name")
    try expect("a")
    try expect("relationship")
    let (owner, name) = try property()
    try expect("->")
    let destination = try self.name("the entity at the other end")
    var inverse: String?
    if take("inverse") {
      inverse = try self.inverse(of: RelationshipDescription(name: name, destination: destination))
    }
    return EntityToRelationship(
      entity, owner: owner, relationship: name, destination: destination, inverse: inverse,
      from: take("from") ? try self.name("the to-one that leads to \(owner)") : nil)
  }

  private mutating func relationshipToEntity() throws -> RelationshipToEntity {
    let (owner, relationship) = try property()
    try expect("an")
    try expect("entity")
    let entity = try name("the entity's name")
    let column = column
    let names = try names()
    guard names.count == 2, names[0] != names[1] else {
      throw failure("a link has two ends", "write the two to-ones of \(entity): (user, group)", column)
    }
    var inverses: RelationshipToEntity.Inverses?
    if take("inverse") {
      let own = try inverse(of: RelationshipDescription(name: relationship, destination: owner))
      try expect(",")
      let (destination, other) = try property()
      inverses = RelationshipToEntity.Inverses(own: own, destination: destination, other: other)
    }
    return RelationshipToEntity(
      owner: owner, relationship: relationship, to: entity, own: names[0], other: names[1], inverses: inverses
    )
  }

  private mutating func move() throws -> MigrationOperation {
    try expect("attribute")
    let former = try attributes()
    try expect("->")
    let column = column
    let new = try attributes()
    try expect("by")
    let (owner, relationship) = try property()
    guard former.names.count == new.names.count, Set(new.names).count == new.names.count else {
      throw failure(
        "\(former.names.count) attributes move, and \(new.names.count) names are given", "give each one name",
        column)
    }
    return .moveAttributes(
      AttributeMove(
        zip(former.names, new.names).map { AttributeMove.Pair($0, to: $1) }, from: former.entity,
        to: new.entity, owner: owner, relationship: relationship))
  }

  private mutating func merge() throws -> MigrationOperation {
    try expect("entity")
    let source = try name("the entity that goes")
    try expect("into")
    let destination = try name("the entity that stays")
    var pairs: [EntityMerge.Pair] = []
    if take("with") {
      repeat {
        let name = try property(of: source)
        try expect("->")
        pairs.append(EntityMerge.Pair(name, to: try property(of: destination)))
      } while take(",")
    }
    return .mergeEntities(EntityMerge(source, into: destination, with: pairs))
  }

  private mutating func property(of entity: String) throws -> String {
    let column = column
    let (owner, name) = try property()
    guard owner == entity else {
      throw failure("\(owner).\(name) is no property of \(entity)", "write \(entity).\(name)", column)
    }
    return name
  }

  /// Attributes of one entity.
  private mutating func attributes() throws -> (entity: String, names: [String]) {
    let (entity, first) = try property()
    var names = [first]
    while take(",") {
      let column = column
      let (other, name) = try property()
      guard other == entity else {
        throw failure(
          "\(other) is another entity than \(entity)", "move those in a line of their own", column)
      }
      names.append(name)
    }
    return (entity, names)
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
