// Assigns columns to entities where entities that inherit from one another share a table: by the model in
// the file, or else by the rows. A column's name is Z followed by the property's name in capitals. Where
// two entities of a table have a property of the same name, the name of the second column ends with a
// number.

internal import CipherSQLite
internal import ObjectVault

/// A column of Core Data as a property.
struct CoreDataColumn {
  let column: ForeignTable.Column
  /// The root entity of the table. `place` is the entity that declares the property.
  let root: Int
  var place: Int
  /// The name of the property.
  let name: String
  /// The property in the model; nil where the model has none, or several that match.
  let told: CoreDataModel.Property?
  /// The destination entity; nil for an attribute.
  var target: Int?
}

/// Which entities have values in the columns of a table.
private struct ColumnUse {
  /// The entities that have rows.
  var entities: Set<Int> = []
  /// The entities whose rows have values, by column.
  var values: [String: Set<Int>] = [:]
  /// The number of rows whose entity is unknown.
  var strays: Int64 = 0
}

extension CoreDataAdoption {
  /// The columns of a table that are properties, each with the entity that declares it.
  mutating func columns(of root: Int) throws -> [CoreDataColumn] {
    let table = draft.entities[root].table
    let columns = table.columns.filter { column in
      !["z_pk", "z_ent", "z_opt"].contains(column.name.lowercased())
        && !column.name.uppercased().hasPrefix("Z_FOK_") && !column.name.contains(#/^[Zz][0-9]+_/#)
    }
    let use = try use(of: columns, root)
    if use.strays > 0 {
      draft.losses.append(
        .init(
          name: "\(table.name).Z_ENT", rows: use.strays,
          reason:
            "it is not the number of an entity of the table, so the objects would become objects of "
            + "\(draft.entities[root].entity.name)"
        ))
    }
    let found = assigned(columns, root: root, use: use)
    notePlaces(of: found, root, use)
    return found
  }

  /// Finds the entities that have values in each column, where several entities share the table. This
  /// takes one pass over the table for each batch of 500 columns.
  private func use(of columns: [ForeignTable.Column], _ root: Int) throws -> ColumnUse {
    let table = draft.entities[root].table
    var use = ColumnUse()
    guard draft.hierarchy(of: root).count > 1, let kind = table.column("Z_ENT") else { return use }
    // In batches, because the engine limits the number of result columns.
    for start in stride(from: 0, to: max(columns.count, 1), by: 500) {
      let names = columns.dropFirst(start).prefix(500).map(\.name)
      let counts = SQL.joined(names.map { ", count(\(SQLName($0)))" }, by: "")
      for row in try draft.connection.rows(
        "SELECT \(SQLName(kind.name)), count(*)\(counts) FROM \(SQLName(table.name)) GROUP BY 1")
      {
        let place = row[0].int64.flatMap { places[$0] }.flatMap { draft.line(of: $0).last == root ? $0 : nil }
        if place == nil, start == 0 { use.strays += row[1].int64 ?? 0 }
        use.entities.insert(place ?? root)
        for (name, count) in zip(names, row.dropFirst(2)) where count.int64 != 0 {
          use.values[name, default: []].insert(place ?? root)
        }
      }
    }
    return use
  }

  // MARK: Properties

  /// A property of the model, and the entity that declares it.
  private struct Owner {
    let place: Int
    let property: CoreDataModel.Property
  }

  private func assigned(
    _ columns: [ForeignTable.Column], root: Int, use: ColumnUse
  ) -> [CoreDataColumn] {
    let all = draft.hierarchy(of: root).flatMap { place in
      declared(at: place).filter(\.hasColumn).map { Owner(place: place, property: $0) }
    }
    let owners = Dictionary(grouping: all) { $0.property.name.uppercased() }
    let groups = Dictionary(grouping: columns.indices) { index in
      let stem = columns[index].name.dropFirst().uppercased()
      let digits = stem.reversed().prefix { $0.isASCII && $0.isNumber }.count
      return (0...digits).map { String(stem.dropLast($0)) }.first { owners[$0] != nil } ?? stem
    }
    var found: [Int: Owner] = [:]
    for (stem, indices) in groups {
      // The column without a number comes first.
      let sorted = indices.sorted { columns[$0].name.utf8.count < columns[$1].name.utf8.count }
      found.merge(pairs(sorted, owners: owners[stem] ?? [], columns: columns, use: use)) { first, _ in first }
    }
    return columns.indices.map { index in
      let (column, owner) = (columns[index], found[index])
      let used = use.values[column.name] ?? []
      let place = owner.map { common(used.union([$0.place])) } ?? shown(used, root: root, use: use)
      let stem = String(column.name.dropFirst())
      let name =
        owner.map { $0.property.name + stem.dropFirst($0.property.name.count) }
        ?? AdoptionNames.property(stem)
      return CoreDataColumn(
        column: column, root: root, place: place, name: Self.usable(name), told: owner?.property)
    }
  }

  /// Matches columns whose names differ only in a number with the entities that declare a property of
  /// this name.
  private func pairs(
    _ indices: [Int], owners: [Owner], columns: [ForeignTable.Column], use: ColumnUse
  ) -> [Int: Owner] {
    guard let first = owners.first else { return [:] }
    guard Set(owners.map(\.place)).count == owners.count else {
      // The names differ only in case, and the file does not record which column is which.
      let isOne = owners.allSatisfy { $0.place == first.place && $0.property.kind == first.property.kind }
      return isOne ? Dictionary(uniqueKeysWithValues: indices.map { ($0, first) }) : [:]
    }
    var (found, rest): ([Int: Owner], [Owner]) = ([:], owners)
    // Rows with values determine the owner of a column, because an entity inherits from at most one of
    // the owners.
    for index in indices {
      guard let used = use.values[columns[index].name],
        let match = rest.firstIndex(where: { owner in
          used.allSatisfy { draft.line(of: $0).contains(owner.place) }
        })
      else { continue }
      found[index] = rest.remove(at: match)
    }
    let open = indices.filter { found[$0] == nil }
    // A column without values belongs to any owner that fits. If a single owner is left, it also gets a
    // column whose values are in rows of other entities.
    for index in open where use.values[columns[index].name] == nil || rest.count == 1 {
      let match = rest.firstIndex { owners.count == 1 || $0.property.fits(columns[index].type) }
      if let match { found[index] = rest.remove(at: match) }
    }
    return found
  }

  /// The closest common ancestor of some entities.
  func common(_ places: Set<Int>) -> Int {
    guard var place = places.first else { return 0 }
    while let parent = draft.entities[place].parent,
      !places.allSatisfy({ draft.line(of: $0).contains(place) })
    {
      place = parent
    }
    return place
  }

  /// The entity that the values are limited to, if other entities have rows but no values; otherwise the
  /// root.
  private func shown(_ used: Set<Int>, root: Int, use: ColumnUse) -> Int {
    guard !used.isEmpty else { return root }
    let line = draft.line(of: common(used))
    for (place, parent) in zip(line, line.dropFirst()) {
      let others = use.entities.filter { other in
        let line = draft.line(of: other)
        return line.contains(parent) && !line.contains(place)
      }
      if !others.isEmpty { return place }
    }
    return root
  }

  /// A usable name for a property.
  static func usable(_ name: String) -> String {
    let isUsable = Schema.isUsable(property: name) && SchemaFault.ownNames[name] == nil
    return isUsable ? name : AdoptionNames.property(name)
  }

  // MARK: Notes

  private mutating func notePlaces(of columns: [CoreDataColumn], _ root: Int, _ use: ColumnUse) {
    let hierarchy = draft.hierarchy(of: root)
    guard hierarchy.count > 1 else { return }
    let name = draft.entities[root].entity.name
    for column in columns {
      guard let told = column.told else { continue }
      let own = "\(draft.entities[column.place].entity.name).\(column.name)"
      if column.name != Self.usable(told.name) {
        draft.notes.append(
          "\(own) is called \(told.name) in Core Data's model. It is renamed because another entity in the "
            + "table of \(name) has a property called \(Self.usable(told.name))."
        )
      }
      let owners = hierarchy.filter { declared(at: $0).contains { $0 == told } }
      if !owners.contains(column.place) {
        draft.notes.append(
          "\(own) is declared in a higher entity than in Core Data's model, because rows of other "
            + "entities have values in it.")
      }
    }
    let unknown = columns.filter { $0.told == nil }
    for place in hierarchy.dropFirst() {
      let names = unknown.filter { $0.place == place }.map(\.name)
      guard !names.isEmpty else { continue }
      let them = names.count == 1 ? "it" : "them"
      draft.notes.append(
        "\(draft.entities[place].entity.name) declares \(names.joined(separator: ", ")), because only its "
          + "rows have values in \(them); the file does not record which entity declares \(them). If other "
          + "entities have \(them), too, correct that in step 1.")
    }
    let rest = unknown.filter { $0.place == root }.map(\.name)
    guard !rest.isEmpty else { return }
    let them = rest.count == 1 ? "it" : "them"
    draft.notes.append(
      "\(name) declares \(rest.joined(separator: ", ")), which all its subentities inherit: the file does "
        + "not record which entity declares \(them). In step 1, move \(them) to a subentity if no rows of "
        + "other entities have values in \(them).")
  }
}

extension CoreDataModel.Property {
  /// Whether Core Data stores the property in a column with this declared type.
  fileprivate func fits(_ type: String) -> Bool {
    guard case .attribute(let number, _) = kind else { return type == "INTEGER" }
    // The raw values of NSAttributeType.
    let known: [Int64: String] = [
      100: "INTEGER", 200: "INTEGER", 300: "INTEGER", 400: "DECIMAL", 500: "FLOAT", 600: "FLOAT",
      700: "VARCHAR",
      800: "INTEGER", 900: "TIMESTAMP", 1000: "BLOB", 1100: "BLOB", 1200: "VARCHAR",
    ]
    return known[number].map { $0 == type } ?? true
  }
}
