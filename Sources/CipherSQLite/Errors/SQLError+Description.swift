// The message of each error: what happened, and what to do.

private import Foundation

extension SQLError: CustomStringConvertible {
  /// The error as one message, which states what happened and what to do.
  public var description: String {
    switch self {
    case .wrongKey(let file):
      "\(file): the key does not open this file. Check which key is in use. If the key is right, page 1 may "
        + "be damaged (restore a backup), or the file has a custom number of KDF rounds "
        + "(Configuration.profile). The file is unchanged."
    case .notEncrypted(let file):
      "\(file): this is an unencrypted SQLite file. Only encrypted files can be opened here."
    case .notADatabase(let file, let reason):
      "\(file): this is not a database that can be used here (\(reason)). Check the path."
    case .corrupted(let file, let pages):
      "\(file): the key is right, but \(Self.list(pages)) damaged or missing. Restore the file from a backup."
    case .schemaUnreadable(let file, let reason):
      // A plain file, which has no key, can also cause this error.
      "\(file): \(Engine.current) cannot read SQL in this file's schema, which another version of SQLite "
        + "wrote: \(reason). The file is not damaged, and the key is not the cause. Open it with a program "
        + "that has that version of SQLite. There, drop the object that the message names, or write it in "
        + "SQL that both versions read."
    case .keyChanged(let file):
      "\(file): the key of the file was changed since it was opened here. Open it again with the new key."
    case .logUnderOtherKey(let file):
      "\(file): the key opens this file, but not its log \(file)-wal. If the key was changed, the newer key is "
        + "in the log: use that one. Otherwise the log belongs to another file: move it away, and the file "
        + "opens with this key. Both files are unchanged."
    case .cipherSettingsMismatch(let file, let profile):
      "\(file): the key is right, but the file has the cipher settings \(profile), which \(Engine.current) "
        + "does not support. Open it with an engine that supports them."
    case .engineHasNoCipher(let library):
      "The SQLite library in use (\(library)) cannot encrypt, so no file is opened. Link SQLCipher before "
        + "any other SQLite."
    case .emptyKey:
      "The key is empty. Give at least one byte."
    case .keyLength(let expected, let found):
      "A raw key has exactly \(expected) bytes; this one has \(found)."
    case .saltLength(let expected, let found):
      "A salt has exactly \(expected) bytes; this one has \(found)."
    case .saltMissing(let file):
      "\(file): the header of this file is not encrypted, so the file does not contain the salt of its "
        + "key. Give the key together with the salt."
    case .keyFileDamaged(let file, let reason):
      "\(file): the key file cannot be used (\(reason)). If the file is damaged, replace it with "
        + "\(file).previous, if there is one, or with a copy."
    case .noSlotOpens(let file):
      "\(file): this secret opens no slot of the key file. Check that it is the right one; the file is not "
        + "damaged."
    case .noSuchSlot(let file, let name, let available):
      "\(file): there is no slot \(name). The slots are \(available.joined(separator: ", "))."
    case .slotName(let file, let reason):
      "\(file): the slot was not created: \(reason). Choose another name, or remove a slot first."
    case .lastSlot(let file):
      "\(file): this is the last slot. Without it, no store of this key file could be opened. First "
        + "add another slot."
    case .slotsWouldBeLost(let file, let names):
      "\(file): these slots cannot be kept without their secrets: \(names.joined(separator: ", ")). "
        + "Give the secrets too, or allow the slots to be removed."
    case .sameKey(let file):
      "\(file): the file has this key already. Nothing was changed; give another key."
    case .keyEndsInZero:
      "The passphrase ends in a zero byte. The file would also open with the passphrase without that "
        + "byte. Remove the zero bytes at its end."
    case .noSuchGeneration(let file, let number, let available):
      available.isEmpty
        ? "\(file): there is no former data key \(number). The key file has only the present one."
        : "\(file): there is no former data key \(number). The former data keys are "
          + "\(available.map { "\($0)" }.joined(separator: ", "))."
    case .tooManyGenerations(let file, let limit):
      "\(file): the key file already has \(limit) former data keys, which is the maximum. Forget one that "
        + "opens no file you still need (KeyFile.forgetGeneration)."
    case .recoveryCode(let reason):
      "This is not a recovery code: \(reason). A code has 8 groups of 4 letters and digits."
    case .notFound(let file):
      "\(file): there is no such file. Check the path."
    case .alreadyExists(let file):
      "\(file): there is already a file at this path. It was not changed. Choose another path."
    case .isDirectory(let file):
      "\(file): this is a directory. Give the path of a file in it."
    case .folderMissing(let folder):
      "\(folder): this folder does not exist. Create it first."
    case .folderNotWritable(let folder):
      "\(folder): this user has no permission to create files in this folder. Change its permissions or "
        + "its owner, or choose another folder."
    case .emptyFile(let file):
      "\(file): the file is empty. Delete it to create a new store there, or restore it from a backup."
    case .permissionDenied(let file):
      "\(file): this user has no permission to open the file. Change its permissions or its owner."
    case .readOnly(let file):
      "\(file): the file is read-only. Make it writable, or open it for reading only."
    case .pathUnusable(let file, let reason):
      (file.isEmpty ? "This path" : "\(file): this path") + " cannot be used: \(reason). Give another one."
    case .danglingLink(let file, let target):
      "\(file): this is a link to \(target), which does not exist. Correct the link, or remove it."
    case .notAFile(let file, let kind):
      "\(file): this is \(kind) and not a file. Give the path of a file."
    case .severalNames(let file, let count):
      "\(file): the file has \(count) names (hard links). A program that uses another name does not see what "
        + "is written under this one, and may overwrite it. Remove the other names (find -samefile lists "
        + "them), or replace them with copies. Reading the file still works."
    case .ownerWouldChange(let file):
      "\(file): the new file cannot get the owner and the group of this one. "
        + "Run the program as the file's owner, or as root."
    case .logUnreadable(let file):
      "\(file): while other programs may write to this file, reading it needs write access to its -shm file, "
        + "which this user does not have. Make the file and its folder writable, or run the program as their "
        + "owner. If no program writes to the file, open it as immutable."
    case .journalTooLarge(let file, let byteCount):
      "\(file): this journal has \(byteCount) bytes: more than its database can need, or more than the disk "
        + "has free. Find out where it comes from, and move it away if it does not belong there."
    case .unauthenticated(let file):
      "\(file): the key is right, but the file has SQLCipher's format 1, whose pages have no HMAC. Convert "
        + "a copy of it to a newer format with the sqlcipher shell: PRAGMA key, then PRAGMA cipher_migrate."
    case .fileReplaced(let file):
      "\(file): the file was deleted, moved or replaced since it was opened here. Open it again."
    case .diskFull(let file):
      "\(file): the disk is full, or a quota or size limit is reached. Make room and try again."
    case .leftBeside(let file, let name):
      "\(file): there is no database at this path, but there is a file \(name), which a new database would "
        + "read as its own log or journal. Put back the database that \(name) belongs to, or move \(name) "
        + "away."
    case .companionUnusable(let file, let kind):
      "\(file): this is \(kind), but SQLite would write to this path. Find out where it comes from, and move "
        + "it away."
    case .journalNamesAnother(let file):
      "\(file): this journal names a file that does not belong to it, and SQLite would delete that file. "
        + "Find out where the journal comes from, and move it away."
    case .notReplaceable(let file, let kind):
      "\(file): this is \(kind) and not a store, so it is left as it is. Give the store's path, or move "
        + "the file away."
    case .interruptedWrite(let file):
      "\(file): a process died during a transaction, which must be rolled back first. "
        + "Open the file once for writing, with its -journal beside it."
    case .busy(let file, let waited, let holders):
      "\(file): \(Self.names(holders)) holds the lock (waited \(waited.formattedSeconds) s). "
        + "Try again, or raise the busy timeout."
    case .closed(let file):
      "\(file): the connection is closed. Open it again."
    case .interrupted:
      "The statement was interrupted. If it was writing, its transaction was rolled back. Run it again if "
        + "you still need it."
    case .constraint(let message, _, let sql):
      // A trigger can call RAISE with an empty text. The engine then has no other message.
      "The change violates a constraint of the schema ("
        + (message.allSatisfy(\.isWhitespace) ? "a trigger called RAISE without a message" : message)
        + (sql == "COMMIT"
          ? "), which is checked at the end of the transaction. Nothing of the transaction was written: correct "
            + "the values, and make the changes again."
          : "). Correct the values and run the statement again: \(sql)")
    case .parameterCount(let expected, let found, let sql):
      "The statement takes \(counted(expected, "parameter")), but \(found) \(found == 1 ? "was" : "were") "
        + "given: \(sql)"
    case .parameterNames(let missing, let unknown, let sql):
      "The parameters do not match the statement: "
        + [
          missing.isEmpty ? nil : "no value was given for \(missing.joined(separator: ", "))",
          unknown.isEmpty ? nil : "there is no parameter \(unknown.joined(separator: ", "))",
        ]
        .compactMap { $0 }.joined(separator: ", and ") + ", in: \(sql)"
    case .mixedParameters(let sql):
      "Values are both interpolated and given as arguments; use only one of the two: \(sql)"
    case .notOneStatement(let sql):
      "This call runs exactly one statement; use executeScript for several or none: \(sql)"
    case .format(let position, let reason, let sql):
      "At character \(position) of the format: \(reason), in: \(sql)"
    case .noSuchColumn(let name, let available):
      "The row has no column \(name); its columns are \(available.joined(separator: ", "))."
    case .columnType(let column, let expected, let found):
      found == "null"
        ? "Column \(column) is NULL, which cannot be read as \(expected). Read it as an optional type."
        : "Column \(column) holds \(found), which cannot be read as \(expected). Read it as \(found)."
    case .blobRange(let place, let offset, let count, let available):
      "\(place): \(counted(count, "byte")) at offset \(offset) would exceed the value, which has "
        + "\(counted(available, "byte")). Insert a longer value first."
    case .nestedWrite(let file):
      "\(file): this call is made inside a write and would wait for that write to end. Use the context or "
        + "connection of the outer write."
    case .uncommittedChanges(let file):
      "\(file): the open transaction has uncommitted changes. Commit or roll back first."
    case .verificationFailed(let file, let reason):
      "\(file): the result could not be verified (\(reason)) and was discarded; the former state was kept. "
        + "Check the file and the disk, and try again."
    case .unsupported(let feature, let engine):
      "\(engine) has no \(feature). Check Engine.current before the call, or link a newer engine."
    // A failed library call, for which the system reports no error.
    case .system(let file, let operation, 0):
      "\(file): \(operation) failed, and the system reports no reason. Try again. If it fails again, memory "
        + "is short or libcrypto is incomplete."
    case .system(let file, let operation, let code):
      unsafe "\(file): \(operation) failed: \(String(cString: strerror(Int32(clamping: code)))) (system error \(code))."
    case .engine(let code, let extended, let message, let sql):
      sql.isEmpty
        ? "SQLite error \(code) (extended code \(extended)): \(message)."
        : "SQLite error \(code) (extended code \(extended)): \(message), in: \(sql)"
    case .keyFileTooCostly(let file, let seconds, let memory):
      "\(file): trying the passphrases of this key file would take about \(Self.costs(seconds, memory)), "
        + "which is more than allowed. If you trust the file, allow more (KeyFile.Unlock.allowing)."
    case .slotTooCostly(let file, let seconds, let memory, let allowedSeconds, let allowedMemory):
      "\(file): the slot was not created: opening it would take about \(Self.costs(seconds, memory)), but "
        + "only \(Self.costs(allowedSeconds, allowedMemory)) are allowed. Allow more "
        + "(KeyFile.Unlock.allowing). Nothing was changed."
    case .sharedWritesLost(let file, let count, let reason):
      "\(file): \(count == 1 ? "1 enqueued write is" : "\(count) enqueued writes are") not in the file, because "
        + "the transaction of these writes failed. Remove the cause, and enqueue "
        + "\(count == 1 ? "it" : "them") again. The cause: \(reason)"
    case .notVerified(let file):
      "\(file): the check was stopped after the commit. The NEW key is in force, but not every page was read "
        + "with it. "
        + "Verify every page of the file later."
    case .rekeyDamaged(let file, let pages):
      "\(file): the NEW key is in force, but \(Self.list(pages)) damaged or missing now. "
        + "Restore the file from a backup, and check the disk."
    }
  }

  private static func names(_ holders: [LockHolder]) -> String {
    holders.isEmpty
      ? "another connection or process"
      : holders.prefix(3).map(\.description).joined(separator: " or ")
        + (holders.count > 3 ? " or another" : "")
  }

  private static func costs(_ seconds: Double, _ memory: Int) -> String {
    "\(seconds.formattedSeconds) s and \((memory + 999_999) / 1_000_000) MB"
  }

  private static func list(_ pages: [Int]) -> String {
    guard pages.count != 1 else { return "page \(pages[0]) is" }
    let shown = pages.prefix(8).map(String.init).joined(separator: ", ")
    return pages.isEmpty ? "some pages are" : "pages \(shown)\(pages.count > 8 ? " and more" : "") are"
  }
}

extension Double {
  fileprivate var formattedSeconds: String {
    let tenths = (self * 10).rounded()
    // A limit that the caller allowed may exceed the range of Int.
    return abs(tenths) < 1e15 && tenths.truncatingRemainder(dividingBy: 10) == 0
      ? "\(Int(tenths / 10))" : "\(tenths / 10)"
  }
}
