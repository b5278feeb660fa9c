// One line of a migration file, word by word. Where words begin and end is in MigrationLine+Words.

struct MigrationLine {
  private let file: String
  private let number: Int
  private let line: MigrationWords
  private var index = 0
  private var words: [MigrationWords.Word] { line.words }

  /// - Throws: ``StoreError/migrationSyntax(_:)`` for a text without an end.
  init(_ text: String, file: String, number: Int) throws {
    (self.file, self.number, line) = (file, number, MigrationWords(text))
    guard let column = line.openText else { return }
    throw failure("a text has no end", "close it with \" on the same line; \\n in it is a new line", column)
  }

  private func failure(_ reason: String, _ hint: String, _ column: Int? = nil) -> StoreError {
    let column = column ?? (index < words.count ? words[index].column : line.end)
    return .migrationSyntax(
      MigrationSyntaxError(file: file, line: number, column: column + 1, reason: reason, hint: hint))
  }

  // MARK: Words

  private var next: String? { index < words.count && !words[index].isString ? words[index].text : nil }

  private mutating func take(_ word: String) -> Bool {
    guard next == word else { return false }
    index += 1
    return true
  }

  mutating func expect(_ word: String) throws {
    guard take(word) else {
      throw failure(
        "\(word) is missing\(next.map { " before \($0)" } ?? "")", "the line should go on with \(word)")
    }
  }

  /// The brace that opens a block, which ends the line's words.
  /// - Returns: How many scalars stand before the block's SQL.
  mutating func brace(behind word: String) throws -> Int {
    guard take("{") else {
      throw failure("{ is missing behind \(word)", "write the SQL in braces")
    }
    return line.sqlColumn ?? line.end
  }

  mutating func end() throws {
    guard index < words.count else { return }
    throw failure("\"\(words[index].text)\" has no meaning here", "end the line before it")
  }

  mutating func name(_ what: String) throws -> String {
    guard let word = next, Schema.isIdentifier(word) else {
      throw failure(
        "\(what) is missing\(next.map { "; \"\($0)\" is no name" } ?? "")",
        "names have letters, digits and underscores")
    }
    index += 1
    return word
  }

  /// `Entity.property`.
  private mutating func property() throws -> (String, String) {
    guard let word = next else { throw failure("Entity.property is missing", "write it like User.city") }
    let parts = word.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, parts.allSatisfy(Schema.isIdentifier) else {
      throw failure("\"\(word)\" is no Entity.property", "write it like User.city")
    }
    index += 1
    return (parts[0], parts[1])
  }

  mutating func string(_ what: String) throws -> String {
    guard index < words.count, words[index].isString else {
      throw failure("\(what) is missing", "write it in double quotes")
    }
    index += 1
    return words[index - 1].text
  }

  private mutating func type() throws -> AttributeType {
    guard let word = next else {
      throw failure("the type is missing", "types are \(Self.typeNames.joined(separator: " "))")
    }
    guard let type = AttributeType(rawValue: word == "int64" ? "int" : word) else {
      let near = nearest(word, among: Self.typeNames).first
      throw failure(
        "\(word) is no type",
        near.map { "did you mean \($0)?" } ?? "types are \(Self.typeNames.joined(separator: " "))")
    }
    index += 1
    return type
  }

  private static let typeNames = AttributeType.allCases.map(\.rawValue)

  private mutating func value() throws -> DefaultValue {
    guard index < words.count else {
      throw failure("a value is missing", "write a number, true, false or a \"text\"")
    }
    let word = words[index]
    index += 1
    if word.isString { return .text(word.text) }
    if word.text == "true" { return .integer(1) }
    if word.text == "false" { return .integer(0) }
    if let value = Int64(word.text) { return .integer(value) }
    if let value = Double(word.text), value.isFinite { return .real(value) }
    index -= 1
    throw failure("\"\(word.text)\" is no value", "write a number, true, false or a \"text\"")
  }

  // MARK: Operations

  mutating func operation() throws -> MigrationOperation {
    let verbs = ["create", "drop", "rename", "add", "retype", "make", "set", "transform", "seed", "require"]
    guard let verb = next else {
      throw failure("an operation is missing", "begin with \(verbs.joined(separator: ", "))")
    }
    guard verbs.contains(verb) else {
      let near = nearest(verb, among: verbs).first
      throw failure(
        "\(verb) is no operation",
        near.map { "did you mean \($0)?" } ?? "operations begin with \(verbs.joined(separator: ", "))")
    }
    index += 1
    let operation: MigrationOperation
    switch verb {
    case "drop": operation = try drop()
    case "rename": operation = try rename()
    case "add": operation = try add()
    case "retype": operation = try retype()
    case "make": operation = try make()
    case "set":
      if take("delete") {
        try expect("rule")
        try expect("of")
        let (entity, name) = try property()
        try expect("to")
        let rule = DeleteRule(rawValue: try kind("nullify", "cascade", "deny")) ?? .nullify
        operation = .setDeleteRule(entity, name, rule)
        break
      }
      try expect("default")
      try expect("of")
      let (entity, name) = try property()
      try expect("to")
      operation = .setDefault(entity, name, take("none") ? nil : try value())
    default: throw failure("\(verb) is not written like this", "see the list of operations")
    }
    try end()
    return operation
  }

  private mutating func kind(_ kinds: String...) throws -> String {
    guard let word = next, kinds.contains(word) else {
      let near = next.flatMap { nearest($0, among: kinds).first }
      throw failure(
        "\(kinds.joined(separator: " or ")) is missing",
        near.map { "did you mean \($0)?" } ?? "say what it is")
    }
    index += 1
    return word
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
    return .retype(entity, name, to: type, using: try expression())
  }

  /// The SQL in the brackets behind `using`, kept as it stands.
  private mutating func expression() throws -> String {
    var scanner = SQLScanner(line.scalars, from: line.sqlColumn ?? line.end)
    while scanner.scalar(at: scanner.position)?.properties.isWhitespace == true { scanner.position += 1 }
    let start = scanner.position
    let missing = failure("( … ) is missing behind using", "write an SQL expression in brackets", start)
    guard scanner.scalar(at: start) == "(" else { throw missing }
    var depth = 0
    while let piece = scanner.next() {
      // Such a comment would go over all that is written behind the expression.
      guard piece.isClosed, piece.kind != .comment || scanner.scalars[piece.range.lowerBound] == "/" else {
        throw missing
      }
      guard piece.kind == .other else { continue }
      let scalar = scanner.scalars[piece.range.lowerBound]
      if scalar == "(" { depth += 1 }
      if scalar == ")" { depth -= 1 }
      guard depth == 0 else { continue }
      let rest = scanner.scalars[scanner.position...].drop { $0.properties.isWhitespace }
      guard rest.isEmpty || rest.first == "#" else {
        throw failure("something stands behind )", "end the line there", rest.startIndex)
      }
      let expression = scanner.text(start + 1..<piece.range.lowerBound)[...].trimmed
      guard !expression.isEmpty else {
        throw failure("nothing stands in the brackets", "write an SQL expression", start)
      }
      return expression
    }
    throw missing
  }

  private mutating func make() throws -> MigrationOperation {
    let (entity, name) = try property()
    if try kind("required", "optional") == "optional" { return .makeOptional(entity, name) }
    return .makeRequired(entity, name, filling: take("filling") ? try value() : nil)
  }

  private mutating func names() throws -> [String] {
    try expect("(")
    var names = [try name("a property's name")]
    while take(",") { names.append(try name("a property's name")) }
    try expect(")")
    return names
  }

  private mutating func attribute(_ name: String) throws -> AttributeDescription {
    var attribute = AttributeDescription(name: name, type: try type())
    while let word = next {
      switch word {
      case "optional": attribute.isOptional = true
      case "unique": attribute.isUnique = true
      case "indexed": attribute.isIndexed = true
      case "default":
        index += 1
        let value = try value()
        if let problem = value.problem(for: attribute.type) {
          index -= 1
          throw failure(problem, "write a value of the type, or no default")
        }
        attribute.defaultValue = value.fitting(attribute.type)
        continue
      default:
        let near = nearest(word, among: ["optional", "unique", "indexed", "default"]).first
        throw failure(
          "\(word) is no option",
          near.map { "did you mean \($0)?" } ?? "options are optional unique indexed default")
      }
      index += 1
    }
    return attribute
  }

  private mutating func relationship(_ name: String) throws -> RelationshipDescription {
    try expect("->")
    var relationship = RelationshipDescription(
      name: name, destination: try self.name("the entity at the other end"))
    while let word = next {
      index += 1
      switch word {
      case "many": relationship.isToMany = true
      case "required": relationship.isRequired = true
      case "inverse":
        let (entity, inverse) = try property()
        guard entity == relationship.destination else {
          index -= 1
          throw failure(
            "the inverse is a property of \(relationship.destination)",
            "write \(relationship.destination).\(inverse)")
        }
        relationship.inverse = inverse
      case "on":
        try expect("delete")
        relationship.deleteRule = DeleteRule(rawValue: try kind("nullify", "cascade", "deny")) ?? .nullify
      default:
        index -= 1
        let near = nearest(word, among: ["many", "required", "inverse", "on"]).first
        throw failure(
          "\(word) is no option",
          near.map { "did you mean \($0)?" } ?? "options are many, required, inverse D.x, on delete RULE")
      }
    }
    return relationship
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
