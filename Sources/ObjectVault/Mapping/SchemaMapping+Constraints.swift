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
    // The columns of all entities of a family lie in one table.
    for entity in entity.relatives {
      let columns = names.compactMap { name -> (property: String, column: String)? in
        guard name.count == 2, name[0] == table else { return nil }
        let column = quoted(name[1])
        if name[1] == "id" { return ("id", column) }
        return entity.slots.first { $0.column == column }.map { ($0.name, column) }
      }
      if columns.count == names.count { return (entity, columns) }
    }
    return nil
  }
}
