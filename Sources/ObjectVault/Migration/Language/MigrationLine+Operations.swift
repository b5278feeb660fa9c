// Parses the words of a line: a whole operation, by the table of all operations, or a line inside `create
// entity`. Words that only one operation has are parsed in that operation's file.

extension MigrationLine {
  /// Parses the line as one operation, or as the several operations that it stands for.
  mutating func operations() throws -> [MigrationOperation] {
    let verbs = MigrationOperation.verbs
    guard let verb = next else {
      throw failure("an operation is missing", hint: "begin with \(verbs.joined(separator: ", "))")
    }
    guard verbs.contains(verb) else {
      throw failure(
        "\"\(verb)\" is not an operation",
        hint: didYouMean(nearest(verb, among: verbs))
          ?? "operations begin with \(verbs.joined(separator: ", "))")
    }
    skip()
    let operations = try read(MigrationOperation.forms[verb] ?? [], verb)
    try end()
    return operations
  }

  private mutating func read(_ forms: [OperationForm], _ verb: String) throws -> [MigrationOperation] {
    var kinds: [String] = []
    var changes: [String: OperationForm.Change] = [:]
    var other: OperationForm.Line?
    for form in forms {
      switch form.rest {
      case .line(let read):
        if let kind = form.kind {
          if take(kind) { return try read(&self) }
          kinds.append(kind)
        } else {
          other = read
        }
      case .change(let read): changes[form.kind ?? ""] = read
      case .block: break
      }
    }
    if !changes.isEmpty {
      let (entity, name) = try property()
      let kind = try kind(forms.compactMap { changes[$0.kind ?? ""] == nil ? nil : $0.kind })
      if let read = changes[kind] { return [try read(&self, entity, name)] }
    }
    if let other { return try other(&self) }
    guard !kinds.isEmpty else {
      throw failure("\"\(verb)\" is not used like this", hint: "see the list of operations")
    }
    _ = try kind(kinds)
    return []
  }

  mutating func rule() throws -> DeleteRule {
    DeleteRule(rawValue: try kind(["nullify", "cascade", "deny"])) ?? .nullify
  }

  mutating func historyDetail() throws -> HistoryDetail {
    HistoryDetail(rawValue: try kind(HistoryDetail.allCases.map(\.rawValue))) ?? .full
  }

  /// Parses the type and options of an attribute.
  /// - Returns: The attribute, and the backfill value, if there is one.
  mutating func attribute(_ name: String) throws -> (AttributeDescription, filling: DefaultValue?) {
    var attribute = AttributeDescription(name: name, type: try type())
    var filling: DefaultValue?
    var given: Set<String> = []
    while let word = next {
      try requireFirst(word, &given)
      switch word {
      case "optional": attribute.isOptional = true
      case "unique": attribute.isUnique = true
      case "indexed": attribute.isIndexed = true
      case "lazy": attribute.isLazy = true
      case "default", "filling":
        skip()
        let column = column
        let value = try value(attribute.type.constantForm)
        if let problem = value.problem(for: attribute.type) {
          throw failure(problem, hint: "write \(attribute.type.constantForm), or remove \(word)", at: column)
        }
        if word == "default" {
          attribute.defaultValue = value.fitting(attribute.type)
        } else {
          filling = value
        }
        continue
      default:
        throw failure(
          "\"\(word)\" is not an option",
          hint: didYouMean(nearest(word, among: Self.attributeOptions))
            ?? "options are \(Self.attributeOptions.joined(separator: " "))")
      }
      skip()
    }
    return (attribute, filling)
  }

  /// Parses the destination and options of a relationship.
  /// - Returns: The relationship, and the backfill value, if there is one: the id that existing rows will
  ///   refer to.
  mutating func relationship(_ name: String) throws -> (RelationshipDescription, filling: DefaultValue?) {
    try expect("->")
    var relationship = RelationshipDescription(
      name: name, destination: try self.name("the entity at the other end"))
    var filling: DefaultValue?
    var given: Set<String> = []
    while let word = next {
      try requireFirst(word, &given)
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
        filling = try value(Self.idForm)
        continue
      default:
        throw failure(
          "\"\(word)\" is not an option",
          hint: didYouMean(nearest(word, among: ["many", "ordered", "required", "inverse", "on", "filling"]))
            ?? "options are many, ordered, required, inverse D.x, on delete RULE, filling ID")
      }
      skip()
    }
    return (relationship, filling)
  }

  /// Refuses an option that occurs twice, because one of its values would have no effect.
  private func requireFirst(_ option: String, _ given: inout Set<String>) throws {
    guard !given.insert(option).inserted else { return }
    throw failure("\"\(option)\" occurs here twice", hint: "write it once")
  }

  mutating func inverse(of relationship: RelationshipDescription) throws -> String {
    let column = column
    let (entity, inverse) = try property()
    guard entity == relationship.destination else {
      throw failure(
        "the inverse must be a property of \(relationship.destination)",
        hint: "write \(relationship.destination).\(inverse)", at: column)
    }
    return inverse
  }

  /// Parses a line inside `create entity`.
  mutating func member(of entity: inout EntityDescription) throws {
    switch try kind(["attribute", "relationship", "index"]) {
    case "attribute":
      let (attribute, filling) = try attribute(try name("the attribute's name"))
      try requireNo(filling)
      entity.attributes.append(attribute)
    case "relationship":
      let (relationship, filling) = try relationship(try name("the relationship's name"))
      try requireNo(filling)
      entity.relationships.append(relationship)
    default: entity.indexes.append(try indexDescription())
    }
    try end()
  }

  /// Refuses a backfill value, because a new entity has no rows.
  private func requireNo(_ filling: DefaultValue?) throws {
    guard filling != nil else { return }
    throw failure(
      "filling has no effect, because a new entity has no rows",
      hint: "remove filling, or write default VALUE")
  }
}
