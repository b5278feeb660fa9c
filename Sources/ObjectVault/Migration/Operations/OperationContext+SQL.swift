// Lint rules for SQL where entities share a table: statements that do not name the entity of their rows,
// and former names of entities in text literals, which renamings do not follow.

internal import CipherSQLite

extension OperationContext {
  /// Findings about statements that write rows without naming their entity, and about names that no
  /// entity has any more.
  func writes(in sql: String) -> [OperationRemark] {
    SQLTemplate.statements(sql).flatMap { namelessWrite($0) + formerNames(in: $0) }
  }

  /// A finding when no `require` after the operation checks its result.
  var unchecked: [OperationRemark] {
    guard !later.contains(where: \.isRequirement) else { return [] }
    return [
      (
        .transformsUnchecked,
        "nothing after it checks its result; write: require \"…\" { SELECT … }"
      )
    ]
  }

  // MARK: Rows without an entity

  private func namelessWrite(_ statement: String) -> [OperationRemark] {
    let children = model.entities.filter { $0.parent != nil }.map(\.name)
    guard !children.isEmpty else { return [] }
    // The SQL as if each entity had a table of its own.
    let plain = SQLTemplate.resolved(statement) { words in
      quoted(words.split(separator: ".").last.map(String.init) ?? words)
    }
    let line = Self.firstLine(statement)
    if let insertion = NumberedInsert(plain, entities: EntityNames(children)) {
      guard !insertion.names(EntityColumn.name) else { return [] }
      let (entity, root) = (insertion.entity, model.root(of: insertion.entity))
      return [
        (
          .namesNoEntity,
          "\"\(line)\" inserts objects of \(root), because a row without \(EntityColumn.name) belongs to the "
            + "root; write: INSERT INTO $\(entity) (\(EntityColumn.name), …) VALUES ('\(entity)', …)"
        )
      ]
    }
    guard let table = SQLTemplate.tableOfWholeWrite(plain),
      let entity = children.first(where: { $0.lowercased() == table })
    else { return [] }
    let own = model.place(of: entity).entities.map { "'\($0)'" }
    return [
      (
        .namesNoEntity,
        "\"\(line)\" affects every object of \(model.root(of: entity)), because all are in one table; write: "
          + "WHERE "
          + EntityColumn.name + (own.count == 1 ? " = \(own[0])" : " IN (\(own.joined(separator: ", ")))")
      )
    ]
  }

  private static func firstLine(_ statement: String) -> String {
    let line =
      statement.split(whereSeparator: \.isNewline).map(\.trimmed).first { !$0.isEmpty } ?? ""
    return line.count > 70 ? "\(line.prefix(69))…" : line
  }

  // MARK: Names in text literals

  func formerNames(in sql: String) -> [OperationRemark] {
    guard SQLTemplate.words(sql).contains(EntityColumn.name) else { return [] }
    return SQLTemplate.texts(sql).compactMap { former.reason($0, in: model) }.map {
      (.namesFormerly, "in \"\(Self.firstLine(sql))\": \($0)")
    }
  }
}

extension SQLTemplate {
  /// The contents of single-quoted literals, in order, each once.
  fileprivate static func texts(_ sql: String) -> [String] {
    var scanner = SQLScanner(sql)
    var (texts, seen): ([String], Set<String>) = ([], [])
    while let piece = scanner.next() {
      guard piece.kind == .text, scanner.sign(of: piece) == "'" else { continue }
      let value = scanner.content(of: piece)
      if seen.insert(value).inserted { texts.append(value) }
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
