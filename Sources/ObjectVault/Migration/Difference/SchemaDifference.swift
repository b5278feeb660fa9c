// Compares two models, or two sets of tables, and reports a line for each difference.

internal import CipherSQLite

package enum SchemaDifference {
  /// Returns a line for each difference between two models.
  /// - Parameters:
  ///   - found: The present model.
  ///   - expected: The intended model.
  ///   - foundName: The name of the present model in the lines.
  ///   - expectedName: The name of the intended model in the lines.
  package static func lines(
    _ found: Schema, against expected: Schema, found foundName: String, expected expectedName: String
  ) -> [String] {
    let names = (found: foundName, expected: expectedName)
    return entityLines(found: found, expected: expected, names: names)
      + rawLines(found: found, expected: expected, names: names)
  }

  private typealias Names = (found: String, expected: String)

  private static func entityLines(found: Schema, expected: Schema, names: Names) -> [String] {
    let lines = expected.entities.flatMap { entity in
      found.entity(named: entity.name).map { Self.lines(found: $0, expected: entity, names: names) }
        ?? ["\(entity.name) is missing in \(names.found)"]
    }
    let others = found.entities.filter { expected.entity(named: $0.name) == nil }
    return lines + others.map { "\($0.name) is missing in \(names.expected)" }
  }

  private static func lines(
    found: EntityDescription, expected: EntityDescription, names: Names
  ) -> [String] {
    var lines: [String] = []
    if expected.parent != found.parent {
      lines.append(
        "\(expected.name) \(inheritance(of: found)) in \(names.found) and \(inheritance(of: expected)) in \(names.expected)"
      )
    }
    if expected.history != found.history {
      lines.append(
        "\(expected.name) \(history(of: found)) in \(names.found) and \(history(of: expected)) in "
          + names.expected)
    }
    let (ours, theirs) = (members(of: expected), members(of: found))
    for (name, text) in ours.sorted(by: { $0.key < $1.key }) where theirs[name] != text {
      lines.append(
        theirs[name].map {
          "\(expected.name).\(name) is \"\($0)\" in \(names.found) and \"\(text)\" in \(names.expected)"
        } ?? "\(expected.name).\(name) is missing in \(names.found)")
    }
    for name in theirs.keys.sorted() where ours[name] == nil {
      lines.append("\(expected.name).\(name) is missing in \(names.expected)")
    }
    return lines
  }

  private static func rawLines(found: Schema, expected: Schema, names: Names) -> [String] {
    let lines = expected.rawObjects.compactMap { object -> String? in
      guard let other = found.rawObject(named: object.name) else {
        return "the raw \(object.title) is missing in \(names.found)"
      }
      return other == object
        ? nil
        : "the raw \(object.title) is \"\(other.line)\" in \(names.found) and \"\(object.line)\" in \(names.expected)"
    }
    let others = found.rawObjects.filter { expected.rawObject(named: $0.name) == nil }
    return lines + others.map { "the raw \($0.title) is missing in \(names.expected)" }
  }

  private static func inheritance(of entity: EntityDescription) -> String {
    entity.parent.map { "inherits from \($0)" } ?? "has no parent"
  }

  private static func history(of entity: EntityDescription) -> String {
    "has \(entity.history.map { "the history \($0.rawValue)" } ?? "no history")"
  }

  private static func members(of entity: EntityDescription) -> [String: String] {
    var members: [String: String] = [:]
    for attribute in entity.attributes { members[attribute.name] = attribute.text }
    for relationship in entity.relationships {
      members[relationship.name] = relationship.text
    }
    for index in entity.indexes {
      let properties = index.properties.joined(separator: ", ")
      members["index (\(properties))\(index.comparing.ignoring)"] = index.isUnique ? "unique" : "index"
    }
    return members
  }

  /// Returns a line for each table, column, index or raw object of a file that is missing, unexpected or
  /// different.
  /// - Parameters:
  ///   - model: The model of a store whose tables were changed by hand. Each line then has a remedy. Nil
  ///     for other files.
  ///   - steps: The steps that were about to run.
  static func lines(
    found: StoreLayout, expected: StoreLayout, repairing model: Schema? = nil,
    before steps: [CompiledStep] = []
  ) -> [String] {
    var (lines, remade): ([String], Set<String>) = ([], [])
    for table in expected.tables {
      guard let other = found.tables.first(where: { $0.name == table.name }), !other.columns.isEmpty else {
        lines.append("table \(table.name) is missing\(model.map { TableRepair.making(table, $0) } ?? "")")
        continue
      }
      let missing = parts(of: table).subtracting(parts(of: other)).sorted()
      let unexpected = parts(of: other).subtracting(parts(of: table)).sorted()
      guard !missing.isEmpty || !unexpected.isEmpty else { continue }
      let repair = model.map { TableRepair(found: other, expected: table, model: $0, steps: steps) }
      let remedies = repair?.remedies(missing: missing, unexpected: unexpected)
      lines += missing.enumerated().map {
        "\(table.name): \($1) is missing\(remedies?.missing[$0] ?? "")"
      }
      lines += unexpected.enumerated().map {
        "\(table.name) has an unexpected \($1)\(remedies?.unexpected[$0] ?? "")"
      }
      remade.formUnion(repair?.remade ?? [])
    }
    return lines + rawLines(found: found, expected: expected, isStore: model != nil, remade)
  }

  /// Returns the lines about raw objects.
  /// - Parameter remade: The raw objects that the remedy for a table creates again.
  private static func rawLines(
    found: StoreLayout, expected: StoreLayout, isStore: Bool, _ remade: Set<String>
  ) -> [String] {
    func remedy(_ title: String, _ statements: [String]) -> String {
      guard isStore else { return "" }
      return remade.contains(title) ? TableRepair.same : TableRepair.shell(statements)
    }
    return expected.rawObjects.sorted { $0.key < $1.key }.compactMap { title, statement in
      guard let other = found.rawObjects[title] else {
        return "\(title) is missing\(remedy(title, [statement]))"
      }
      guard other != statement else { return nil }
      let words = title.split(separator: " ", maxSplits: 1).map(String.init)
      let drop = "DROP \(words[0].uppercased()) \(SQLName(words[words.count - 1]))"
      return "\(title) is \"\(other)\" instead of \"\(statement)\"\(remedy(title, [drop, statement]))"
    }
  }

  static func line(of index: TableInfo.Index) -> String {
    // The other collations are those of the columns.
    let columns = zip(index.columns, index.collations).map { column, collation in
      collation.map { $0.hasPrefix("vault_fold_") ? "\(column) COLLATE \($0)" : column } ?? column
    }
    return "\(index.isUnique ? "unique " : "")index \(index.name) on \(columns.joined(separator: ", "))"
  }

  static func line(of column: TableInfo.Column) -> String {
    "column \(column.name) \(column.type)\(column.isRequired ? " NOT NULL" : "")"
      + (column.defaultSQL.map { " DEFAULT \($0)" } ?? "")
  }

  /// Returns the tables and raw objects of a file, as far as they have the names of the expected ones.
  static func found(_ expected: StoreLayout, in connection: Connection) throws -> StoreLayout {
    var found = StoreLayout(
      tables: try expected.tables.map { try connection.tableInfo($0.name).spellingFloats(as: $0) })
    guard !expected.rawObjects.isEmpty else { return found }
    let rows = try connection.rows(
      "SELECT type || ' ' || name, sql FROM sqlite_master WHERE type IN ('view', 'trigger', 'index') AND sql NOT NULL"
    )
    for row in rows {
      guard let title = row[0].string, expected.rawObjects[title] != nil else { continue }
      found.rawObjects[title] = row[1].string.map(RawObject.line)
    }
    let indexes = Set(found.rawObjects.keys.filter { $0.hasPrefix("index ") })
    for place in found.tables.indices where !indexes.isEmpty {
      found.tables[place].indexes.removeAll { indexes.contains("index \($0.name)") }
    }
    return found
  }

  /// Returns a table as a set of lines, because the order of its columns does not matter.
  static func parts(of table: TableInfo) -> Set<String> {
    Set(
      table.columns.map(line)
        + table.foreignKeys.map { "reference \($0.column) to \($0.table) on delete \($0.onDelete)" }
        + table.indexes.map(line))
  }

  /// Returns the SHA-256 of the lines of all tables, and of the statements of raw objects.
  static func physicalHash(_ layout: StoreLayout) -> String {
    let tables = layout.tables.sorted { $0.name < $1.name }
      .map { "\($0.name)\n" + parts(of: $0).sorted().joined(separator: "\n") }
    let raw = layout.rawObjects.sorted { $0.key < $1.key }.map { "\($0.key)\n\($0.value)" }
    let text = (tables + raw).joined(separator: "\n\n")
    return sha256(Array(text.utf8))
  }
}

extension TableInfo {
  /// Returns the table with each float default spelled as in another table, if both spellings are one
  /// Float. Earlier releases wrote `0.1` as the step has it; now the exact value of the Float is written.
  fileprivate func spellingFloats(as other: TableInfo) -> TableInfo {
    var table = self
    for index in table.columns.indices {
      guard
        let expected = other.columns.first(where: { $0.name == table.columns[index].name })?.defaultSQL,
        let number = Double(expected), Double(Float(number)) == number,
        let found = table.columns[index].defaultSQL.flatMap(Double.init), Float(found) == Float(number)
      else { continue }
      table.columns[index].defaultSQL = expected
    }
    return table
  }
}
