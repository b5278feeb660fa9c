// The `count` command: prints the number of objects of an entity.

import CipherSQLite
import ObjectVault

enum CountCommand: Command {
  static let name = "count"
  static let summary = "Count the objects of an entity"
  static let group = CommandGroup.look
  static let positionalCount = 2
  static let positionalNames = "STORE ENTITY"
  static let options = [Option.filter] + Option.look
  static let help = """
    EXAMPLES
      store-migrate count notes.store Status
      store-migrate count notes.store Status --where "text CONTAINS[cd] 'cafe' AND ANY tags.name == 'home'"
      store-migrate count notes.store Status --where "createdAt BETWEEN {'2024-05-01', '2024-05-01T11:59:59Z'}"

    Prints only the number. It includes the objects of all subentities. Needs no migrations and no classes.
    For --where and its dates, see `help fetch`. The store does not change, and no new file remains.
    """

  struct CountReport: Report {
    var isData: Bool { true }
    let entity: String
    let count: Int
    var description: String { "\(count)" }
  }

  static func run(_ session: Session) async throws -> any Report {
    let inspection = try session.inspection()
    let rows = try StoreInfo(inspection.connection).rows(
      of: session.request(), in: inspection.connection)
    return CountReport(entity: session.positional(1), count: try rows.count(inspection.connection))
  }
}
