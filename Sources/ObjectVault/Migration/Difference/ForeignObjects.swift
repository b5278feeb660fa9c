// Foreign objects of a file, which belong neither to its model nor to the store itself. A foreign trigger
// may change rows at each save, without a notice to objects in memory.

internal import CipherSQLite

/// A table, view, trigger or index that belongs neither to the model nor to the store itself.
struct ForeignObject: Hashable {
  let type, name, table, sql: String

  /// A description, such as `the trigger spy on Thing is not part of the store`.
  var title: String {
    let place = type == "trigger" || type == "index" ? " on \(table)" : ""
    return "the \(type) \(name)\(place) is not part of the store"
  }

  /// The SQL that drops the object.
  var drop: String { "DROP \(type.uppercased()) \(SQLName(name));" }

  /// The advice to a person: how to remove the object, and what to write instead.
  var remedy: String {
    let other =
      switch type {
      case "table": ""
      // No step runs while a table of the store has a foreign index, so the index has to be dropped
      // first.
      case "index": "; then a step can create it: create raw index"
      default: ", or let a step create it: create raw \(type)"
      }
    return "Drop it with the sqlcipher shell (\(drop))\(other)"
  }

  var sentence: String { "\(title): no step has created it. \(remedy)" }
}

/// The foreign objects of a file.
struct ForeignObjects {
  let layout: StoreLayout

  /// Returns a sentence for each foreign object of a file.
  func findings(_ connection: Connection) throws -> [String] { try found(connection).map(\.sentence) }

  /// Returns a sentence for each object because of which the steps are refused before the first one runs:
  /// a trigger that a step would drop without a notice, an object whose name a step uses, and an object
  /// that names something which a step removes.
  func obstacles(to steps: [CompiledStep], _ connection: Connection) throws -> [String] {
    let found = try found(connection)
    // Without foreign objects, the layouts of all models are not needed.
    guard !found.isEmpty else { return [] }
    let silentlyDropped = silentlyDropped(found, by: steps)
    let readers = found.filter { $0.type != "index" && !silentlyDropped.contains($0) }
    return silentlyDropped.map(\.sentence) + taken(found, from: steps)
      + (try ForeignReaders(connection: connection, readers: readers).obstacles(to: steps))
  }

  /// Returns sentences about objects whose names the steps give to tables, indexes or raw objects. A raw
  /// object may replace a foreign object of its kind. Triggers are omitted: they have a name space of
  /// their own.
  private func taken(_ found: [ForeignObject], from steps: [CompiledStep]) -> [String] {
    var left = found.filter { found in
      // A foreign index on a store's table is reported as a difference from the model.
      found.type != "trigger"
        && !(found.type == "index"
          && layout.tables.contains { $0.name.lowercased() == found.table.lowercased() })
    }
    let names = Set(found.map(\.name) + layout.tables.map(\.name))
    var lines: [String] = []
    if let first = steps.first {
      // Rebuilds and moves use temporary tables with such names. A step drops a leftover table, but it
      // cannot drop a view as a table.
      let passing = left.filter { found in
        found.type == "view" && ["_mig_", "_mig-"].contains { found.name.lowercased().hasPrefix($0) }
      }
      lines += passing.map { found in
        "\(found.title), but steps such as \(numbered(first.step.number)) \(first.step.name) use temporary "
          + "tables with such names. \(remedy(found, among: names))"
      }
      left.removeAll(where: passing.contains)
    }
    for step in steps {
      for part in step.parts where !part.isData {
        let given = part.model.layout.givenNames.subtracting(part.before.layout.givenNames)
        let hit = left.filter { found in
          given.contains { $0.name == found.name.lowercased() && !($0.isRaw && $0.type == found.type) }
        }
        lines += hit.map { found in
          "\(found.title), but step \(numbered(step.step.number)) \(step.step.name) creates an object with "
            + "its name. "
            + remedy(found, among: names)
        }
        left.removeAll { found in hit.contains { $0.name == found.name && $0.type == found.type } }
      }
    }
    return lines
  }

  /// Returns the advice for an object whose name a step uses, with a line of SQL.
  private func remedy(_ found: ForeignObject, among names: Set<String>) -> String {
    guard found.type == "table" else { return "Drop it with the sqlcipher shell: \(found.drop)" }
    let free = SQLName(freeName("\(found.name)_before", among: names))
    return
      "Rename it with the sqlcipher shell (ALTER TABLE \(SQLName(found.name)) RENAME TO \(free);), or drop it "
      + "(\(found.drop))"
  }

  /// Returns the foreign triggers that steps would drop without a notice, by rebuilding their table. A
  /// trigger that the rebuilding step or an earlier step creates is no longer foreign at the rebuild.
  private func silentlyDropped(_ found: [ForeignObject], by steps: [CompiledStep]) -> [ForeignObject] {
    var (copied, made): (Set<String>, Set<String>) = ([], [])
    // For each rebuilt table, the triggers that the steps up to and including its first rebuild create.
    var claimed: [String: Set<String>] = [:]
    for step in steps {
      // Only triggers count: a view or an index may have the name of a trigger.
      made.formUnion(
        step.parts.flatMap(\.model.rawObjects).filter { $0.kind == .trigger }.map { $0.name.lowercased() })
      for case .copy(let copy) in step.parts.flatMap(\.statements)
      where copied.insert(copy.source.lowercased()).inserted {
        claimed[copy.source.lowercased()] = made
      }
    }
    guard !copied.isEmpty else { return [] }
    return found.filter { found in
      found.type == "trigger" && claimed[found.table.lowercased()]?.contains(found.name.lowercased()) == false
    }
  }

  /// Returns the foreign views and triggers.
  func readers(_ connection: Connection) throws -> [ForeignObject] {
    try found(connection).filter { ["view", "trigger"].contains($0.type) }
  }

  private func found(_ connection: Connection) throws -> [ForeignObject] {
    let expected = Set(
      OwnTables.names.map { "table \($0)" } + layout.tables.map { "table \($0.name)".lowercased() }
        + layout.tables.flatMap(\.indexes).map { "index \($0.name)".lowercased() }
        + layout.rawObjects.keys.map { $0.lowercased() })
    let rows = try connection.rows("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name")
    return rows.compactMap { row in
      let (type, name, table) = (row[0].string ?? "", row[1].string ?? "", row[2].string ?? "")
      guard !expected.contains("\(type) \(name)".lowercased()), !Self.isEngines(type, named: name) else {
        return nil
      }
      return ForeignObject(type: type, name: name, table: table, sql: row[3].string ?? "")
    }
  }

  /// Whether the engine has created an object for itself; SQL cannot create an object with such a name.
  private static func isEngines(_ type: String, named name: String) -> Bool {
    switch type {
    case "index": name.hasPrefix("sqlite_autoindex_")
    case "table": name == "sqlite_sequence" || name.hasPrefix("sqlite_stat")
    default: false
    }
  }
}

/// A name that a model gives to a table, an index or a raw object, in lower case, because SQL ignores
/// case.
private struct GivenName: Hashable {
  let type, name: String
  let isRaw: Bool
}

extension StoreLayout {
  /// The names of tables, views and indexes, which share one name space.
  fileprivate var givenNames: Set<GivenName> {
    let raw = rawObjects.keys.compactMap { title -> GivenName? in
      let words = title.split(separator: " ", maxSplits: 1).map(String.init)
      guard words.count == 2, words[0] != "trigger" else { return nil }
      return GivenName(type: words[0], name: words[1].lowercased(), isRaw: true)
    }
    return Set(
      tables.map { GivenName(type: "table", name: $0.name.lowercased(), isRaw: false) }
        + tables.flatMap(\.indexes).map { GivenName(type: "index", name: $0.name.lowercased(), isRaw: false) }
        + raw)
  }
}
