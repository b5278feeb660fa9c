// The `count` command: prints the number of objects of an entity.

import CipherSQLite
import ObjectVault

enum CountCommand: Command {
  static let name = "count"
  static let summary = "How many objects of an entity there are"
  static let group = CommandGroup.look
  static let positionalCount = 2
  static let positionalNames = "STORE ENTITY"
  static let options = [Option.filter] + Option.look
  static let help = """
    EXAMPLES
      store-migrate count notes.store Status
      store-migrate count notes.store Status --where "text CONTAINS[cd] 'cafe' AND ANY tags.name == 'home'"
      store-migrate count notes.store Status --where "createdAt BETWEEN {'2024-05-01', '2024-05-01T11:59:59Z'}"

    Writes the number alone, with the objects of all entities that inherit from it. Needs no migrations and no classes; see
    `help fetch` for --where and its dates. Changes no byte of the store, and leaves no file behind.
    """

  struct CountReport: Report {
    var isData: Bool { true }
    let entity: String
    let count: Int
    var description: String { "\(count)" }
  }

  static func run(_ session: Session) async throws -> any Report {
    let inspection = try session.inspection()
    let rows = try session.entityRows(inspection.connection)
    return CountReport(entity: session.positional(1), count: try rows.count(inspection.connection))
  }
}
