// Reads plain tables: a row becomes an object, a reference a to-one, and a table of two references a
// many-to-many. Notes and losses report what is omitted.

internal import CipherSQLite
internal import ObjectVault

struct TableAdoption {
  private let content: ForeignContent
  private var draft: AdoptionDraft

  /// Bookkeeping tables of libraries, by their names in lower case, with the name of the library.
  private static let bookkeeping = [
    "grdb_migrations": "GRDB", "android_metadata": "Android", "room_master_table": "Room",
    "schema_migrations": "a migrator", "django_migrations": "Django", "ar_internal_metadata": "Rails",
    "alembic_version": "Alembic", "_prisma_migrations": "Prisma",
    "__efmigrationshistory": "EF Core", "__efmigrationslock": "EF Core", "flyway_schema_history": "Flyway",
    "goose_db_version": "goose", "knex_migrations": "Knex", "knex_migrations_lock": "Knex",
    "__drizzle_migrations": "Drizzle", "databasechangelog": "Liquibase", "databasechangeloglock": "Liquibase",
    "refinery_schema_history": "Refinery", "_sqlx_migrations": "SQLx", "sequelizemeta": "Sequelize",
    "__diesel_schema_migrations": "Diesel", "gorp_migrations": "sql-migrate", "phinxlog": "Phinx",
    "kysely_migration": "Kysely", "kysely_migration_lock": "Kysely", "mikro_orm_migrations": "MikroORM",
    "atlas_schema_revisions": "Atlas", "_fluent_migrations": "Fluent",
    "doctrine_migration_versions": "Doctrine",
  ]

  /// The library that a bookkeeping table belongs to; nil for a table of the program's own, or one that
  /// the steps declare as an entity.
  private func keeper(of table: ForeignTable) -> String? {
    guard let owner = Self.bookkeeping[table.name.lowercased()] else { return nil }
    let entity = AdoptionNames.entity(table.name).lowercased()
    return draft.steps?.entities.contains { $0.name.lowercased() == entity } == true ? nil : owner
  }

  /// Determines what a file's tables become.
  /// - Parameter steps: The model that the result is to fit; nil for none.
  static func adoption(_ content: ForeignContent, _ connection: Connection, steps: Schema?) throws -> Adoption
  {
    var adoption = TableAdoption(content: content, draft: AdoptionDraft(connection, steps: steps))
    return try adoption.run()
  }

  private mutating func run() throws -> Adoption {
    let joins = try entities()
    for place in draft.entities.indices { try attributes(of: place) }
    for place in draft.entities.indices { try references(of: place) }
    for table in joins { try links(table) }
    for place in draft.entities.indices { indexes(of: place) }
    for table in content.tables { remarks(table) }
    for (kind, name) in content.others {
      draft.notes.append(
        "The \(kind) \"\(name)\" is not imported; a later step can create it with: create raw \(kind)")
    }
    return try draft.finished(.tables)
  }

  // MARK: Tables

  /// Creates the entities, and returns the tables that are join tables.
  private mutating func entities() throws -> [ForeignTable] {
    var (joins, names): ([ForeignTable], AdoptionNames) = ([], AdoptionNames())
    let virtual = content.tables.filter(\.isVirtual)
    for table in content.tables {
      if let owner = keeper(of: table) {
        draft.notes.append(
          "\(table.name) is internal to \(owner) (\(counted(table.rowCount, "row"))) and is not imported."
        )
      } else if table.isVirtual {
        lose(table, "a virtual table is computed by a module; create it again from the rows that it indexes")
      } else if virtual.contains(where: { table.name.lowercased().hasPrefix($0.name.lowercased() + "_") }) {
        draft.notes.append("\(table.name) belongs to a virtual table and is not imported.")
      } else if try isJoin(table) {
        joins.append(table)
      } else if table.rowID == nil {
        lose(
          table,
          table.hidesRowID
            ? "its columns rowid, oid and _rowid_ hide the ids of its rows; rename one of them with the program that made it"
            : "it is WITHOUT ROWID, so its rows have no ids for objects")
      } else {
        var entity = EntityDraft(table, name: names.unique(AdoptionNames.entity(table.name)))
        entity.highestID = content.sequence[table.name] ?? 0
        if table.idColumn == nil {
          draft.notes.append(
            "\(table.name) has no INTEGER PRIMARY KEY: its rowids become the ids of \(entity.entity.name).")
        }
        draft.entities.append(entity)
      }
    }
    return joins
  }

  private mutating func lose(_ table: ForeignTable, _ reason: String) {
    draft.losses.append(.init(name: table.name, rows: table.rowCount, reason: reason))
  }

  /// Whether a table is a join table: it consists of two references, and each pair occurs only once.
  private func isJoin(_ table: ForeignTable) throws -> Bool {
    let names = table.columns.map(\.name)
    guard names.count == 2, table.references.count == 2, table.isUnique(names), table.idColumn == nil,
      Set(table.references.flatMap(\.columns).map(\.asciiLowercased)) == Set(names.map(\.asciiLowercased)),
      table.references.allSatisfy({ lookup($0, "s.\(SQLName($0.columns[0]))") != nil }),
      !content.tables.contains(where: { other in
        other.references.contains { $0.table.asciiLowercased == table.name.asciiLowercased }
      })
    else { return false }
    if let steps = draft.steps {
      // A program may have several files, and only some of them may have a row with NULL in this table. So
      // the steps decide for all files: a table that the steps declare as an entity is not a join table.
      let name = AdoptionNames.entity(table.name).lowercased()
      let isAlone = content.tables.count { AdoptionNames.entity($0.name).lowercased() == name } == 1
      return !isAlone || !steps.entities.contains { $0.name.lowercased() == name }
    }
    return try ColumnContent.all(of: names, in: table.name, draft.connection).allSatisfy { $0.nulls == 0 }
  }

  /// The id of the row that a value references, as a subquery; nil if a single column does not identify
  /// the row.
  private func lookup(_ reference: ForeignTable.Reference, _ value: SQL) -> SQL? {
    guard reference.columns.count == 1, let table = content.table(reference.table), let rowID = table.rowID
    else {
      return nil
    }
    let key = table.columns.filter { $0.keyPlace > 0 }
    guard let target = reference.targets.first ?? (key.count == 1 ? key[0].name : nil),
      table.column(target) != nil,
      table.isUnique([target])
    else { return nil }
    // An index with an unavailable collation is sorted differently, so it must not be used for a search.
    // With a binary comparison, the engine does not use it.
    let collation: SQL = table.isForeign(target) ? " COLLATE BINARY" : ""
    return """
      (SELECT p.\(SQLName(rowID)) FROM \(SQLName(table.name)) AS p
      WHERE p.\(SQLName(target)) = \(value)\(collation) LIMIT 1)
      """
  }

  // MARK: Columns

  private func isReference(_ column: ForeignTable.Column, of table: ForeignTable) -> ForeignTable.Reference? {
    table.references.first { reference in
      reference.columns.map(\.asciiLowercased) == [column.name.asciiLowercased]
        && lookup(reference, "s.\(SQLName(column.name))") != nil && draft.place(of: reference.table) != nil
    }
  }

  private mutating func attributes(of place: Int) throws {
    let table = draft.entities[place].table
    let columns = table.columns.filter { $0.name != table.idColumn && isReference($0, of: table) == nil }
    try draft.addAttributes(columns, to: place)
  }

  private mutating func references(of place: Int) throws {
    let table = draft.entities[place].table
    let entity = draft.entities[place].entity.name
    var done: Set<String> = []
    for reference in table.references {
      let from = reference.columns.joined(separator: ", ")
      guard let column = reference.columns.first.flatMap(table.column),
        let target = draft.place(of: reference.table),
        let lookup = lookup(reference, "s.\(SQLName(column.name))")
      else {
        draft.notes.append(
          "\(table.name)(\(from)) refers to \(reference.table) by several columns, or refers to a table that "
            + "is not an entity; its columns become attributes.")
        continue
      }
      guard done.insert(column.name.asciiLowercased).inserted else {
        draft.notes.append(
          "\(table.name).\(from) also refers to \(reference.table); this reference is not imported.")
        continue
      }
      let isID = column.name == table.idColumn
      let several =
        table.references.filter { $0.table.asciiLowercased == reference.table.asciiLowercased }.count > 1
      let name =
        isID ? AdoptionNames.property(reference.table) : AdoptionNames.relationship(column.name)
      let back =
        AdoptionNames.many(entity) + (several ? "By" + AdoptionNames.capitalized(name) : "")
      try draft.addToOne(
        name, from: place, to: target, column: isID ? nil : column, given: "s.\(SQLName(column.name))",
        lookup: lookup, back: BackDraft(name: back, rule: rule(reference.onDelete)))
      if reference.onDelete == "SET DEFAULT" {
        draft.notes.append(
          "\(entity).\(name) was ON DELETE SET DEFAULT, which cannot be kept; its delete rule is deny.")
      }
    }
  }

  private func rule(_ onDelete: String) -> DeleteRule {
    switch onDelete {
    case "CASCADE": .cascade
    case "SET NULL": .nullify
    default: .deny
    }
  }

  private mutating func links(_ table: ForeignTable) throws {
    let ends = table.columns.compactMap { column -> (place: Int, id: SQL, stem: String)? in
      guard
        let reference = table.references.first(where: {
          $0.columns[0].asciiLowercased == column.name.asciiLowercased
        }),
        let place = draft.place(of: reference.table), let id = lookup(reference, "s.\(SQLName(column.name))")
      else { return nil }
      return (place, id, AdoptionNames.relationship(column.name))
    }
    guard ends.count == 2 else { return lose(table, "it links a table that is not an entity") }
    let isSelf = ends[0].place == ends[1].place
    func name(_ other: (place: Int, id: SQL, stem: String)) -> String {
      AdoptionNames.many(isSelf ? other.stem : draft.entities[other.place].entity.name)
    }
    try draft.addLinks(
      table, between: EndDraft(place: ends[0].place, name: name(ends[1]), id: ends[0].id),
      and: EndDraft(place: ends[1].place, name: name(ends[0]), id: ends[1].id))
  }

  // MARK: Indexes and the rest

  private mutating func indexes(of place: Int) {
    let (table, properties) = (draft.entities[place].table, draft.entities[place].properties)
    for index in table.indexes {
      let names = index.columns.map { $0.flatMap { properties[$0.asciiLowercased] } }
      guard !index.isPartial, !names.contains(nil), !names.isEmpty else {
        draft.notes.append(
          "The index \(index.name) of \(table.name) has a WHERE, an expression or the id, and is not "
            + "imported."
        )
        continue
      }
      if index.isSpecial {
        draft.notes.append(
          "The index \(index.name) of \(table.name) is imported, but with the usual order and comparison.")
      }
      // Two unique indexes may differ only in collation. Both are imported as unique indexes without a
      // collation, which the rows satisfy.
      draft.entities[place].entity.indexes.append(
        IndexDescription(properties: names.compactMap { $0 }, isUnique: index.isUnique))
    }
  }

  /// A quoted text or name in SQL, matched by Unicode scalars as the engine does.
  private static var quotedPart: Regex<Substring> {
    #/'[^']*'|"[^"]*"|`[^`]*`|\[[^\]]*\]/#.matchingSemantics(.unicodeScalar)
  }

  private mutating func remarks(_ table: ForeignTable) {
    guard draft.place(of: table.name) != nil else { return }
    let words = table.sql.replacing(Self.quotedPart, with: "").uppercased()
    if words.contains(#/\bCHECK\s*\(/#) {
      draft.notes.append(
        "\(table.name) has CHECK constraints, which are not imported. Write them into the schema: .check.")
    }
    if words.contains(#/\bCOLLATE\s+(?!BINARY)/#) {
      draft.notes.append(
        "\(table.name) has columns with a COLLATE, which is not imported; texts are compared byte by byte.")
    }
    if table.references.contains(where: { $0.onUpdate != "NO ACTION" && $0.onUpdate != "RESTRICT" }) {
      draft.notes.append(
        "\(table.name) has ON UPDATE rules, which are not imported; ids of objects never change.")
    }
  }
}
