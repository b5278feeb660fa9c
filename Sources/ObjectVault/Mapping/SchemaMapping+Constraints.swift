// What the engine's messages about constraints are about, by the names of the model.

internal import CipherSQLite

extension SchemaMapping {
  /// What a constraint's message is about, the columns quoted; nil when one of them is no property's: somebody else's
  /// trigger may write to a table of its own.
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
    // The columns of all entities of a family lie in one table; those of a constraint are all of who declares it.
    for entity in entity.relatives {
      guard let found = columns(of: entity) else { continue }
      if let parent = entity.parent, columns(of: parent) != nil { continue }
      return (entity, found)
    }
    return nil
  }
}
