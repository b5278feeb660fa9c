// status: where a store is, and what is pending.

import CipherSQLite
import Foundation
import ObjectVault

enum StatusCommand: Command {
  static let name = "status"
  static let summary = "Version, pending steps, health of the history"
  static let group = CommandGroup.look
  static let positionalCount = 1
  static let options =
    [
      Option.migrations, Option("--exit-code", "end with 2 when steps are pending"),
    ] + Option.look
  static let help = """
    EXAMPLES
      store-migrate status notes.store --key-file key.txt
      store-migrate status notes.store --exit-code        ends with 2 when steps are pending

    Shows the store's version, every step with its state, why one has no way back, and whether history and tables are as
    they should be. Changes no byte of it, and leaves no file behind.
    """

  struct StepState: Encodable {
    let number: Int
    let name: String
    let state: String
    let appliedAt: String?
    let checksum: String?
    let losses: [String]
    let rebuilds: [String]
    /// Why nothing takes it back.
    let irreversible: String?
  }

  struct Version: Encodable {
    let store: Int
    let available: Int
    let minimumReader: Int
  }

  struct StatusReport: Report {
    let store: StoreSummary
    let version: Version
    let migrations: [StepState]
    let drift: [String]
    let makesBackup: Bool
    let signalsPending: Bool

    private enum CodingKeys: String, CodingKey { case store, version, migrations, drift, makesBackup }

    var pending: [StepState] { migrations.filter { $0.state == "pending" } }
    var exitCode: ExitCode { signalsPending && !pending.isEmpty ? .attention : .ok }

    var description: String {
      var lines = [
        "\(store.path)   \(megabytes(store.bytes)), encrypted (SQLCipher \(store.cipher) / SQLite \(store.sqlite))",
        "version      \(version.store) of \(version.available)"
          + (pending.isEmpty ? "" : ", \(pending.count) pending"), "",
      ]
      let width = migrations.map(\.name.count).max() ?? 0
      for step in migrations {
        let notes =
          step.losses.map { "LOSES \($0)" } + step.rebuilds.map { "rebuilds \($0)" }
          + (step.irreversible.map { ["no way back: \($0)"] } ?? [])
        let note = (notes.isEmpty ? "" : "  ") + notes.joined(separator: ", ")
        lines.append(
          "  \(numbered(step.number))  \(padded(step.name, width))  "
            + (step.state == "applied" ? "applied  \(step.appliedAt ?? "")" : "pending") + note)
      }
      lines += [
        "", "history      \(migrations.filter { $0.state == "applied" }.count) applied, all checksums match",
        "tables       "
          + (drift.isEmpty ? "as the model says" : "not as the model says: \(drift.joined(separator: "; "))"),
        "oldest app   version \(version.minimumReader) can open this store",
      ]
      if makesBackup {
        lines.append(
          "backup       `up` will first write an encrypted copy beside the store (\(megabytes(store.bytes)))")
      }
      if !pending.isEmpty {
        lines += ["", "next:  store-migrate plan \(store.path)    store-migrate up \(store.path)"]
      }
      return lines.joined(separator: "\n")
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let plan = try MigrationPlan(session.inspection(), session.migrations())
    let applied = plan.history.map {
      StepState(
        number: $0.number, name: $0.name, state: "applied", appliedAt: $0.appliedAt, checksum: $0.checksum,
        losses: [], rebuilds: [], irreversible: plan.irreversible[$0.number])
    }
    let pending = plan.steps.map {
      StepState(
        number: $0.number, name: $0.name, state: "pending", appliedAt: nil, checksum: nil, losses: $0.losses,
        rebuilds: $0.rebuiltTables, irreversible: $0.irreversible)
    }
    return StatusReport(
      store: StoreSummary(path: session.storePath, bytes: plan.bytes),
      version: Version(
        store: plan.storeVersion, available: plan.availableVersion, minimumReader: plan.minimumReader),
      migrations: applied + pending, drift: plan.drift, makesBackup: plan.makesBackup,
      signalsPending: session.arguments.has("--exit-code"))
  }
}
