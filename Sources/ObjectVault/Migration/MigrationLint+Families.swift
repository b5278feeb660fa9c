// The rules about entities that share a table: SQL that does not say of which entity its rows are, and names that entities had
// before in texts, which no renaming follows.

internal import CipherSQLite

extension StepLint {
  /// - Parameters:
  ///   - model: The model before the operation.
  ///   - former: What entities were called before it.
  func familyFindings(_ operation: MigrationOperation, _ model: Schema, _ former: FormerNames)
    -> [MigrationFinding]
  {
    switch operation {
    case .transform(let sql), .seed(let sql):
      return SQLTemplate.statements(sql).flatMap { statement in
        namelessWrite(statement, operation, model) + formerNames(statement, operation, model, former)
      }
    case .require(_, let sql): return formerNames(sql, operation, model, former)
    case .createRawObject(let object): return formerNames(object.sql, operation, model, former)
    case .setParent(let name, let parent): return lostIndexes(name, parent, operation, model)
    default: return []
    }
  }

  // MARK: Whose rows

  private func namelessWrite(_ statement: String, _ operation: MigrationOperation, _ model: Schema)
    -> [MigrationFinding]
  {
    let children = model.entities.filter { $0.parent != nil }.map(\.name)
    guard !children.isEmpty else { return [] }
    // As if each of them had a table of its own.
    let plain = SQLTemplate.resolved(statement) { words in
      quoted(words.split(separator: ".").last.map(String.init) ?? words)
    }
    let line = Self.firstLine(statement)
    if let insertion = NumberedInsert(plain, entities: children) {
      guard !insertion.names(EntityColumn.name) else { return [] }
      let (entity, root) = (insertion.entity, model.root(of: insertion.entity))
      return [
        finding(
          .namesNoEntity, operation,
          "\"\(line)\" makes objects of \(root): a row that does not say what it is, is the root's; write: "
            + "INSERT INTO $\(entity) (\(EntityColumn.name), …) VALUES ('\(entity)', …)")
      ]
    }
    guard let table = SQLTemplate.tableOfWholeWrite(plain),
      let entity = children.first(where: { $0.lowercased() == table })
    else { return [] }
    let own = model.place(of: entity).entities.map { "'\($0)'" }
    return [
      finding(
        .namesNoEntity, operation,
        "\"\(line)\" is about every object of \(model.root(of: entity)), as all lie in one table; write: WHERE "
          + EntityColumn.name + (own.count == 1 ? " = \(own[0])" : " IN (\(own.joined(separator: ", ")))"))
    ]
  }

  private static func firstLine(_ statement: String) -> String {
    let line =
      statement.split(whereSeparator: \.isNewline).map(\.trimmed).first { !$0.isEmpty } ?? ""
    return line.count > 70 ? "\(line.prefix(69))…" : line
  }

  // MARK: Names in texts

  private func formerNames(
    _ sql: String, _ operation: MigrationOperation, _ model: Schema, _ former: FormerNames
  ) -> [MigrationFinding] {
    guard SQLTemplate.words(sql).contains(EntityColumn.name) else { return [] }
    return SQLTemplate.texts(sql).compactMap { former.reason($0, in: model) }.map {
      finding(.namesFormerly, operation, "in \"\(Self.firstLine(sql))\" \($0)")
    }
  }

  // MARK: Indexes

  private func lostIndexes(
    _ name: String, _ parent: String?, _ operation: MigrationOperation, _ model: Schema
  ) -> [MigrationFinding] {
    guard let parent, let change = try? ParentChange(name, to: parent, in: model) else { return [] }
    return change.lostIndexes.map { properties in
      let names = properties.joined(separator: ", ")
      return finding(
        .losesIndex, operation,
        "the index \(name)(\(names)) goes, as \(parent) has none; to have one write: add index \(parent)(\(names))"
      )
    }
  }
}

extension SQLTemplate {
  /// What stands in single quotes, in order, each once.
  fileprivate static func texts(_ sql: String) -> [String] {
    var scanner = SQLScanner(sql)
    var texts: [String] = []
    while let piece = scanner.next() {
      let text = scanner.text(piece.range)
      guard piece.kind == .text, text.hasPrefix("'") else { continue }
      let value = String(text.dropFirst().dropLast())
      if !texts.contains(value) { texts.append(value) }
    }
    return texts
  }

  /// The table of a DELETE or an UPDATE without any WHERE, in lower case; nil for other statements.
  fileprivate static func tableOfWholeWrite(_ sql: String) -> String? {
    var scanner = SQLScanner(sql)
    var words: [String] = []
    while let piece = scanner.next() {
      let text = scanner.text(piece.range).lowercased()
      switch piece.kind {
      case .word: words.append(text)
      case .text: words.append(String(text.dropFirst().dropLast()))
      case .other, .comment: break
      }
    }
    guard words.count > 2, !words.contains("where") else { return nil }
    switch (words[0], words[1]) {
    case ("delete", "from"): return words[2]
    case ("update", "or"): return words.count > 3 ? words[3] : nil
    case ("update", _): return words[1]
    default: return nil
    }
  }
}
