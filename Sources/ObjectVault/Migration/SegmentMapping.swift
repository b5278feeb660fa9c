// Where the columns after a run of schema operations come from: names before it, or expressions.

internal import CipherSQLite

/// Follows entities, attributes and relationships through the operations between two data blocks.
struct SegmentMapping {
  /// Final entity -> entity before; absent for a new one.
  private(set) var entities: [String: String]
  /// Final entity -> final property -> property before; absent for a new one.
  private(set) var properties: [String: [String: String]]
  /// Final entity -> final attribute -> SQL over the columns before, where a plain copy will not do.
  private(set) var expressions: [String: [String: String]] = [:]
  /// Attributes that must hold no NULL before, as final entity and attribute.
  private(set) var mustBeFilled: [(entity: String, property: String)] = []

  init(_ before: Schema) {
    entities = Dictionary(uniqueKeysWithValues: before.entities.map { ($0.name, $0.name) })
    properties = Dictionary(
      uniqueKeysWithValues: before.entities.map { entity in
        (entity.name, Dictionary(uniqueKeysWithValues: entity.propertyNames.map { ($0, $0) }))
      })
  }

  /// - Parameter model: The model before the operation.
  mutating func follow(_ operation: MigrationOperation, _ model: Schema) {
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
        using.map { translated($0, entity) } ?? Self.cast(column, to: type)
    case .makeRequired(let entity, let name, let filling):
      guard let column = current(entity, name) else { return }
      if let filling {
        expressions[entity, default: [:]][name] = "ifnull(\(column), \(filling.sql))"
      } else if expressions[entity]?[name] == nil {
        mustBeFilled.append((entity, name))
      }
    default: break
    }
  }

  /// The expression of an attribute so far; nil when it was added in this run.
  private func current(_ entity: String, _ name: String) -> String? {
    expressions[entity]?[name] ?? properties[entity]?[name].map { quoted($0) }
  }

  /// `$User.age` means a column of the table before.
  private func translated(_ sql: String, _ entity: String) -> String {
    var text = sql
    for (final, before) in (properties[entity] ?? [:]).sorted(by: { $0.key.count > $1.key.count }) {
      text = text.replacing("$\(entity).\(final)", with: quoted(before))
    }
    return text
  }

  private static func cast(_ column: String, to type: AttributeType) -> String {
    "CAST(\(column) AS \(type.sqlType))"
  }
}
