// The names that the history of a store has recorded, and how steps change them.

internal import CipherSQLite

/// The entities and properties that the history of a store can name. Each has a number, which it keeps when a
/// step renames it. One that a step removes keeps its number, too: a later one of its name gets another.
struct RecordedNames {
  private var rows: [RecordedNamesTable.Row]
  private var changed: Set<Int64> = []

  /// Reads the names of a file; nil if it has no history.
  init?(_ connection: Connection) throws {
    let table = RecordedNamesTable(connection: connection)
    guard try table.exists() else { return nil }
    rows = try table.rows()
  }

  private func write(_ connection: Connection) throws {
    try RecordedNamesTable(connection: connection).write(rows.filter { changed.contains($0.number) })
  }

  private mutating func change(_ index: Int, to name: String?, version: Int) {
    if let name { rows[index].name = name } else { rows[index].ended = Int64(version) }
    changed.insert(rows[index].number)
  }

  /// The places of the properties in ``rows``, by the number of their entity; without those that ended.
  private var properties: [Int64: [Int]] {
    var places: [Int64: [Int]] = [:]
    for (index, row) in rows.enumerated() where row.ended == nil {
      if let entity = row.entity { places[entity, default: []].append(index) }
    }
    return places
  }

  // MARK: Steps

  /// Gives a number to each entity and property of a model that has none, and marks those that the model does
  /// not have as ended. Makes the tables of the history when a model has one for the first time.
  /// - Parameter version: The version of the model.
  static func update(_ connection: Connection, to model: Schema, version: Int) throws {
    if FileFormat.version(of: model) == FileFormat.withHistory {
      try OwnTables(connection).transactions.createIfMissing()
      try OwnTables(connection).names.createIfMissing()
    }
    guard var names = try RecordedNames(connection) else { return }
    guard names.complete(for: model, version: version) else {
      throw StoreError.bookkeepingDamaged(
        file: connection.path, place: RecordedNamesTable.name, reason: "has too high numbers")
    }
    try names.write(connection)
  }

  /// - Returns: `false` if there are no numbers left.
  private mutating func complete(for model: Schema, version: Int) -> Bool {
    let places = properties
    var entities: [String: Int64] = [:]
    var known: [Int64: Set<String>] = [:]
    for index in rows.indices where rows[index].ended == nil && rows[index].entity == nil {
      let row = rows[index]
      let names = model.flattenedEntity(named: row.name).map { Set($0.propertyNames) }
      // The properties of an entity that ended keep their names.
      guard let names else {
        change(index, to: nil, version: version)
        continue
      }
      entities[row.name] = row.number
      for place in places[row.number] ?? [] {
        if names.contains(rows[place].name) {
          known[row.number, default: []].insert(rows[place].name)
        } else {
          change(place, to: nil, version: version)
        }
      }
    }
    // A number has at most 10 bytes in a record.
    var number = rows.last?.number ?? 0
    guard (0..<Int64.max / 2).contains(number) else { return false }
    func add(_ name: String, of entity: Int64?) -> Int64 {
      number += 1
      rows.append(.init(number: number, entity: entity, name: name))
      changed.insert(number)
      return number
    }
    for entity in model.entities {
      let own = entities[entity.name] ?? add(entity.name, of: nil)
      let all = model.flattened(entity)
      // Links are recorded under the entity that declares them, which need not have a history itself.
      var needed = all.relationships.filter { !$0.hasColumn }.map(\.name)
      if all.history != nil {
        needed += all.attributes.map(\.name) + all.relationships.filter(\.hasColumn).map(\.name)
      }
      for name in needed where known[own]?.contains(name) != true { _ = add(name, of: own) }
    }
    return true
  }

  /// What a part of a step does to the names of a model.
  struct Renaming {
    let before, after: Schema
    /// The new names of the entities whose objects keep their ids, by the former ones.
    let entities: [String: String]
    /// The new names of the properties that an entity itself declares, by the former names.
    let properties: [String: [String: String]]
    /// The former entities of which neither the name nor a property changes.
    let kept: Set<String>
  }

  private mutating func follow(_ renaming: Renaming, version: Int) {
    let places = properties
    for index in rows.indices where rows[index].ended == nil && rows[index].entity == nil {
      let row = rows[index]
      guard let former = renaming.before.entity(named: row.name) else { continue }
      let line = [former] + renaming.before.ancestors(of: former)
      guard !line.allSatisfy({ renaming.kept.contains($0.name) }) else { continue }
      let name = renaming.entities[row.name]
      if name != row.name { change(index, to: name, version: version) }
      guard let name else { continue }
      let names = renaming.after.flattenedEntity(named: name).map { Set($0.propertyNames) } ?? []
      for place in places[row.number] ?? [] {
        let property = rows[place].name
        let owner = line.first { $0.declares(property) }
        let new = owner.flatMap { renaming.properties[$0.name]?[property] }.flatMap {
          names.contains($0) ? $0 : nil
        }
        if new != property { change(place, to: new, version: version) }
      }
    }
  }

  /// Renames the recorded names of a file, and ends those that are gone.
  /// - Parameter version: The version of the model after the step.
  static func follow(_ renamings: [Renaming], version: Int, on connection: Connection) throws {
    guard !renamings.isEmpty, var names = try RecordedNames(connection) else { return }
    for renaming in renamings { names.follow(renaming, version: version) }
    try names.write(connection)
  }

  // MARK: Reading

  /// The names by their numbers. One that ended has the version of the model that lacks it: `title@5`.
  var byNumber: [Int64: (entity: String, property: String?)] {
    func shown(_ row: RecordedNamesTable.Row) -> String { row.ended.map { "\(row.name)@\($0)" } ?? row.name }
    let entities = Dictionary(
      uniqueKeysWithValues: rows.lazy.filter { $0.entity == nil }.map { ($0.number, shown($0)) })
    return Dictionary(
      uniqueKeysWithValues: rows.map { row in
        guard let entity = row.entity else { return (row.number, (shown(row), nil)) }
        return (row.number, (entities[entity] ?? "?", shown(row)))
      })
  }

  /// The numbers of an entity and of its properties, by their names.
  typealias Numbers = [String: (entity: UInt64, properties: [String: UInt64])]

  /// The numbers of the names that exist.
  var numbers: Numbers {
    let places = properties
    var numbers: Numbers = [:]
    for row in rows where row.ended == nil && row.entity == nil {
      let own = (places[row.number] ?? []).map { (rows[$0].name, UInt64(bitPattern: rows[$0].number)) }
      numbers[row.name] = (UInt64(bitPattern: row.number), Dictionary(own) { _, last in last })
    }
    return numbers
  }
}
