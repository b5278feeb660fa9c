// The `create` command: makes a new store from the steps.

import CipherSQLite
import Foundation
import ObjectVault

enum CreateCommand: Command {
  static let name = "create"
  static let summary = "Create a new store from the steps"
  static let group = CommandGroup.change
  static let positionalCount = 1
  static let hasStore = false
  static let options =
    [Option.migrations, Option("--to", value: "N", "run only the first N steps; default: all")]
    + Option.key + [Option.newCipher]
  static let help = """
    EXAMPLES
      store-migrate create notes.store                        prompts twice for its key
      store-migrate create notes.store --key-file key.txt
      store-migrate create old.store --to 3 --key-env TEST_KEY     as of version 3

    Builds the file under a temporary name, and renames it when it is complete. If the file already exists, it
    does not change, and the command ends with 1. The seeds and transforms of the steps run, and the history
    records that the store was created with these steps.
    """

  struct CreateReport: Report {
    let store: StoreSummary
    let version: Int
    let steps: [String]
    var description: String {
      (steps.map { "applied  \($0)" } + [
        "\(store.path) is at version \(version), encrypted (SQLCipher \(store.cipher) / SQLite \(store.sqlite))."
      ]).joined(separator: "\n")
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let all = try session.migrations()
    let set = try session.target(of: all, isFresh: true).map { try all.upTo($0) } ?? all
    let path = session.storePath
    try session.requireFree(path)
    // A new store has no rows for which the steps' expressions are computed, so an invalid expression
    // would fail only later, in a store with rows. Compiling all steps finds it here.
    let faults = try set.compileFaults()
    guard faults.isEmpty else {
      throw RefusedError(
        code: .failed,
        description: faults.joined(separator: "\n")
          + "\nNothing was created. See: \(session.offer(CheckCommand.self, []))")
    }
    let key = try session.kept(session.keyOfNewFile())
    session.interruption.begin(NewStore(path: path))
    do {
      let profile = try session.newProfile()
      try await session.showingSteps("create", waiting: WaitingLine(session)) {
        try await Store.create(
          at: URL(fileURLWithPath: path), key: key, migrations: set, profile: profile,
          progress: session.progress)
      }
    } catch let error as SQLError {
      // Another process made the file at the path first: no message may describe it as the result of this
      // run.
      if case .alreadyExists = error { session.interruption.pause() }
      throw error
    }
    return CreateReport(
      store: StoreSummary(at: path), version: set.version,
      steps: set.steps.map { "\(numbered($0.number)) \($0.name)" })
  }
}
