// Errors in the words of the tool. The library's own texts are for programs, and name no commands and no
// options.

import CipherSQLite
import Foundation
import ObjectVault
import VaultAuthoring

package enum ErrorText {
  /// Returns the text of an error.
  /// - Parameters:
  ///   - error: The error.
  ///   - hasStore: Whether the command works on a store. Otherwise the text does not state that the store
  ///     is unchanged.
  ///   - takesImmutable: Whether the command has the option `--immutable`.
  package static func of(_ error: any Error, hasStore: Bool = true, takesImmutable: Bool = false) -> String {
    guard hasStore else {
      return StoreError.withoutUnchanged(of(error, takesImmutable: takesImmutable))
    }
    return switch error {
    case SQLError.logUnreadable(let file): logUnreadable(file, takesImmutable)
    case SQLError.wrongKey(let file):
      "\(file): the key does not open this file. Check which key is in use. If the key is right, page 1 may "
        + "be damaged (restore a backup), or the file has a custom number of KDF rounds, which it does not "
        + "record (--cipher rounds=N). The file is unchanged."
    case SQLError.readOnly(let file):
      "\(file): the file is read-only, and this command writes to it. Make it writable, or use a copy of it."
    case SQLError.emptyFile(let file):
      "\(file): the file is empty. Check the path, or restore it from a backup."
    case SQLError.busy(let file, let waited, let holders): locked(file, after: waited, by: holders)
    // Some steps are committed, so the text must not state that the store is unchanged.
    case StoreError.stopped(_, let cause):
      StoreError.withoutUnchanged(cause.error.map { of($0) } ?? "\(cause)")
    case let error as CocoaError: text(of: error)
    case StoreError.historyConflict(let conflict): text(of: conflict)
    default: withRemedy(error)
    }
  }

  /// A remedy in the words of the tool.
  private enum Remedy {
    /// A sentence that names an option.
    case option(String)
    /// Commands, or options for the present one, each on its own line so that it can be copied.
    case lines([String])
  }

  private static func withRemedy(_ error: any Error) -> String {
    let all = "\(error)"
    switch remedy(for: error) {
    case nil: return all
    case .lines(let lines): return withLines(all, lines)
    case .option(let sentence):
      // The sentence that nothing was changed stays at the end.
      let text = StoreError.withoutUnchanged(all)
      return "\(text) \(sentence)" + all.dropFirst(text.count)
    }
  }

  private static func withLines(_ text: String, _ lines: [String]) -> String {
    ([text] + lines.map { "    \($0)" }).joined(separator: "\n")
  }

  static func text(of conflict: HistoryConflict) -> String {
    let lines: [ToolLine] =
      switch conflict {
      case .edited(let number, _, _, _, _): [ToolLine("repair", "STORE", numbered(number))]
      case .misembedded: [ToolLine("embed")]
      case .refolded(let number, _, _, _, _, _):
        [ToolLine("repair", "STORE", numbered(number), "--migrations", "FOLDER")]
      case .duplicate(_, let files): files.map { ToolLine("rebase", $0) }
      case .foldEdited, .missing, .reordered, .gap, .noVersion, .folded: []
      }
    return withLines("\(conflict)", lines.map(\.description))
  }

  private static func remedy(for error: any Error) -> Remedy? {
    switch error {
    case SQLError.verificationFailed(let file, _), SQLError.notVerified(let file):
      // If the copy could not be made, there is no file to verify.
      (try? DatabasePath.isTaken(file)) == true ? line("verify", argumentPath(file)) : nil
    case SQLError.keyFileTooCostly, SQLError.slotTooCostly: .option("The option is --slots-work SECONDS.")
    case StoreError.storeIsNewer(let file, _, let supported, _, canDowngrade: true):
      line("down", argumentPath(file), "--to", "\(supported)")
    case StoreError.bookkeepingDamaged(let file, _, _):
      line("restore", "BACKUP", argumentPath(file))
    case StoreError.schemaMismatch: line("new", "NAME", "--from-model")
    case StoreError.rollbackLoses(_, _, let losses, _): allowing(losses)
    case StoreError.adoptionLoses(_, let losses): allowing(losses.map(\.name))
    case StoreError.backupFailed(_, _, let reason) where reason.hasSuffix(MigrationBackup.withoutCopy):
      .option("With --no-backup, no backup is made.")
    case StoreError.adoptionRefused(_, let reason, _) where reason.hasSuffix(Adoption.needsOwnSteps):
      .option("The command `schema import` does that.")
    default: nil
    }
  }

  private static func line(_ words: String...) -> Remedy { .lines([ToolLine(words).description]) }

  private static func allowing(_ losses: [String]) -> Remedy {
    .lines([losses.map { "--allow lossy:\($0)" }.joined(separator: " ")])
  }

  private static func logUnreadable(_ file: String, _ takesImmutable: Bool) -> String {
    "\(file): a reader of this file must write its -shm file, and this user is not permitted to. "
      + "Make the file and its folder writable, or run the command as their owner"
      + (takesImmutable ? ". If no other process writes to the file, use --immutable." : ".")
  }

  private static func locked(_ file: String, after waited: Double, by holders: [LockHolder]) -> String {
    let isMigrated = (try? DatabasePath(file).path).map(MigrationMark.isHeld) ?? false
    let who =
      holders.isEmpty ? "another process" : holders.prefix(3).map { "\($0)" }.joined(separator: " or ")
    let seconds = waited < 1 ? "\((waited * 10).rounded() / 10)" : "\(Int(waited.rounded()))"
    return
      "\(file) is \(isMigrated ? "being migrated" : "in use") by \(who); waited \(seconds) s. Try again, "
      + "or wait longer: --lock-timeout SECONDS."
  }

  /// Returns a readable text for a file error of Foundation, whose own description shows internals.
  private static func text(of error: CocoaError) -> String {
    // Foundation marks `userInfo` as unsafe because it holds Any; no other code uses this error.
    let path = unsafe error.userInfo[NSFilePathErrorKey] as? String ?? error.url?.path
    let cause = error.underlying as NSError?
    let reason =
      cause?.domain == NSPOSIXErrorDomain
      ? systemText(Int32(truncatingIfNeeded: cause?.code ?? 0)) : error.localizedDescription
    return (path.map { "\($0): " } ?? "") + reason + remedy(for: error.code)
  }

  private static func remedy(for code: CocoaError.Code) -> String {
    switch code {
    case .fileReadNoPermission: ". Run the command as a user with read permission."
    case .fileWriteNoPermission: ". Run the command as a user with write permission, or give another folder."
    case .fileWriteVolumeReadOnly: ". Give a folder that is writable."
    case .fileWriteOutOfSpace: ". Free disk space, and run the command again."
    case .fileNoSuchFile, .fileReadNoSuchFile: ". Check the path."
    default: ""
    }
  }
}
