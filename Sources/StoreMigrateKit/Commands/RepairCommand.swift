// The `repair` command: records edited steps with the checksums that their files have now.

import CipherSQLite
import Foundation
import ObjectVault

enum RepairCommand: Command {
  static let name = "repair"
  static let summary = "After a review, record the edited files of steps that already ran; runs no SQL"
  static let group = CommandGroup.change
  // A store and at least one number; `run` checks the count.
  static let positionalCount = -1
  static let positionalNames = "STORE NUMBER…"
  static let options = [Option.migrations, Option.yes] + Option.store
  static let help = """
    EXAMPLES
      store-migrate repair notes.store 0005            shows what changed in 0005, and asks
      store-migrate repair notes.store 5 6 --yes       both, without a question; give all edited steps

    Other commands end with 3 if a step was edited after it ran. It is better to undo the edit and put the
    change into a new step. If the edit is intended, and the steps still make the store's model, `repair`
    records the new checksum; `history` keeps the old one. No SQL of a step runs, and no table of an entity
    changes. `repair` ends with 3 if the model would differ, and with 5 without a confirmation.
    """

  struct RepairReport: Report {
    let store: StoreSummary
    let steps: [HistoryRepair.Step]
    var description: String {
      guard !steps.isEmpty else { return "The steps match those that ran on \(store.path). Nothing to do." }
      return
        (steps.flatMap(lines) + [
          "\(store.path): the records now match the files. No table was changed."
        ]).joined(separator: "\n")
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let numbers = try numbers(session)
    let (set, key) = (try session.migrations(), try session.key())
    let (repair, repairs) = try look(session, key: key, migrations: set, steps: numbers)
    guard !repair.steps.isEmpty else { return RepairReport(store: session.storeAfterwards, steps: []) }
    try session.confirm(
      ([
        "\(session.storePath): repair needs your permission to record these steps as their files are now:"
      ] + repair.steps.flatMap(lines) + ["Recording them runs no SQL."]).joined(separator: "\n"),
      allow: "--yes")
    session.interruption.begin(
      NewRecord(
        store: session.storePath, key: key, repairs: repairs,
        configuration: try session.lookingConfiguration(),
        history: session.line(HistoryCommand.self)))
    let done = try await Store.repair(
      at: URL(fileURLWithPath: session.storePath), key: key, steps: numbers, migrations: set,
      profile: session.profile(), busyTimeout: session.lockTimeout())
    return RepairReport(store: session.storeAfterwards, steps: done.steps)
  }

  /// Returns what would be recorded, and the number of repairs in the history so far. The store is closed
  /// again afterwards.
  private static func look(
    _ session: Session, key: Key, migrations set: MigrationSet, steps numbers: [Int]
  ) throws -> (HistoryRepair, Int) {
    let inspection = try session.inspection(key: key)
    return (
      try session.repair(inspection, migrations: set, steps: numbers),
      try HistoryEvent.all(inspection.connection).count { $0.kind == .repaired }
    )
  }

  /// Returns the numbers that follow the store: each argument is a number, or a file name that begins
  /// with one.
  private static func numbers(_ session: Session) throws -> [Int] {
    let words = session.arguments.positional.dropFirst(2)
    guard !words.isEmpty else {
      throw UsageError(
        "repair takes a store and the number of each edited step. \(ToolLine.help(name))")
    }
    return try words.map { word in
      guard let number = Int(word.prefix { $0 != "_" }), number > 0 else {
        throw UsageError("\(word) is not a step number, such as 5 or 0005.")
      }
      return number
    }
  }

  private static func lines(_ step: HistoryRepair.Step) -> [String] {
    let name = step.name == step.formerName ? step.name : "\(step.formerName) -> \(step.name)"
    return [
      "\(numbered(step.number)) \(name)", "  ran as   \(step.formerChecksum)", "  file now \(step.checksum)",
    ]
      + step.difference.map { "  \($0)" } + [""]
  }
}
