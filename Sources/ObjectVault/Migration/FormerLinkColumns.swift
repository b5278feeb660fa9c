// SQL of steps that were written when the columns of links were called `source_id` and `target_id` (format 1 of the
// file). Which of the two ends was the source followed from the alphabet, and nobody who writes a step now means that.

internal import CipherSQLite

extension MigrationStep {
  /// What a step that was released then says in its head, so that it runs in stores that never had such columns.
  static let formerLinkAllowance = "former-link-columns"

  /// The SQL with the present columns of links in the place of the former ones, which mean those of the only join
  /// table that their statement names.
  /// - Parameter format: The format of the file when the run began: one of format 1 had such columns.
  /// - Throws: ``StoreError/migrationFailed(step:name:operation:reason:)`` with the columns to write, where it is not
  ///   said that the step is so old.
  func withLinkColumns(_ sql: String, _ model: Schema, _ operation: MigrationOperation, format: Int) throws
    -> String
  {
    let former = [JoinTable.formerColumns.source, JoinTable.formerColumns.target]
    guard former.contains(where: sql.containsASCII) else { return sql }
    return try SQLTemplate.statements(sql).map { statement in
      let words = SQLTemplate.words(statement)
      guard former.contains(where: words.contains), !Self.hasOwnColumns(former, words, model) else {
        return statement
      }
      let joins = model.joinTables.filter { words.contains($0.name.lowercased()) }
      guard let join = joins.first, joins.count == 1 else { return statement }
      let replaced = SQLTemplate.replaced(
        statement, [former[0]: quoted(join.sourceColumn), former[1]: quoted(join.targetColumn)])
      guard replaced != statement else { return statement }
      guard format < 2 || allowed.contains(Self.formerLinkAllowance) else {
        throw failed(operation, Self.refusal(of: join, in: statement, former))
      }
      return replaced
    }.joined(separator: ";")
  }

  /// Whether an entity of the statement has to-ones of those names, so that the columns are its own.
  private static func hasOwnColumns(_ columns: [String], _ words: Set<String>, _ model: Schema) -> Bool {
    model.entities.contains { entity in
      words.contains(entity.name.lowercased())
        && entity.relationships.contains {
          !$0.isToMany && columns.contains(RelationshipDescription.columnName($0.name))
        }
    }
  }

  private static func refusal(of join: JoinTable, in statement: String, _ former: [String]) -> String {
    let lines = statement.split(separator: "\n").filter { line in former.contains { line.contains($0) } }
    let relationship = "$\(join.source).\(join.name.dropFirst(join.source.count + 1))"
    let columns = [join.sourceColumn, join.targetColumn].map { "\(relationship).\($0.dropLast(3))" }
    return "links have no columns \(former.joined(separator: " and ")): \(lines.first?.prefix(120) ?? ""). "
      + "Those of \(relationship) are \(columns.joined(separator: " and ")). A step that was released when they were "
      + "called so says that in its head: allow: \(formerLinkAllowance)"
  }
}
