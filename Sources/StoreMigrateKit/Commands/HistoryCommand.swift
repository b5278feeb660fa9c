// The `history` command: lists every step that ran on a store or was rolled back.

import CipherSQLite
import Foundation
import ObjectVault

enum HistoryCommand: Command {
  static let name = "history"
  static let summary = "List every step that ran on the store or was rolled back"
  static let group = CommandGroup.look
  static let positionalCount = 1
  static let options =
    [
      Option(
        "--migrations", short: "-m", value: "DIR",
        "compare with the steps of a folder; default: those in the app's own tool")
    ] + Option.look
  static let help = """
    EXAMPLES
      store-migrate history notes.store --key-file key.txt
      store-migrate history notes.store --json -m Migrations

    Lists in order what was done to the store, when, how long it took, and which program did it. Needs no
    migrations. With -m, and in the app's own tool, it also lists the steps that differ from those that ran. If
    there are any, `history` still ends with 0, but `status` ends with 3. The store does not change, and no new
    file remains.
    """

  struct Event: Encodable {
    let kind: String
    let number: Int
    let name: String
    let checksum: String
    let date: String
    let seconds: Double
    let app: String
    let engine: String

    init(_ event: HistoryEvent) {
      (kind, number, name, checksum) = (event.kind.rawValue, event.number, event.name, event.checksum)
      (date, app, engine) = (event.date, event.app, event.engine)
      seconds = Double(event.milliseconds) / 1000
    }
  }

  struct HistoryReport: Report {
    var isScreen: Bool { true }
    let store: StoreSummary
    let version: Int
    let events: [Event]
    /// How the history compares with the steps; nil when no steps are available.
    let history: HistoryState?
    /// The command line that shows the differences.
    let status: String

    private enum CodingKeys: String, CodingKey { case store, version, events, history }

    var description: String {
      let names = events.map { brief($0.name) }
      let width = CellWidth.widest(names)
      let kinds = events.map { $0.kind == HistoryEvent.Kind.down.rawValue ? "rolled back" : $0.kind }
      let kindWidth = CellWidth.widest(kinds)
      let lines = zip(zip(events, kinds), names).map { (item, name) in
        let (event, kind) = item
        return "  \(padded(kind, kindWidth))  \(numbered(event.number))  \(padded(name, width))  "
          + "\(event.date)"
          + "  (\(event.seconds) s)  \(brief(event.app))"
      }
      let others = (history?.mismatches ?? []).map { step in
        "✗ \(numbered(step.number)) \(step.name) \(Self.difference(step.kind)). For details: \(status)"
      }
      return (lines + (lines.isEmpty ? [] : [""]) + ["\(store.path) is at version \(version)."] + others)
        .joined(separator: "\n")
    }

    private static func difference(_ kind: String) -> String {
      switch kind {
      case "edited": "has been edited since it ran"
      case "missing": "is missing from the available steps"
      case "reordered": "does not have this number in the available steps"
      default: "ran with a text that differs from the one that was folded"
      }
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let inspection = try session.inspection()
    let isNamed = session.arguments.value("--migrations") != nil
    let set = isNamed ? try session.migrations() : session.bundled.set
    return try withExtendedLifetime(inspection) {
      let applied = try MigrationPreview.appliedSteps(inspection.connection)
      return HistoryReport(
        store: StoreSummary(
          path: session.storePath, bytes: try DatabasePath(session.storePath).byteCount ?? 0),
        version: try StoreInfo(inspection.connection).version,
        events: try HistoryEvent.all(inspection.connection).map(Event.init),
        history: set.map { HistoryState(applied, $0) }, status: session.line(StatusCommand.self))
    }
  }
}
