// The columns of a store followed through pending steps, as far as they will still hold what they hold now: what a step
// asks of them can then be asked before any step runs.

internal import CipherSQLite

/// What an operation will ask of rows.
struct RowQuestion {
  let entity: String
  let properties: [String]
  let rule: MigrationPlan.Refusal.Rule

  /// - Returns: The question; nil for operations that ask nothing of rows that are there.
  init?(_ operation: MigrationOperation) {
    switch operation {
    case .addIndex(let entity, let index) where index.isUnique:
      (self.entity, properties, rule) = (entity, index.properties, .unique)
    // An expression of more than the value itself would have to be computed for every row.
    case .retype(let entity, let name, let type, let using?)
    where type.isInteger && using == "$\(entity).\(name)":
      (self.entity, properties, rule) = (entity, [name], .fitting)
    case .makeRequired(let entity, let name, filling: nil):
      (self.entity, properties, rule) = (entity, [name], .required)
    case .addAttribute(let entity, let attribute)
    where !attribute.isOptional && attribute.defaultValue == nil:
      (self.entity, properties, rule) = (entity, [attribute.name], .required)
    case .addAttribute(let entity, let attribute) where attribute.isUnique && attribute.defaultValue != nil:
      (self.entity, properties, rule) = (entity, [attribute.name], .unique)
    case .addRelationship(let entity, let relationship)
    where relationship.isRequired && !relationship.isToMany:
      (self.entity, properties, rule) = (entity, [relationship.name], .required)
    default: return nil
    }
  }
}

struct StandingColumns {
  private enum Content {
    /// What a column of the file holds now; the type is that of an attribute.
    case column(String, AttributeType?)
    /// The same value in each row, or none.
    case same(isNull: Bool)
    case changed(by: String)
  }

  private struct Table {
    /// Where its rows lie; nil for an entity that a step makes.
    let place: EntityPlace?
    /// The entity that it inherits from, which holds some of what is asked of it.
    var parent: String?
    var columns: [String: Content] = [:]
    /// The step whose data block speaks of it.
    var writer: String?
  }

  private var tables: [String: Table]

  init(_ model: Schema) {
    tables = [:]
    for entity in model.entities {
      var table = Table(place: model.place(of: entity.name), parent: entity.parent)
      for attribute in entity.attributes {
        table.columns[attribute.name] = .column(attribute.name, attribute.type)
      }
      for relationship in entity.relationships where !relationship.isToMany {
        table.columns[relationship.name] = .column(relationship.columnName, nil)
      }
      tables[entity.name] = table
    }
  }

  mutating func follow(_ operation: MigrationOperation, of step: MigrationStep) {
    switch operation {
    case .createEntity(let entity): tables[entity.name] = Table(place: nil, parent: entity.parent)
    case .dropEntity(let name): tables[name] = nil
    case .renameEntity(let name, let new):
      tables[new] = tables.removeValue(forKey: name)
      for child in tables.keys where tables[child]?.parent == name { tables[child]?.parent = new }
    case .setParent(let entity, let parent):
      for name in [entity, parent].compactMap({ $0 }) {
        tables[name]?.writer = "\(numbered(step.number)) \(step.name)"
      }
      tables[entity]?.parent = parent
    case .addAttribute(let entity, let attribute):
      tables[entity]?.columns[attribute.name] = .same(isNull: attribute.defaultValue == nil)
    case .addRelationship(let entity, let relationship) where !relationship.isToMany:
      tables[entity]?.columns[relationship.name] = .same(isNull: true)
    case .dropAttribute(let entity, let name), .dropRelationship(let entity, let name),
      .makeMany(let entity, let name):
      tables[entity]?.columns[name] = nil
    case .renameAttribute(let entity, let name, let new), .renameRelationship(let entity, let name, let new):
      let content = tables[entity]?.columns.removeValue(forKey: name)
      tables[entity]?.columns[new] = content
    case .retype(let entity, let name, _, _), .retypeBySwift(let entity, let name, _, _),
      .makeRequired(let entity, let name, filling: .some),
      .makeOne(let entity, let name, _):
      tables[entity]?.columns[name] = .changed(by: operation.summary)
    case .transform(let sql), .seed(let sql):
      let words = SQLTemplate.words(sql)
      for name in tables.keys where words.contains(name.lowercased()) && tables[name]?.writer == nil {
        tables[name]?.writer = "\(numbered(step.number)) \(step.name)"
      }
    case .mergeEntities(let merge):
      // Whoever leads to one of both hears of it, too.
      tables[merge.source] = nil
      for name in tables.keys { tables[name]?.writer = "\(numbered(step.number)) \(step.name)" }
    case .moveAttributes, .makeEntityRelationship, .makeRelationshipEntity:
      for name in operation.composite?.entities ?? [] {
        tables[name, default: Table(place: nil)].writer = "\(numbered(step.number)) \(step.name)"
      }
    case .transformSwift(let transform):
      for name in tables.keys where tables[name]?.writer == nil {
        guard transform.writes?.contains(where: { $0.entity == name }) ?? true else { continue }
        tables[name]?.writer = "\(numbered(step.number)) \(step.name)"
      }
    default: break
    }
  }

  /// How many rows an entity has when steps come to it; nil where an earlier one writes rows, too.
  func count(of entity: String, _ connection: Connection) throws -> Int? {
    guard let table = tables[entity], writer(of: entity) == nil else { return nil }
    guard let place = table.place else { return 0 }
    return try connection.value("SELECT count(*) FROM \(place.rows)")?.int64.map(Int.init)
  }

  /// The entity with those above it, as far as the steps have come.
  private func line(of entity: String) -> [String] {
    var line = [entity]
    while let parent = tables[line[line.count - 1]]?.parent, !line.contains(parent) { line.append(parent) }
    return line
  }

  /// The step whose data block speaks of an entity, or of one whose table it shares.
  private func writer(of entity: String) -> String? {
    guard let root = line(of: entity).last else { return nil }
    return tables.keys.filter { line(of: $0).last == root }.sorted().lazy.compactMap { tables[$0]?.writer }
      .first
  }

  /// The answer of the rows as they are now.
  enum Answer {
    case accepted
    case refused(MigrationPlan.Refusal)
    /// Why it cannot be asked before the steps run.
    case unasked(String)
  }

  func answer(_ question: RowQuestion, _ operation: MigrationOperation, _ connection: Connection) throws
    -> Answer
  {
    guard let table = tables[question.entity] else { return .accepted }
    if let writer = writer(of: question.entity) {
      return .unasked("step \(writer) writes rows of \(question.entity) before")
    }
    guard let place = table.place else { return .accepted }
    let owners = line(of: question.entity)
    var columns: [SQLName] = []
    var isNull = false
    for property in question.properties {
      switch owners.lazy.compactMap({ tables[$0]?.columns[property] }).first {
      // A text that is a number becomes that number; only a whole number has to be in a range.
      case .column(_, let type) where question.rule == .fitting && type?.isInteger != true: return .accepted
      case .column(let column, _): columns.append(SQLName(column))
      case .same(let isNullThere): isNull = isNull || isNullThere
      case .changed(let operation):
        return .unasked("\"\(operation)\" changes \(question.entity).\(property) before")
      // Not in the file yet: what the operation itself adds.
      case nil: isNull = isNull || question.rule == .required
      }
    }
    let (count, rows) =
      switch question.rule {
      case .required: Self.missing(columns, isNull, place.rows)
      case .unique: Self.repeated(columns, isNull, place.rows)
      case .fitting: Self.unfit(columns, operation, place.rows)
      }
    guard let count, let bad = try connection.value(count)?.int64, bad > 0 else { return .accepted }
    return .refused(
      MigrationPlan.Refusal(
        operation: operation.summary, entity: question.entity, properties: question.properties,
        rule: question.rule,
        count: Int(bad), rows: try connection.query(rows) { $0.int64(0) }))
  }

  private static func missing(_ columns: [SQLName], _ isNull: Bool, _ table: SQL) -> (SQL?, SQL) {
    let condition = isNull ? "1" : SQL.joined(columns.map { "\($0) IS NULL" }, by: " OR ")
    guard !condition.isEmpty else { return (nil, "") }
    return (
      "SELECT count(*) FROM \(table) WHERE \(condition)",
      "SELECT \"id\" FROM \(table) WHERE \(condition) ORDER BY \"id\" LIMIT 5"
    )
  }

  private static func unfit(_ columns: [SQLName], _ operation: MigrationOperation, _ table: SQL) -> (
    SQL?, SQL
  ) {
    guard let column = columns.first, case .retype(_, _, let type, _) = operation else { return (nil, "") }
    let condition: SQL = "\(column) NOT NULL AND NOT (\(type.holds(column)))"
    return (
      "SELECT count(*) FROM \(table) WHERE \(condition)",
      "SELECT \"id\" FROM \(table) WHERE \(condition) ORDER BY \"id\" LIMIT 5"
    )
  }

  private static func repeated(_ columns: [SQLName], _ isNull: Bool, _ table: SQL) -> (SQL?, SQL) {
    // NULL is like no other NULL.
    if isNull { return (nil, "") }
    let isThere = columns.isEmpty ? "1" : SQL.joined(columns.map { "\($0) NOT NULL" }, by: " AND ")
    let group = columns.isEmpty ? "typeof(1)" : SQL.names(columns)
    let groups: SQL = "FROM \(table) WHERE \(isThere) GROUP BY \(group) HAVING count(*) > 1"
    return (
      "SELECT count(*) FROM (SELECT 1 \(groups))", "SELECT max(\"id\") \(groups) ORDER BY 1 LIMIT 5"
    )
  }
}
