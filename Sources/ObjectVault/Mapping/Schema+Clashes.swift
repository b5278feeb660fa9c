// The last of a schema's rules: the tables and indexes that it makes have names of their own.

internal import CipherSQLite

extension Schema {
  /// Checks the schema.
  /// - Throws: ``StoreError/invalidSchema(_:)`` with every fault.
  public func validate() throws {
    let all = faults + modelFaults + ownNameFaults
    guard all.isEmpty else { throw StoreError.invalidSchema(all) }
  }

  /// The faults of the model, whichever way it was made.
  var modelFaults: [SchemaFault] {
    let faults = ownFaults
    return faults.isEmpty ? clashFaults : faults
  }

  /// Tables and indexes share one space of names in the file, and case does not count.
  private var clashFaults: [SchemaFault] {
    var faults: [SchemaFault] = []
    var owners: [String: String] = [:]
    let names = tables.flatMap { table in
      [(table.name, table.name)] + table.indexes.map { ($0.name, "an index of \(table.name)") }
    }
    for (name, owner) in names {
      if let other = owners[name.lowercased()] {
        // Two entities of one name are told by their name.
        if other != name || owner != name {
          faults.append(.clashingName(name: name, owner: owner, other: other))
        }
      }
      owners[name.lowercased()] = owner
    }
    for join in joinTables where entity(named: join.name) != nil {
      faults.append(.clashingName(name: join.name, owner: join.name, other: "the links of \(join.source)"))
    }
    return faults
  }
}
