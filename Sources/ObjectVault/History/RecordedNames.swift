// The names that the history of a store has recorded, and how steps change them.

internal import CipherSQLite

/// The entities and properties that the history of a store can name. Each has a number, which it keeps when a
/// step renames it. One that a step removes keeps its number, too: a later one of its name gets another.
struct RecordedNames {
  private struct Name: Hashable {
    let entity: String
    let property: String?
  }

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

  private mutating func change(_ index: Int, _ body: (inout RecordedNamesTable.Row) -> Void) {
    body(&rows[index])
    changed.insert(rows[index].number)
  }

  // MARK: Steps

  /// Gives every entity and property of a model a number that has none, and marks those that the model does
  /// not have as ended. Makes the tables of the history when a model has one for the first time.
  /// - Parameter version: The version of the model.
  static func update(_ connection: Connection, to model: Schema, version: Int) throws {
    if FileFormat.version(of: model) == FileFormat.withHistory {
      try OwnTables(connection).transactions.createIfMissing()
      try OwnTables(connection).names.createIfMissing()
    }
    guard var names = try RecordedNames(connection) else { return }
    names.complete(for: model, version: version)
    try names.write(connection)
  }

  private mutating func complete(for model: Schema, version: Int) {
    var needed: [Name] = []
    for entity in model.entities {
      needed.append(Name(entity: entity.name, property: nil))
      let all = model.flattened(entity)
      var properties = all.relationships.filter { !$0.hasColumn }.map(\.name)
      if all.history != nil {
        properties += all.attributes.map(\.name) + all.relationships.filter(\.hasColumn).map(\.name)
      }
      needed += properties.map { Name(entity: entity.name, property: $0) }
    }
    var known: Set<Name> = []
    for index in rows.indices where rows[index].ended == nil {
      let name = Name(entity: rows[index].entity, property: rows[index].property)
      let entity = model.flattenedEntity(named: name.entity)
      let exists = name.property.map { entity?.propertyNames.contains($0) == true } ?? (entity != nil)
      if exists { known.insert(name) } else { change(index) { $0.ended = Int64(version) } }
    }
    var number = rows.last?.number ?? 0
    for name in needed where known.insert(name).inserted {
      number += 1
      rows.append(.init(number: number, entity: name.entity, property: name.property))
      changed.insert(number)
    }
  }

  /// What a part of a step does to the names of a model.
  struct Renaming {
    let before, after: Schema
    /// Returns the new name of an entity whose objects keep their ids; nil for any other.
    let entity: (String) -> String?
    /// Returns the new name of a property that an entity itself declares, with its new owner; nil if it is
    /// gone.
    let property: (_ owner: String, _ name: String) -> (owner: String, name: String)?
  }

  /// Renames the recorded names, and ends those that are gone.
  /// - Parameter version: The version of the model after the step.
  mutating func follow(_ renaming: Renaming, version: Int) {
    for index in rows.indices where rows[index].ended == nil {
      let row = rows[index]
      let entity = renaming.entity(row.entity)
      guard let former = row.property else {
        if entity != row.entity {
          change(index) {
            ($0.entity, $0.ended) = (entity ?? row.entity, entity == nil ? Int64(version) : nil)
          }
        }
        continue
      }
      let owner = renaming.before.entity(named: row.entity).flatMap {
        renaming.before.declarer(of: former, in: $0)
      }
      let new = owner.flatMap { renaming.property($0.name, former) }
      guard let entity, let new,
        renaming.after.flattenedEntity(named: entity)?.propertyNames.contains(new.name) == true
      else {
        change(index) { ($0.entity, $0.ended) = (entity ?? row.entity, Int64(version)) }
        continue
      }
      if (entity, new.name) != (row.entity, former) {
        change(index) { ($0.entity, $0.property) = (entity, new.name) }
      }
    }
  }

  /// Renames the recorded names of a file.
  static func follow(_ renamings: [Renaming], version: Int, on connection: Connection) throws {
    guard !renamings.isEmpty, var names = try RecordedNames(connection) else { return }
    for renaming in renamings { names.follow(renaming, version: version) }
    try names.write(connection)
  }

  // MARK: Reading

  /// The names by their numbers. One that ended has the version of the model that lacks it: `title@5`.
  var byNumber: [Int64: (entity: String, property: String?)] {
    func shown(_ name: String, _ ended: Int64?) -> String { ended.map { "\(name)@\($0)" } ?? name }
    var ended: [String: Int64?] = [:]
    for row in rows where row.property == nil { ended[row.entity] = row.ended }
    return Dictionary(
      uniqueKeysWithValues: rows.map { row in
        guard let property = row.property else { return (row.number, (shown(row.entity, row.ended), nil)) }
        let end = ended[row.entity] ?? nil
        return (row.number, (shown(row.entity, end), shown(property, end == nil ? row.ended : nil)))
      })
  }

  /// Returns the numbers of the names that exist.
  var numbers: [String: (entity: UInt64, properties: [String: UInt64])] {
    var numbers: [String: (entity: UInt64, properties: [String: UInt64])] = [:]
    for row in rows where row.ended == nil {
      let number = UInt64(bitPattern: row.number)
      if let property = row.property {
        numbers[row.entity, default: (0, [:])].properties[property] = number
      } else {
        numbers[row.entity, default: (0, [:])].entity = number
      }
    }
    return numbers
  }
}
