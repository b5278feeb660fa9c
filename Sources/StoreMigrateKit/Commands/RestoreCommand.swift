// The `restore` command: puts a backup in the place of a store.

import CipherSQLite
import Foundation
import ObjectVault

enum RestoreCommand: Command {
  static let name = "restore"
  static let summary = "Check a backup, and put it in the place of a store"
  static let group = CommandGroup.change
  static let positionalCount = 2
  static let positionalNames = "BACKUP STORE"
  static let options = [Option.yes] + Option.store
  static let help = """
    EXAMPLES
      store-migrate restore notes-2026-11-20.store notes.store
      store-migrate restore notes-2026-11-20.store notes.store --yes       a store is there and shall go

    The backup is checked first, page by page; it stays as it is. A store that is there goes only with --yes,
    when nobody uses it, and when the new file beside it has been checked too.
    """

  static func run(_ session: Session) async throws -> any Report {
    let start = Date()
    let (backup, target) = (session.positional(0), session.positional(1))
    let isThere = try DatabasePath.isTaken(target)
    if let link = session.danglingLink(target) { throw link }
    // The key of the backup, because the backup is the first argument.
    let key = try session.key()
    if isThere { try session.confirm("\(target) is there and will be replaced.", allow: "--yes") }
    session.interruption.begin(
      Replacement(
        of: target, former: isThere ? "\(target) is as it was." : "\(target) was not made.",
        new: "\(target) has the content of \(backup), and opens with its key."))
    let bar = ProgressBar("restore", session)
    try await Connection.restore(
      backup, to: target, key: key.resolved(), profile: session.profile(), replacesExisting: isThere,
      busyTimeout: session.lockTimeout(), prepare: { try StoreInfo.prepare($0) }, progress: session.steps(bar)
    )
    bar.finish()
    return CopyReport(target, since: start, note: "It has the content and the key of \(backup).")
  }
}
