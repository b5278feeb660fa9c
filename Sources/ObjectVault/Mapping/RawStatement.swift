// The statements that create raw objects in one model, and the layout of a model's file.

internal import CipherSQLite

/// The statement that creates a raw object in one model.
struct RawStatement: Hashable {
  let object: RawObject
  /// The CREATE statement on one line, as the file stores it.
  let create: String

  /// The statement that drops the object.
  var drop: String { ("DROP \(Self.kind(object)) \(identifier: object.name)" as SQL).text }

  /// The words of the statement in lower case, among them all names that it refers to.
  var words: Set<String> { SQLTemplate.words(create) }

  var isTrigger: Bool { object.kind == .trigger }

  /// The position in the order of creation: a trigger may be on a view.
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

  /// Throws when a trigger inserts rows of an entity. Saves assign ids from high-water marks, which a
  /// trigger cannot update: its row would take the id of the next object. Links have no ids.
  private static func requireNoInserts(_ sql: String, _ model: Schema) throws(ModelError) {
    for write in TriggerWrite.all(in: sql) where write.isInsertion {
      guard let table = write.table else { continue }
      for entity in model.entities where entity.name.lowercased() == table {
        throw ModelError(
          reason:
            "it inserts into \(entity.name), but only programs and the data blocks of steps can create "
            + "objects, because only they assign new ids; insert the object in the save that fires the "
            + "trigger, or let the trigger UPDATE an existing row")
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
  /// The statements of all raw objects, in the order of their creation.
  var rawStatements: [RawStatement] {
    // Names that do not resolve are a fault of the model, which is reported separately.
    rawObjects.compactMap { try? RawStatement($0, in: self) }.sorted { $0.place < $1.place }
  }

  /// The faults of raw objects, in their SQL and in this model.
  var rawFaults: [SchemaFault] {
    rawObjects.compactMap { object in
      let reason: String?
      if Self.isUsable(entity: object.name) {
        reason = object.problem ?? misfit(of: object)
      } else {
        reason =
          "this name cannot be used; a name has letters, digits and underscores, and does not begin with "
          + "'vault_' or 'sqlite_'"
      }
      return reason.map { .badRawObject(name: object.title, reason: $0) }
    }
  }

  /// Returns why the names of a raw object do not fit the model; nil when they do.
  func misfit(of object: RawObject) -> String? {
    do {
      _ = try RawStatement(object, in: self)
      return nil
    } catch { return error.reason }
  }
}

extension Schema {
  /// The statements that create the model in a file, in a valid order: a group for each table with its
  /// indexes, then one for each raw object. They are the same for every engine.
  package var creatingStatements: [[String]] {
    tables.map { table in
      [table.createSQL(layout(ofTable: table.name))] + table.indexes.map { table.indexSQL($0) }
    } + rawStatements.map { [$0.create] }
  }
}

/// The tables and raw objects of a model in a file.
struct StoreLayout: Sendable {
  /// The tables, sorted by name.
  var tables: [TableInfo]
  /// The statements that create raw objects, each on one line, by kind and name such as `view Adults`.
  var rawObjects: [String: String] = [:]
}

extension Schema {
  /// The layout of the schema's file.
  var layout: StoreLayout {
    StoreLayout(
      tables: tables,
      rawObjects: Dictionary(rawStatements.map { ($0.object.title, $0.create) }) { first, _ in first })
  }
}
