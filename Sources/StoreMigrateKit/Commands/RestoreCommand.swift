// The `restore` command: puts a backup in the place of a store.

import CipherSQLite
import Foundation
import ObjectVault

enum RestoreCommand: Command {
  static let name = "restore"
  static let summary = "Check a backup, and replace a store with it"
  static let group = CommandGroup.change
  static let positionalCount = 2
  static let positionalNames = "BACKUP STORE"
  static let options = [Option.yes] + Option.store
  static let help = """
    EXAMPLES
      store-migrate restore notes-2026-11-20.store notes.store
      store-migrate restore notes-2026-11-20.store notes.store --yes       replaces an existing store

    The backup is first checked page by page; it does not change. An existing store is replaced only with
    --yes or the answer yes, only if no process uses it, and only after the new file has been checked, too.
    """

  static func run(_ session: Session) async throws -> any Report {
    let start = Date()
    let (backup, target) = (session.positional(0), session.positional(1))
    let isThere = try DatabasePath.isTaken(target)
    if let link = session.danglingLink(target) { throw link }
    // The key of the backup, because the backup is the first argument.
    let key = try session.key()
    if isThere { try session.confirm("\(target) exists and would be replaced.", allow: "--yes") }
    session.interruption.begin(
      Replacement(
        of: target, former: isThere ? "\(target) was not replaced." : "\(target) was not created.",
        new: "\(target) has the content of \(backup), and opens with the backup's key."))
    let bar = ProgressBar("restore", session)
    try await Connection.restore(
      backup, to: target, key: key.resolved(), profile: session.profile(), replacesExisting: isThere,
      busyTimeout: session.lockTimeout(), prepare: { try StoreInfo.prepare($0) }, progress: session.steps(bar)
    )
    bar.finish()
    return CopyReport(target, since: start, note: "It has the content and the key of \(backup).")
  }
}
