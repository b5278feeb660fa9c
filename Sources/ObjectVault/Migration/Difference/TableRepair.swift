// Generates SQL that repairs a table which a person changed by hand. The SQL is only printed; a person
// runs it in the sqlcipher shell.
//
// All statements of a remedy are on one line, because the shell skips the rest of a line after an error.
// On separate lines, it would drop the table after a failed copy.

internal import CipherSQLite

/// The repair of a store's table that differs from the model.
struct TableRepair {
  let found: TableInfo
  let expected: TableInfo
  let model: Schema
  /// The steps that were about to run.
  let steps: [CompiledStep]
  var engine = Engine.current

  /// Returns a remedy for each line of the difference: for lines about missing parts and for lines about
  /// unexpected parts. The remedies are in the order of the lines.
  func remedies(missing: [String], unexpected: [String]) -> (missing: [String], unexpected: [String]) {
    guard isRebuilt else {
      return (missing.map { alone(missing: $0) }, unexpected.map { alone(unexpected: $0) })
    }
    let removal =
      self.unexpected.isEmpty
      ? nil
      : missing.isEmpty && unexpected.count == 1
        ? Self.removal : "repair the table, which removes unexpected columns AND THEIR VALUES"
    var texts = [unrepairableReason ?? Self.shell(rebuild, to: removal)]
    texts += Array(
      repeating: unrepairableReason == nil ? Self.same : "", count: missing.count + unexpected.count)
    return (
      Array(texts.prefix(missing.count)),
      zip(unexpected, texts.dropFirst(missing.count)).map { $1 + (kept(line: $0) ?? "") }
    )
  }

  /// The raw objects that a rebuild drops and creates again, such as `trigger ranked`.
  var remade: Set<String> { isRebuilt && unrepairableReason == nil ? Set(raw.map(\.object.title)) : [] }

  /// The remedy for a line that another line's remedy covers.
  static let same = " (the same statements fix this)"

  /// Returns the remedy for a missing table.
  static func making(_ table: TableInfo, _ model: Schema) -> String {
    let layout = model.layout(ofTable: table.name)
    guard layout.collations.isEmpty, !hasFoldedIndex(table) else { return noCollations }
    return shell([table.createSQL(layout)] + table.indexes.map { table.indexSQL($0) })
  }

  /// Returns SQL in the form that is appended to a line.
  /// - Parameter purpose: What the SQL does; nil where the line makes it clear.
  static func shell(_ statements: [String], to purpose: String? = nil) -> String {
    " (\(purpose.map { "to \($0), run " } ?? "")in the sqlcipher shell: "
      + "\(statements.map { "\($0);" }.joined(separator: " ")))"
  }

  /// The purpose of SQL that removes an unexpected column.
  private static let removal = "remove it AND ITS VALUES"

  // MARK: What differs

  private var layout: TableLayout { model.layout(ofTable: expected.name) }
  private var missing: [TableInfo.Column] { expected.columns.filter { !found.has($0.name) } }
  private var unexpected: [TableInfo.Column] { found.columns.filter { !expected.has($0.name) } }

  /// Whether the repair requires a rebuild of the table.
  private var isRebuilt: Bool {
    let lines = SchemaDifference.parts(of: expected)
    let isChanged = found.columns.contains { column in
      expected.has(column.name) && !lines.contains(SchemaDifference.line(of: column))
    }
    let keys = Set(found.foreignKeys).symmetricDifference(expected.foreignKeys)
    let (gone, surplus) = (missing, unexpected)
    return isChanged || gone.contains(where: \.isPrimaryKey)
      || keys.contains { key in !gone.contains { $0.name == key.column } }
      || surplus.contains { !engine.canDropColumn || isUsed($0.name) }
  }

  /// Whether an index or the primary key contains a column, so that the engine cannot drop it without a
  /// rebuild.
  private func isUsed(_ column: String) -> Bool {
    found.indexes.contains { $0.columns.contains(column) }
      || found.columns.contains { $0.name == column && $0.isPrimaryKey }
  }

  // MARK: One by one

  private func alone(missing line: String) -> String {
    if let index = expected.indexes.first(where: { SchemaDifference.line(of: $0) == line }) {
      return usesDecimals(index.columns) || index.isFolded
        ? Self.noCollations : Self.shell([expected.indexSQL(index)])
    }
    guard let column = missing.first(where: { SchemaDifference.line(of: $0) == line }) else {
      return Self.same
    }
    if isLost(column) { return Self.lost }
    if usesDecimals([column.name]) { return Self.noCollations }
    let sql: SQL =
      "ALTER TABLE \(identifier: expected.name) ADD COLUMN \(expected.definition(column, layout))"
    return Self.shell([sql.text])
  }

  private func alone(unexpected line: String) -> String {
    if let index = found.indexes.first(where: { SchemaDifference.line(of: $0) == line }) {
      return Self.shell(["DROP INDEX \(SQLName(index.name))"])
    }
    guard let column = unexpected.first(where: { SchemaDifference.line(of: $0) == line }) else { return "" }
    let sql: SQL = "ALTER TABLE \(identifier: found.name) DROP COLUMN \(identifier: column.name)"
    return Self.shell([sql.text], to: Self.removal) + (kept(line: line) ?? "")
  }

  private func usesDecimals(_ columns: [String]) -> Bool {
    columns.contains { layout.collations[$0] != nil }
  }

  // MARK: The whole table

  /// Why no SQL in the shell repairs the table; nil if SQL can.
  private var unrepairableReason: String? {
    if missing.contains(where: isLost) { return Self.lost }
    return layout.collations.isEmpty && !Self.hasFoldedIndex(expected) ? nil : Self.noCollations
  }

  /// Whether rows would need values that no longer exist.
  private func isLost(_ column: TableInfo.Column) -> Bool {
    column.isRequired && column.defaultSQL == nil || column.isPrimaryKey
  }

  private static let lost = " (its data is lost: restore a backup)"
  private static let noCollations =
    " (the sqlcipher shell has no collation for decimals and for texts without case, and cannot write a table "
    + "or an index with them: restore a backup)"

  /// Whether a table has an index that ignores case or diacritics.
  private static func hasFoldedIndex(_ table: TableInfo) -> Bool { table.indexes.contains(where: \.isFolded) }

  private var rebuild: [String] {
    let copy = "_mig_\(expected.name)"
    // The columns are in the order of the file, with missing ones last: equivalent models may order
    // columns differently.
    var table = expected
    table.columns =
      found.columns.compactMap { column in expected.columns.first { $0.name == column.name } } + missing
    let isLazy = { (column: TableInfo.Column) in layout.lazyColumns.contains(column.name) }
    table.columns = table.columns.filter { !isLazy($0) } + table.columns.filter(isLazy)
    let kept = SQL.names(table.columns.filter { found.has($0.name) }.map { SQLName($0.name) })
    let insert: SQL =
      "INSERT INTO \(identifier: copy) (\(kept)) SELECT \(kept) FROM \(identifier: found.name)"
    let drop: SQL = "DROP TABLE \(identifier: found.name)"
    let rename: SQL = "ALTER TABLE \(identifier: copy) RENAME TO \(identifier: expected.name)"
    return ["PRAGMA foreign_keys = OFF"]
      + (engine.rewritesReferencesOnRename ? ["PRAGMA legacy_alter_table = ON"] : [])
      + ["BEGIN IMMEDIATE", table.createSQL(as: copy, layout), insert.text, drop.text, rename.text]
      + table.indexes.sorted { $0.name < $1.name }.map { table.indexSQL($0) } + raw.map(\.create)
      + ["COMMIT"]
  }

  /// The model's raw objects that are dropped with the table.
  private var raw: [RawStatement] {
    model.rawStatements.filter { $0.table == expected.name.lowercased() }
  }

  // MARK: Values that a pending step needs

  /// Returns how to keep the values of an unexpected column; nil unless a pending step adds an attribute
  /// of its name and type.
  private func kept(line: String) -> String? {
    guard let column = unexpected.first(where: { SchemaDifference.line(of: $0) == line }),
      let step = steps.first(where: { $0.adds(column, to: found.name) }), found.has("id")
    else { return nil }
    let free = freeName("\(found.name)_\(column.name)_kept", among: Set(model.layout.tables.map(\.name)))
    let (table, aside, name) = (SQLName(found.name), SQLName(free), SQLName(column.name))
    let save: SQL = "CREATE TABLE \(aside) AS SELECT \"id\", \(name) FROM \(table) WHERE \(name) IS NOT NULL"
    let put: SQL =
      "UPDATE \(table) SET \(name) = (SELECT k.\(name) FROM \(aside) k WHERE k.\"id\" = \(table).\"id\") WHERE \"id\" IN (SELECT \"id\" FROM \(aside))"
    let drop: SQL = "DROP TABLE \(aside)"
    return
      "; step \(numbered(step.step.number)) \(step.step.name) adds a column of this name and type, so its "
      + "values can be kept: before the step, run \(save.text); and after the step \(put.text); \(drop.text);"
  }
}

extension CompiledStep {
  /// Whether the step adds an attribute with the name and the type of a column.
  fileprivate func adds(_ column: TableInfo.Column, to table: String) -> Bool {
    parts.contains { part in
      part.operations.contains { operation in
        guard let added = operation.rules as? AddAttribute else { return false }
        return part.model.root(of: added.entity) == table
          && added.attribute.name.lowercased() == column.name.lowercased()
          && added.attribute.type.sqlType == column.type.uppercased()
      }
    }
  }
}

extension RawStatement {
  /// The table or view that a trigger or an index belongs to, in lower case.
  fileprivate var table: String? {
    guard object.kind != .view else { return nil }
    var scanner = SQLScanner(create)
    var isAfterOn = false
    while let piece = scanner.next() {
      guard piece.kind == .word || piece.kind == .text else { continue }
      let text = scanner.text(piece.range).lowercased()
      if isAfterOn { return piece.kind == .text ? String(text.dropFirst().dropLast()) : text }
      isAfterOn = piece.kind == .word && text == "on"
    }
    return nil
  }
}

extension TableInfo {
  fileprivate func has(_ column: String) -> Bool { columns.contains { $0.name == column } }
}

extension TableInfo.Index {
  /// Whether the index ignores case or diacritics, by a collation of the store.
  fileprivate var isFolded: Bool { collations.contains { $0?.hasPrefix("vault_fold_") == true } }
}
