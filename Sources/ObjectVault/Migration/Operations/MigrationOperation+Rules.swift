// Maps each case of MigrationOperation to the value that implements its rules, and lists the forms for
// the parser. This is the only switch over all operations; the rest of the module uses the value.

extension MigrationOperation {
  var rules: any OperationRules {
    switch self {
    case .createEntity(let entity): CreateEntity(entity: entity)
    case .dropEntity(let name): DropEntity(name: name)
    case .renameEntity(let name, let new): RenameEntity(name: name, new: new)
    case .setParent(let entity, let parent): SetParent(entity: entity, parent: parent)
    case .setHistory(let entity, let detail): SetHistory(entity: entity, detail: detail)
    case .addAttribute(let entity, let attribute): AddAttribute(entity: entity, attribute: attribute)
    case .dropAttribute(let entity, let name): DropAttribute(entity: entity, name: name)
    case .renameAttribute(let entity, let name, let new):
      RenameAttribute(entity: entity, name: name, new: new)
    case .retype(let entity, let name, let type, let sql):
      Retype(entity: entity, name: name, type: type, way: sql.map { .sql($0) } ?? .itself)
    case .retypeBySwift(let entity, let name, let type, let function):
      Retype(entity: entity, name: name, type: type, way: .swift(function))
    case .makeRequired(let entity, let name, let filling):
      MakeRequired(entity: entity, name: name, filling: filling)
    case .makeOptional(let entity, let name): MakeOptional(entity: entity, name: name)
    case .setLazy(let entity, let name, let isLazy): SetLazy(entity: entity, name: name, isLazy: isLazy)
    case .setDefault(let entity, let name, let value): SetDefault(entity: entity, name: name, value: value)
    case .addRelationship(let entity, let relationship):
      AddRelationship(entity: entity, relationship: relationship)
    case .dropRelationship(let entity, let name): DropRelationship(entity: entity, name: name)
    case .setDeleteRule(let entity, let name, let rule): SetDeleteRule(entity: entity, name: name, rule: rule)
    case .makeMany(let entity, let name): MakeMany(entity: entity, name: name)
    case .makeOne(let entity, let name, let order): MakeOne(entity: entity, name: name, order: order)
    case .makeOrdered(let entity, let name): MakeOrdered(entity: entity, name: name, isOrdered: true)
    case .makeUnordered(let entity, let name): MakeOrdered(entity: entity, name: name, isOrdered: false)
    case .makeEntityRelationship(let change): change
    case .makeRelationshipEntity(let change): change
    case .moveAttributes(let move): move
    case .mergeEntities(let merge): merge
    case .renameRelationship(let entity, let name, let new):
      RenameRelationship(entity: entity, name: name, new: new)
    case .addIndex(let entity, let index): AddIndex(entity: entity, index: index)
    case .dropIndex(let entity, let names, let comparing):
      DropIndex(entity: entity, names: names, comparing: comparing)
    case .createRawObject(let object): CreateRawObject(object: object)
    case .dropRawObject(let kind, let name): DropRawObject(kind: kind, name: name)
    case .transform(let transform): transform
    case .transformSwift(let transform): transform
    case .seed(let sql): Seed(sql: sql)
    case .require(let sentence, let query): Require(sentence: sentence, query: query)
    }
  }

  /// All operations, in the order in which messages list them.
  private static let all: [any OperationRules.Type] = [
    CreateEntity.self, CreateRawObject.self, DropEntity.self, DropAttribute.self, DropRelationship.self,
    DropIndex.self, DropRawObject.self, RenameEntity.self, RenameAttribute.self, RenameRelationship.self,
    AddAttribute.self, AddRelationship.self, AddIndex.self, Retype.self, EntityToRelationship.self,
    RelationshipToEntity.self, MakeRequired.self, MakeOptional.self, SetLazy.self, MakeMany.self,
    MakeOne.self, MakeOrdered.self, AttributeMove.self, EntityMerge.self, SetDeleteRule.self,
    SetParent.self, SetHistory.self, SetDefault.self, SQLTransform.self, SwiftTransform.self, Seed.self,
    Require.self,
  ]

  /// The forms that lines are parsed by, grouped by their first word.
  static let forms = Dictionary(grouping: all.flatMap { $0.forms }, by: \.verb)

  /// The beginnings of the lines of all operations: `drop entity`, `seed`, and `make Entity.property many`.
  package static var beginnings: [String] {
    all.flatMap { $0.forms }.map { form in
      let isChange = if case .change = form.rest { true } else { false }
      return [form.verb, isChange ? "Entity.property" : nil, form.kind].compactMap { $0 }.joined(
        separator: " ")
    }
  }

  /// The first words of lines, each once.
  static let verbs = all.flatMap { $0.forms.map(\.verb) }.reduce(into: [String]()) { verbs, verb in
    if !verbs.contains(verb) { verbs.append(verb) }
  }

  var subject: OperationSubject { rules.subject }
  var rewritesValues: Bool { rules.traits.rewritesValues }
  var function: AppFunction? { rules.function }

  /// Whether the operation works on rows and leaves the model unchanged.
  package var isData: Bool {
    switch rules.work {
    case .tables, .parts: false
    case .data, .transform, .require: true
    }
  }

  /// Whether the operation may write rows by SQL or Swift of its author. A new store runs all steps if any of
  /// them contains such an operation.
  package var writesRows: Bool { isData && !isRequirement }

  var isRequirement: Bool { if case .require = rules.work { true } else { false } }

  /// The operation as a composite; nil for other operations.
  var composite: (any CompositeOperation)? {
    if case .parts(let composite) = rules.work { composite } else { nil }
  }
}
