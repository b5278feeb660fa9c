// Translates the engine's messages about constraints into names of the model.

internal import CipherSQLite

extension SchemaMapping {
  /// Returns the entity and the columns that a constraint's message is about; nil when a column belongs
  /// to no property, as when another program's trigger writes to its own table.
  func brokenColumns(_ message: String)
    -> (entity: EntityMapping, columns: [(property: String, column: String)])?
  {
    let names = message.split(separator: ": ", maxSplits: 1).last?.split(separator: ", ").map {
      $0.split(separator: ".", maxSplits: 1).map(String.init)
    }
    guard let names, let table = names.first?.first, let entity = self.entity(named: table) else {
      return nil
    }
    func columns(of entity: EntityMapping) -> [(property: String, column: String)]? {
      let columns = names.compactMap { name -> (property: String, column: String)? in
        guard name.count == 2, name[0] == table else { return nil }
        let column = quoted(name[1])
        if name[1] == "id" { return ("id", column) }
        return entity.slots.first { $0.column == column }.map { ($0.name, column) }
      }
      return columns.count == names.count ? columns : nil
    }
    // The entities of an inheritance hierarchy share a table. A constraint is attributed to the topmost
    // entity that has all of its columns.
    for entity in entity.relatives {
      guard let found = columns(of: entity) else { continue }
      if let parent = entity.parent, columns(of: parent) != nil { continue }
      return (entity, found)
    }
    return nil
  }
}
