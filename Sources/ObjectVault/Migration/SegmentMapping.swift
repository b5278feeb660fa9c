// Where the columns after a run of schema operations come from: names before it, or expressions.

internal import CipherSQLite

/// Follows entities, attributes and relationships through the operations between two data blocks.
struct SegmentMapping {
  private let before: Schema
  /// Final entity -> entity before; absent for a new one.
  private(set) var entities: [String: String]
  /// Final entity -> final property -> property before; absent for a new one.
  private(set) var properties: [String: [String: String]]
  /// Final entity -> final attribute -> SQL over the columns before, where a plain copy will not do.
  private(set) var expressions: [String: [String: String]] = [:]
  /// Attributes that must hold no NULL before, as final entity and attribute.
  private(set) var mustBeFilled: [(entity: String, property: String)] = []

  init(_ before: Schema) {
    self.before = before
    entities = Dictionary(before.entities.map { ($0.name, $0.name) }) { first, _ in first }
    properties = Dictionary(
      before.entities.map { entity in
        (entity.name, Dictionary(entity.propertyNames.map { ($0, $0) }) { first, _ in first })
      }
    ) { first, _ in first }
  }

  /// Whether an operation's expression speaks of a value that this run has yet to make. It needs a run of its
  /// own then: only a column converts what is put into it to its type.
  func needsOwnRun(_ operation: MigrationOperation) -> Bool {
    guard case .retype(let entity, let name, _, _?) = operation else { return false }
    return expressions[entity]?[name] != nil
  }

  /// - Parameter model: The model before the operation.
  mutating func follow(_ operation: MigrationOperation, _ model: Schema) throws {
    switch operation {
    case .createEntity(let entity):
      entities[entity.name] = nil
      properties[entity.name] = [:]
    case .dropEntity(let name):
      entities[name] = nil
      properties[name] = nil
      expressions[name] = nil
    case .renameEntity(let name, let new):
      entities[new] = entities.removeValue(forKey: name)
      properties[new] = properties.removeValue(forKey: name)
      expressions[new] = expressions.removeValue(forKey: name)
    case .dropAttribute(let entity, let name), .dropRelationship(let entity, let name):
      properties[entity]?[name] = nil
      expressions[entity]?[name] = nil
    case .renameAttribute(let entity, let name, let new), .renameRelationship(let entity, let name, let new):
      let property = properties[entity]?.removeValue(forKey: name)
      let expression = expressions[entity]?.removeValue(forKey: name)
      properties[entity]?[new] = property
      expressions[entity]?[new] = expression
    case .retype(let entity, let name, let type, let using):
      guard let column = current(entity, name) else { return }
      expressions[entity, default: [:]][name] =
        try using.map { try translated($0, model) } ?? Self.cast(column, to: type)
    case .makeRequired(let entity, let name, let filling):
      guard let column = current(entity, name) else { return }
      if let filling {
        let type = model.entity(named: entity)?.attribute(named: name)?.type
        expressions[entity, default: [:]][name] =
          "ifnull(\(column), \((type.map(filling.fitting) ?? filling).sql))"
      } else if expressions[entity]?[name] == nil {
        mustBeFilled.append((entity, name))
      }
    default: break
    }
  }

  /// The expression of a property so far; nil when it was added in this run, or has no column.
  private func current(_ entity: String, _ name: String) -> String? {
    if let expression = expressions[entity]?[name] { return expression }
    guard let former = properties[entity]?[name] else { return nil }
    let owner = entities[entity].flatMap { before.entity(named: $0) }
    guard let relationship = owner?.relationship(named: former) else { return quoted(former) }
    return relationship.isToMany ? nil : quoted("\(former)_id")
  }

  /// `$User.age` means what the column holds at this point, `$User` the table, both as they are before the run.
  private func translated(_ sql: String, _ model: Schema) throws -> String {
    try SQLTemplate.resolved(sql) { words in
      let names = words.split(separator: ".").map(String.init)
      guard let entity = model.entity(named: names.first ?? "") else {
        let near = nearest(names.first ?? "", among: model.entities.map(\.name)).first
        throw ModelError(
          reason:
            "$\(words) names no entity of the model at this point\(near.map { "; did you mean $\($0)?" } ?? "")"
        )
      }
      guard let table = entities[entity.name] else {
        throw ModelError(
          reason: "$\(words) is new in this step; write a data block between, and it can be used")
      }
      guard names.count > 1 else { return quoted(table) }
      if names[1] == "id" { return quoted("id") }
      guard entity.propertyNames.contains(names[1]) else {
        let near = nearest(names[1], among: entity.propertyNames).first
        throw ModelError(
          reason:
            "$\(words) names no property of the model at this point\(near.map { "; did you mean $\(entity.name).\($0)?" } ?? "")"
        )
      }
      guard let column = current(entity.name, names[1]) else {
        throw ModelError(
          reason: "$\(words) has no column before this operation: it is a to-many, or new in this step")
      }
      return column == expressions[entity.name]?[names[1]] ? "(\(column))" : column
    }
  }

  private static func cast(_ column: String, to type: AttributeType) -> String {
    "CAST(\(column) AS \(type.sqlType))"
  }
}
