// Raw objects as statements for the tables of one model, and what a model has in a file besides its tables.

internal import CipherSQLite

/// The statement that makes a raw object, for one model.
struct RawStatement: Hashable {
  let object: RawObject
  /// On one line, as the file keeps it.
  let create: String

  /// The statement that takes it away.
  var drop: String { ("DROP \(Self.kind(object)) \(identifier: object.name)" as SQL).text }

  /// What it can speak of, in lower case.
  var words: Set<String> { SQLTemplate.words(create) }

  var isTrigger: Bool { object.kind == .trigger }

  /// Its place among those that are made together: a trigger may be one of a view.
  var place: Int {
    switch object.kind {
    case .index: 0
    case .view: 1
    case .trigger: 2
    }
  }

  fileprivate init(_ object: RawObject, in model: Schema) throws(ModelError) {
    self.object = object
    let sql = try SQLNames(model: model).resolved(object.line)
    if object.kind == .trigger { try Self.requireNoInserts(sql, model) }
    let name = SQLName(object.name)
    let statement: SQL
    switch object.kind {
    case .view: statement = "CREATE VIEW \(name) AS \(written: sql)"
    case .trigger: statement = "CREATE TRIGGER \(name) \(written: sql)"
    case .index where object.isUnique: statement = "CREATE UNIQUE INDEX \(name) \(written: sql)"
    case .index: statement = "CREATE INDEX \(name) \(written: sql)"
    }
    create = statement.text
  }

  /// Saves give out ids, from marks that a trigger does not know: a row of its own would take the id of the next object.
  /// Links have no ids.
  private static func requireNoInserts(_ sql: String, _ model: Schema) throws(ModelError) {
    for write in TriggerWrite.all(in: sql) where write.isInsertion {
      guard let table = write.table else { continue }
      for entity in model.entities where entity.name.lowercased() == table {
        throw ModelError(
          reason:
            "it inserts into \(entity.name), and only programs and the data blocks of steps make objects, as "
            + "these get ids that no object had; insert it in the save that wakes the trigger, or let the trigger "
            + "UPDATE a row that is there")
      }
    }
  }

  private static func kind(_ object: RawObject) -> SQL {
    switch object.kind {
    case .view: "VIEW"
    case .trigger: "TRIGGER"
    case .index: "INDEX"
    }
  }
}

extension Schema {
  /// The statements of all raw objects, in the order in which they are made.
  var rawStatements: [RawStatement] {
    // A model whose names do not fit has a fault, and comes no further.
    rawObjects.compactMap { try? RawStatement($0, in: self) }.sorted { $0.place < $1.place }
  }

  /// What is wrong with raw objects, by themselves and in this model.
  var rawFaults: [SchemaFault] {
    rawObjects.compactMap { object in
      let reason: String?
      if Self.isUsable(entity: object.name) {
        reason = object.problem ?? misfit(of: object)
      } else {
        reason =
          "this name cannot be used (letters, digits and underscores, not beginning with 'vault_' or 'sqlite_')"
      }
      return reason.map { .badRawObject(name: object.title, reason: $0) }
    }
  }

  /// Why the names of a raw object do not fit the model.
  func misfit(of object: RawObject) -> String? {
    do {
      _ = try RawStatement(object, in: self)
      return nil
    } catch { return error.reason }
  }
}

extension Schema {
  /// The statements that create what the model has in a file, in an order in which they run: a group for each table with its
  /// indexes, then one for each raw object. Every engine takes the same ones.
  package var creatingStatements: [[String]] {
    tables.map { table in
      [table.createSQL(layout(ofTable: table.name))] + table.indexes.map { table.indexSQL($0) }
    } + rawStatements.map { [$0.create] }
  }
}

/// What a model has in a file.
struct StoreLayout: Sendable {
  /// Sorted by name.
  var tables: [TableInfo]
  /// The statements that made raw objects, on one line, by kind and name such as `view Adults`.
  var rawObjects: [String: String] = [:]
}

extension Schema {
  /// What the schema has in a file.
  var layout: StoreLayout {
    StoreLayout(
      tables: tables,
      rawObjects: Dictionary(rawStatements.map { ($0.object.title, $0.create) }) { first, _ in first })
  }
}
