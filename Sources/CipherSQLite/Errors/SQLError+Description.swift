// The message of each error: what happened, and what to do.

private import Foundation

extension SQLError: CustomStringConvertible {
  /// The error as one message, which states what happened and what to do.
  public var description: String {
    switch self {
    case .wrongKey(let file):
      "\(file): the key does not fit. Check which key is in use. If it is the right one, page 1 may be damaged (restore a "
        + "backup), or the file uses a number of KDF rounds that is not the default, which it does not record "
        + "(Configuration.profile). The file is unchanged."
    case .notEncrypted(let file):
      "\(file): this is a plain, unencrypted SQLite file. Only encrypted files are opened here."
    case .notADatabase(let file, let reason):
      "\(file): this is not an encrypted database (\(reason)). Check the path."
    case .corrupted(let file, let pages):
      "\(file): the key fits, but \(Self.list(pages)) damaged or missing. Restore the file from a backup."
    case .schemaUnreadable(let file, let reason):
      // This also happens with a plain file, which has no key.
      "\(file): this is no damage, and no matter of a key: \(Engine.current) cannot read the SQL that another version of "
        + "SQLite wrote into its schema: \(reason). Open it with a program that has that version, and drop what is named "
        + "there or write it in words that both know."
    case .keyChanged(let file):
      "\(file): the file was encrypted under another key since it was opened here. Open it again with that key."
    case .cipherSettingsMismatch(let file, let profile):
      "\(file): the key fits, but the file has the settings \(profile), which \(Engine.current) cannot use. "
        + "Open it with an engine that can."
    case .engineHasNoCipher(let library):
      "The SQLite library in use (\(library)) cannot encrypt, so nothing is opened. Link SQLCipher first."
    case .emptyKey:
      "The key is empty; give at least one byte."
    case .keyLength(let expected, let found):
      "A raw key has exactly \(expected) bytes; this one has \(found)."
    case .saltLength(let expected, let found):
      "A salt has exactly \(expected) bytes; this one has \(found)."
    case .saltMissing(let file):
      "\(file): the header is in clear and the salt is kept elsewhere. Give the key with its salt."
    case .keyFileDamaged(let file, let reason):
      "\(file): the key file cannot be used (\(reason)). Take \(file).previous or a copy in its place."
    case .noSlotOpens(let file):
      "\(file): this secret opens no slot of the key file. Check which one it is; the file is undamaged."
    case .noSuchSlot(let file, let name, let available):
      "\(file): there is no slot \(name). The slots are \(available.joined(separator: ", "))."
    case .slotName(let file, let reason):
      "\(file): the slot was not made: \(reason). Choose another name, or remove a slot first."
    case .lastSlot(let file):
      "\(file): this is the last slot, and without one the database could not be opened. Add another first."
    case .slotsWouldBeLost(let file, let names):
      "\(file): the slots \(names.joined(separator: ", ")) cannot be carried over without their secrets. "
        + "Give these too, or allow that the slots go."
    case .sameKey(let file):
      "\(file): this is the key that the file has already. Nothing was changed; give another one."
    case .keyEndsInZero:
      "The passphrase ends in a zero byte, and the same one without it would open the file. Leave the zeros at the end out."
    case .noSuchGeneration(let file, let number, let available):
      available.isEmpty
        ? "\(file): there is no former data key \(number). The file has the present one alone."
        : "\(file): there is no former data key \(number). The former ones are "
          + "\(available.map { "\($0)" }.joined(separator: ", "))."
    case .tooManyGenerations(let file, let limit):
      "\(file): the key file keeps \(limit) former data keys, and no more. Forget one that opens nothing you need."
    case .recoveryCode(let reason):
      "This is no recovery code: \(reason). A code has 8 groups of 4 letters and digits."
    case .notFound(let file):
      "\(file): there is no such file. Check the path."
    case .alreadyExists(let file):
      "\(file): a file is there already and was left alone. Choose another path."
    case .isDirectory(let file):
      "\(file): this is a directory. Give the path of a file in it."
    case .folderMissing(let folder):
      "\(folder): this folder does not exist. Create it first."
    case .folderNotWritable(let folder):
      "\(folder): this user may make no file in this folder. Change its permissions or its owner, or choose another one."
    case .emptyFile(let file):
      "\(file): the file has no bytes. Delete it to create a new store there, or restore it from a backup."
    case .permissionDenied(let file):
      "\(file): this user may not open the file. Change its permissions or its owner."
    case .readOnly(let file):
      "\(file): the file may only be read. Make it writable, or open it read-only."
    case .pathUnusable(let file, let reason):
      "\(file.isEmpty ? "This path" : file): this path cannot be used: \(reason). Give another one."
    case .danglingLink(let file, let target):
      "\(file): this is a link to \(target), and there is no such file. Correct the link, or remove it."
    case .notAFile(let file, let kind):
      "\(file): this is \(kind) and not a file. Give the path of a file."
    case .severalNames(let file, let count):
      "\(file): the file has \(count) names (hard links). What is written under one of them, others do not see, or write over. "
        + "Remove the others (find -samefile shows them), or put copies in their place; it can be read meanwhile."
    case .ownerWouldChange(let file):
      "\(file): the new file could not be given to the owner and the group of this one. "
        + "Run it as the file's owner, or as root."
    case .logUnreadable(let file):
      "\(file): to read it beside programs that write, its -shm has to be written, and this user may not. "
        + "Make the file and its folder writable, or run it as their owner; or, where nobody writes, open it as immutable."
    case .journalTooLarge(let file, let byteCount):
      "\(file): this journal has \(byteCount) bytes, more than its database can need or the disk can take. "
        + "Look where it comes from, and move it away if it does not belong there."
    case .unauthenticated(let file):
      "\(file): the key fits, but the file is in SQLCipher's format 1, whose pages carry no HMAC. Move it to a newer "
        + "format with the sqlcipher shell: PRAGMA cipher_use_hmac = OFF, ATTACH, sqlcipher_export."
    case .fileReplaced(let file):
      "\(file): the file was deleted or moved since it was opened here, or another one was put in its place. "
        + "Open it again."
    case .diskFull(let file):
      "\(file): the disk is full, or a quota or size limit is reached. Make room and try again."
    case .leftBeside(let file, let name):
      "\(file): there is no database, but \(name) beside it, which would be read as its log. Put the database back that it "
        + "belongs to, or move it away."
    case .companionUnusable(let file, let kind):
      "\(file): this is \(kind), where the engine would write. Look where it comes from, and move it away."
    case .journalNamesAnother(let file):
      "\(file): this journal names a file that does not belong to it, and that would be deleted. Look where it comes from, "
        + "and move it away."
    case .notReplaceable(let file, let kind):
      "\(file): this is \(kind) and no store, so it is not replaced. Give the store's path, or move the file away."
    case .interruptedWrite(let file):
      "\(file): a process died while it wrote here, and what it had begun must be undone first. "
        + "Open the file once for writing, beside its -journal."
    case .busy(let file, let waited, let holders):
      "\(file): \(Self.names(holders)) holds the lock (waited \(waited.formattedSeconds) s). "
        + "Try again, or raise the busy timeout."
    case .closed(let file):
      "\(file): the connection is closed. Open it again."
    case .interrupted:
      "The statement was interrupted and its transaction rolled back. Run it again if it is still wanted."
    case .constraint(let message, _, let sql):
      // RAISE accepts an empty text, and the engine reports no other.
      "The change breaks a rule of the schema ("
        + (message.allSatisfy(\.isWhitespace) ? "a trigger's, whose RAISE has no words" : message)
        + ") in: \(sql)"
    case .parameterCount(let expected, let found, let sql):
      "The statement takes \(expected) parameters and \(found) were given: \(sql)"
    case .parameterNames(let missing, let unknown, let sql):
      [
        missing.isEmpty ? nil : "\(missing.joined(separator: ", ")) got no value",
        unknown.isEmpty ? nil : "there is no parameter \(unknown.joined(separator: ", "))",
      ]
      .compactMap { $0 }.joined(separator: " and ") + " in: \(sql)"
    case .mixedParameters(let sql):
      "Values are interpolated and given beside the text; use one of the two: \(sql)"
    case .notOneStatement(let sql):
      "This call runs exactly one statement; use executeScript for more or none: \(sql)"
    case .format(let position, let reason, let sql):
      "At character \(position) of the format: \(reason), in: \(sql)"
    case .noSuchColumn(let name, let available):
      "The row has no column \(name); it has \(available.joined(separator: ", "))."
    case .columnType(let column, let expected, let found):
      found == "null"
        ? "Column \(column) is NULL, which is no \(expected). Ask for an optional."
        : "Column \(column) holds \(found), which is no \(expected)."
    case .blobRange(let place, let offset, let count, let available):
      "\(place): \(count) \(count == 1 ? "byte" : "bytes") at \(offset) \(count == 1 ? "goes" : "go") beyond the \(available) \(available == 1 ? "byte" : "bytes") that the value has. "
        + "Insert a longer value first."
    case .nestedWrite(let file):
      "\(file): this call would wait for the write that it is made from. Use the context or connection "
        + "that the outer write was given."
    case .uncommittedChanges(let file):
      "\(file): the transaction that is open here has changes. Commit or roll back first."
    case .verificationFailed(let file, let reason):
      "\(file): the result could not be verified (\(reason)); the former state was kept. "
        + "Check the file and the disk, and try again."
    case .unsupported(let feature, let engine):
      "\(engine) has no \(feature). Ask Engine.current first, or link a newer engine."
    // A failed library call, for which the system reports no error.
    case .system(let file, let operation, 0):
      "\(file): \(operation) failed, and no reason is given. Try again; where it stays so, memory is short, or libcrypto is "
        + "not whole."
    case .system(let file, let operation, let code):
      unsafe "\(file): \(operation) failed: \(String(cString: strerror(Int32(clamping: code)))) (system error \(code))."
    case .engine(let code, let extended, let message, let sql):
      sql.isEmpty
        ? "SQLite error \(code) (\(extended)): \(message)."
        : "SQLite error \(code) (\(extended)): \(message), in: \(sql)"
    case .keyFileTooCostly(let file, let seconds, let memory):
      "\(file): to try its passphrases would take about \(Self.costs(seconds, memory)), more than is allowed. "
        + "If the file is as you made it, allow more (KeyFile.Unlock.allowing)."
    case .slotTooCostly(let file, let seconds, let memory, let allowedSeconds, let allowedMemory):
      "\(file): the slot was not made: opening it would take about \(Self.costs(seconds, memory)), and "
        + "\(Self.costs(allowedSeconds, allowedMemory)) are allowed. Allow more "
        + "(KeyFile.Unlock.allowing). Nothing was changed."
    case .notVerified(let file):
      "\(file): stopped after the commit: the NEW key is in force, and not every page was read with it. "
        + "Check the file when there is time."
    case .rekeyDamaged(let file, let pages):
      "\(file): the NEW key is in force, and \(Self.list(pages)) damaged or missing since. "
        + "Restore the file from a backup, and look after the disk."
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
