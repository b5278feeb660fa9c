// The commands `encrypt`, `export` and `backup`: each copies a store, or a plain file, into a new file.

import CipherSQLite
import Foundation
import ObjectVault

/// The report of a command that made a copy.
struct CopyReport: Report {
  let file: String
  let bytes: Int
  let isEncrypted: Bool
  let seconds: Double
  let note: String

  init(_ file: String, since start: Date, isEncrypted: Bool = true, note: String) {
    self.file = file
    bytes = (try? DatabasePath(file))?.byteCount ?? 0
    self.isEncrypted = isEncrypted
    seconds = Date().timeIntervalSince(start)
    self.note = note
  }

  var description: String {
    "wrote \(file) (\(megabytes(bytes)), \(isEncrypted ? "encrypted" : "NOT ENCRYPTED")); its content equals "
      + "the original's (\((seconds * 100).rounded() / 100) s).\n\(note)"
  }
}

enum EncryptCommand: Command {
  static let name = "encrypt"
  static let summary = "Make an encrypted copy of a plain SQLite file"
  static let group = CommandGroup.copy
  static let positionalCount = 2
  static let positionalNames = "PLAINFILE STORE"
  static let options = Option.newKey + [Option.newCipher]
  static let help = """
    EXAMPLES
      store-migrate encrypt legacy.db notes.store                       prompts twice for the new key
      store-migrate encrypt legacy.db notes.store --new-key-file key.txt
      store-migrate encrypt legacy.db notes.store --new-slots notes.keys --new-key-env NOTES_KEY
      store-migrate encrypt legacy.db notes.store --new-cipher rounds=1000000

    Builds the encrypted file under a temporary name, compares its schema, pragma values and rows with the plain
    file, and then renames it. The plain file does not change: delete it once your programs use the store.
    """

  static func run(_ session: Session) async throws -> any Report {
    let start = Date()
    let (plain, target) = (session.positional(0), session.positional(1))
    try session.requireThere(plain)
    try session.requireFree(target)
    let (key, profile) = (try session.newKey(), try session.newProfile())
    session.interruption.begin(NewCopy(target: target, source: "\(plain) is unchanged and NOT encrypted."))
    let bar = ProgressBar("encrypt", session)
    do {
      try Connection.encrypt(
        plaintext: plain, to: target, key: key, profile: profile, prepare: { try StoreInfo.prepare($0) },
        progress: session.steps(bar))
    } catch SQLError.notADatabase {
      throw RefusedError(
        code: .cannotDecrypt,
        description:
          "\(plain) is not a plain SQLite file. If it is already encrypted, inspect it with "
          + "\(ToolLine("info", argumentPath(plain))), and change its key with rekey. Nothing was changed."
      )
    }
    bar.finish()
    return CopyReport(
      target, since: start,
      note: "\(plain) still exists and is NOT encrypted. Delete it once your programs use the store.")
  }
}

enum ExportCommand: Command {
  static let name = "export"
  static let summary = "Copy the whole content into a plain SQLite file, NOT ENCRYPTED"
  static let group = CommandGroup.copy
  static let positionalCount = 2
  static let positionalNames = "STORE PLAINFILE"
  static let options = [Option.yes] + Option.look
  static let help = """
    EXAMPLES
      store-migrate export notes.store notes.db --yes

    Anyone who gets the new file can read it, so the command needs --yes or the answer yes. The file has
    mode 0600. It is a snapshot of the store. Other programs can write meanwhile if the store is in WAL mode;
    otherwise they wait. For a store on a read-only disk, use --immutable, which takes no lock.
    """

  static func run(_ session: Session) async throws -> any Report {
    let start = Date()
    let target = session.positional(1)
    try session.requireFree(target)
    let key = try session.key()
    try session.confirm("\(target) would contain all data WITHOUT ENCRYPTION.", allow: "--yes")
    let inspection = try session.inspection(key: key)
    session.interruption.begin(
      NewCopy(target: target, source: "\(session.storePath) is unchanged and opens with its key."))
    let bar = ProgressBar("export", session)
    try inspection.connection.exportPlaintext(to: target, progress: session.steps(bar))
    bar.finish()
    return CopyReport(
      target, since: start, isEncrypted: false, note: "Delete it as soon as you no longer need it.")
  }
}

enum BackupCommand: Command {
  static let name = "backup"
  static let summary = "Make an encrypted snapshot of a store, with every page authenticated"
  static let group = CommandGroup.copy
  static let positionalCount = 2
  static let positionalNames = "STORE FILE"
  static let options = Option.look + Option.newKey
  static let help = """
    EXAMPLES
      store-migrate backup notes.store /mnt/backups/notes-2026-11-20.store
      store-migrate backup notes.store copy.store --new-key-file other.txt     with another key

    Other programs can write meanwhile if the store is in WAL mode; otherwise they wait. The copy opens with
    the store's key, or with the new key if one is given. For a store on a read-only disk, use --immutable,
    which takes no lock.
    """

  static func run(_ session: Session) async throws -> any Report {
    let start = Date()
    let target = session.positional(1)
    try session.requireFree(target)
    let inspection = try session.inspection()
    let hasOwnKey = session.hasNewKey
    let newKey = hasOwnKey ? try session.newKey() : nil
    session.interruption.begin(
      NewCopy(target: target, source: "\(session.storePath) is unchanged and opens with its key."))
    let bar = ProgressBar("backup", session)
    try inspection.connection.backup(to: target, key: newKey, progress: session.steps(bar))
    bar.finish()
    return CopyReport(
      target, since: start, note: hasOwnKey ? "It opens with the new key." : "It opens with the store's key.")
  }
}
