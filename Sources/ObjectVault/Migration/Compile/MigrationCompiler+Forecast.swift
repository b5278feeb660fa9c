// What the tables behind a run of operations hold, told by what they hold before it: for a plan, which runs nothing.

internal import CipherSQLite

/// A table behind a run.
struct TableForecast {
  let table: String
  /// The table before the run that its rows come from; nil for one without rows.
  let former: String?
  /// What its columns hold, over those of the former table.
  var columns: [(name: String, expression: String)] = []
  /// The columns whose values nobody knows before the run, with the operations that make them.
  var changed: [String: String] = [:]
  /// Whether other rows are in it, or other links.
  var hasOtherRows = false
}

extension MigrationCompiler {
  /// The tables behind the run that are others than before.
  /// - Parameter isPaired: Whether the second ends of one-to-ones are filled out of the first ones; else they are asked before.
  func forecast(isPaired: Bool = true) -> [TableForecast] {
    let moved = tablesOfMovedRows()
    return after.tables(but: untouched).map { table in
      var forecast: TableForecast
      if let origin = origin(of: table) {
        forecast = TableForecast(table: table.name, former: origin.table)
        let added = addedValues(to: table)
        for column in table.columns {
          let value = column.defaultSQL ?? "NULL"
          forecast.columns.append(
            (column.name, origin.expressions[column.name] ?? added[column.name] ?? value))
        }
        addNames(of: table, to: &forecast)
        let paired = isPaired ? pairedColumns(of: table) : [:]
        forecast.changed = changedColumns(of: table).merging(paired) { changed, _ in changed }
      } else {
        forecast = TableForecast(table: table.name, former: nil)
        forecast.columns = table.columns.map { ($0.name, "NULL") }
      }
      forecast.hasOtherRows = moved.contains(table.name) || movedLinks(to: table) != nil
      return forecast
    }
  }

  /// What becomes of the tables before the run: a name that stands for nothing behind it.
  var forecastDrops: [String] { before.tables(but: untouched).map(\.name) }

  /// The defaults of new attributes in the rows of entities that have a parent.
  private func addedValues(to table: TableInfo) -> [String: String] {
    var values: [String: String] = [:]
    for (entity, former) in keptChildren where after.root(of: entity.name) == table.name {
      for attribute in entity.attributes where mapping.former(entity.name, attribute.name) == nil {
        guard let value = attribute.defaultValue, let own = before.place(of: former).condition() else {
          continue
        }
        let sql: SQL = "CASE WHEN \(own) THEN \(written: value.sql) END"
        values[attribute.name] = sql.text
      }
    }
    return values
  }

  /// The names that entities have in their rows.
  private func addNames(of table: TableInfo, to forecast: inout TableForecast) {
    let column = SQLName(EntityColumn.name)
    let renamed = members(of: table).sorted().compactMap { name in
      mapping.entities[name].flatMap { $0 == name ? nil : (old: $0, new: name) }
    }
    guard !renamed.isEmpty, let index = forecast.columns.firstIndex(where: { $0.name == EntityColumn.name }),
      forecast.columns[index].expression == column.description
    else { return }
    let cases = SQL.joined(renamed.map { "WHEN \(literal: $0.old) THEN \(literal: $0.new)" }, by: " ")
    let sql: SQL = "CASE \(column) \(cases) ELSE \(column) END"
    forecast.columns[index].expression = sql.text
  }

  /// The columns that a person's expressions fill. What a filling puts into rows is known before.
  private func changedColumns(of table: TableInfo) -> [String: String] {
    var changed: [String: String] = [:]
    for name in members(of: table) {
      for property in (mapping.expressions[name] ?? [:]).keys {
        let operations = mapping.trail.operations(of: [name], column: property)
        guard !operations.allSatisfy(\.rules.keepsValues) else { continue }
        let toOne = after.entity(named: name)?.relationship(named: property)
        changed[toOne?.columnName ?? property] = operations.filter { !$0.rules.keepsValues }.map(\.summary)
          .joined(separator: "; ")
      }
      for (column, _) in mapping.moves.flatMap({ $0.columns(of: name) }) {
        changed[column] = mapping.trail.operations(of: [name]).map(\.summary).joined(separator: "; ")
      }
    }
    return changed
  }

  /// The tables that get rows, or lose some, and those that led to these.
  func tablesOfMovedRows() -> Set<String> {
    let finals = Set(mapping.entities.values)
    var moved: [(entity: EntityDescription, left: [EntityDescription])] = before.entities.filter {
      $0.parent != nil && !finals.contains($0.name)
    }.map { ($0, before.ancestors(of: $0)) }
    var tables: Set<String> = []
    if let change = mapping.parentChange {
      moved += change.moved.map { ($0, change.left) }
      tables.insert(after.root(of: change.entity.name))
    }
    guard !moved.isEmpty else { return tables }
    let names = Set(moved.flatMap { [$0.entity.name] + $0.left.map(\.name) })
    tables.formUnion(moved.map { before.root(of: $0.entity.name) })
    for entity in before.entities
    where entity.relationships.contains(where: { !$0.isToMany && names.contains($0.destination) }) {
      tables.insert(before.root(of: entity.name))
    }
    tables.formUnion(
      before.joinTables.filter { names.contains($0.source) || names.contains($0.target) }.map(\.name))
    return tables
  }

  // MARK: What the rows are asked behind the run

  /// What checks of values behind the run will ask of those that are there already: that whole numbers are in the range of
  /// a narrower type.
  func forecastChecks() -> [PlannedStatement] {
    mapping.expressions.sorted { $0.key < $1.key }.flatMap { entity, properties in
      properties.keys.sorted().flatMap { property in
        [fittingCheck(entity, property), givenCheck(entity, property)].compactMap { $0 }
      }
    }
  }

  /// That what a person wrote gives a required attribute a value in each row. When the step runs the engine says so.
  private func givenCheck(_ entity: String, _ property: String) -> PlannedStatement? {
    let operations = mapping.trail.operations(of: [entity], column: property)
    guard operations.contains(where: \.rules.traits.hasForeignSQL),
      let attribute = after.flattenedEntity(named: entity)?.attribute(named: property),
      !attribute.isOptional, let expression = mapping.expressions[entity]?[property],
      !expression.contains(Conversion.function), let place = mapping.entities[entity].map(before.place)
    else { return nil }
    let rows: SQL =
      "FROM (SELECT \"id\", (\(written: expression)) AS vault_value FROM \(place.tableName)\(place.filter)) WHERE vault_value IS NULL"
    return PlannedStatement(
      statement: .check(
        query: "SELECT count(*) \(rows)", rows: "SELECT \"id\" \(rows) ORDER BY \"id\" LIMIT 5",
        message:
          "%d objects would have NULL in \(entity).\(property), which is required; \(FillingAdvice.expression)",
        .required, of: entity, [property]),
      operations: operations)
  }

  /// nil for a property of which nothing is asked before.
  func fittingCheck(_ entity: String, _ property: String) -> PlannedStatement? {
    for operation in mapping.trail.operations(of: [entity], column: property) {
      guard let type = operation.rules.fittingType, type.isInteger,
        case .changed(let owner, let name) = operation.subject,
        let place = mapping.entities[entity].map(before.place),
        let column = mapping.former(entity, property),
        // A text that is a number becomes that number; only a whole number has to be in a range.
        mapping.entities[entity].flatMap({ before.entity(named: $0) })?.attribute(named: column)?.type
          .isInteger
          == true
      else { continue }
      let held = SQLName(column)
      return PlannedStatement(
        statement: .mustBeEmpty(
          RowCheck(
            .fitting, owner, [name], at: place, where: "\(held) NOT NULL AND NOT (\(type.holds(held)))",
            message: "%d values of \(owner)(\(name)) are none of that type; change them before")),
        operations: [operation])
    }
    return nil
  }
}
