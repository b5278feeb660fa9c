// Every error of the connection layer. No case holds key bytes or bound values.

private import Foundation

/// What can go wrong with a file, a key or a statement.
///
/// Each case carries what a person needs to act on it, and `description` is one sentence that says what
/// happened and what to do.
public enum SQLError: Error, Equatable, Sendable {
  /// The key does not fit: no page of the file verifies under it, with any known cipher settings.
  case wrongKey(file: String)
  /// The file is a plain SQLite database.
  case notEncrypted(file: String)
  /// The file is neither an encrypted nor a plain database.
  case notADatabase(file: String, reason: String)
  /// The key fits, but these pages (counted from 1, at most 100 are listed) are damaged or missing.
  case corrupted(file: String, pages: [Int])
  /// Since the file was opened here, it was encrypted under another key by somebody else.
  case keyChanged(file: String)
  /// The key fits under other cipher settings than this engine can use.
  case cipherSettingsMismatch(file: String, profile: CipherProfile)
  /// The SQLite library in use cannot encrypt. Nothing was written.
  case engineHasNoCipher(library: String)
  /// The key has no bytes: with such a key the engine would write plaintext.
  case emptyKey
  /// A raw key must have exactly `expected` bytes.
  case keyLength(expected: Int, found: Int)
  /// A salt must have exactly `expected` bytes.
  case saltLength(expected: Int, found: Int)
  /// The file's header is in clear, so that its salt is not in the file, and the key came without one.
  case saltMissing(file: String)
  /// A key file is cut, changed, put together from others, or of a newer format.
  case keyFileDamaged(file: String, reason: String)
  /// The secret opens no slot of the key file, which is undamaged.
  case noSlotOpens(file: String)
  /// A key file has no slot of this name.
  case noSuchSlot(file: String, name: String, available: [String])
  /// A slot cannot have this name, or there is no room for another.
  case slotName(file: String, reason: String)
  /// The key file would have no slot left, and the database could not be opened any more.
  case lastSlot(file: String)
  /// A rotation was given no secret for these slots.
  case slotsWouldBeLost(file: String, names: [String])
  /// What was typed is no recovery code.
  case recoveryCode(reason: String)
  /// There is no such file.
  case notFound(file: String)
  /// There is a file already where a new one was to be created.
  case alreadyExists(file: String)
  /// The path leads to a directory.
  case isDirectory(file: String)
  /// The folder that should hold the file does not exist.
  case folderMissing(folder: String)
  /// The file has no bytes.
  case emptyFile(file: String)
  /// The file may not be opened by this user.
  case permissionDenied(file: String)
  /// The file, or the connection, may only be read.
  case readOnly(file: String)
  /// No file can lie at this path, or the engine cannot take it.
  case pathUnusable(file: String, reason: String)
  /// The path is a link to a file that does not exist.
  case danglingLink(file: String, target: String)
  /// The path leads to something that holds no bytes of its own: a pipe, a socket, a device.
  case notAFile(file: String, kind: String)
  /// The file has several names (hard links): replaced under one, it would stay as it is under the others.
  case severalNames(file: String, count: Int)
  /// The file belongs to another user or group, and what replaces it could not be given to them.
  case ownerWouldChange(file: String)
  /// The file keeps a log whose index has to be written for reading it, and this user may not.
  case logUnreadable(file: String)
  /// What lies beside the file as its log or journal is larger than it can be in earnest, or than the room that there is.
  case journalTooLarge(file: String, byteCount: Int)
  /// The key fits, but the pages carry no HMAC: format 1 of SQLCipher, whose files anyone can change unseen.
  case unauthenticated(file: String)
  /// Since the file was opened here, another one was put in its place.
  case fileReplaced(file: String)
  /// The disk is full, or a quota or size limit is reached.
  case diskFull(file: String)
  /// There is no database at the path, but a log, an index or a journal beside it, which would be taken for the new one's.
  case leftBeside(file: String, name: String)
  /// What lies where the engine keeps its log, its index or its journal is no file of its own: a link, a pipe, a file with
  /// another name. The engine would write through it.
  case companionUnusable(file: String, kind: String)
  /// The journal names another file, which the engine would delete, and which does not belong to it.
  case journalNamesAnother(file: String)
  /// What was to be replaced is no store.
  case notReplaceable(file: String, kind: String)
  /// Opened for reading alone while a process that died within a transaction has left its journal, which has to be put
  /// back first.
  case interruptedWrite(file: String)
  /// Another connection or process holds the lock; `waitedSeconds` have passed, 0 where waiting could not help.
  /// `holders` are those in the way, as far as the system tells: on Linux it does, elsewhere the list is empty.
  case busy(file: String, waitedSeconds: Double, holders: [LockHolder])
  /// The connection or pool has been closed.
  case closed(file: String)
  /// The statement was interrupted; its transaction is rolled back.
  case interrupted
  /// A constraint of the schema forbids the change.
  case constraint(message: String, extendedCode: Int, sql: String)
  /// A statement takes `expected` parameters, `found` were given.
  case parameterCount(expected: Int, found: Int, sql: String)
  /// Named parameters without a value, and names that the statement does not know.
  case parameterNames(missing: [String], unknown: [String], sql: String)
  /// Values were interpolated and given beside the text too.
  case mixedParameters(sql: String)
  /// The text holds no statement, or more than the one that the call runs.
  case notOneStatement(sql: String)
  /// A placeholder of a format, at `position` counted from 1, cannot be bound.
  case format(position: Int, reason: String, sql: String)
  /// A row has no such column.
  case noSuchColumn(name: String, available: [String])
  /// A column's value is not of the type that was asked for; `found` is its storage class.
  case columnType(column: String, expected: String, found: String)
  /// Bytes beyond the end of a blob, whose length is fixed.
  case blobRange(place: String, offset: Int, count: Int, available: Int)
  /// A call that would wait for itself: the writing connection is already in use by this call's caller.
  case nestedWrite(file: String)
  /// The call needs a state that is committed, and the connection's transaction has changes that are not.
  case uncommittedChanges(file: String)
  /// A check after the operation found that the result is not as it must be; nothing was kept.
  case verificationFailed(file: String, reason: String)
  /// This engine is too old for the call.
  case unsupported(feature: String, engine: String)
  /// A system call failed.
  case system(file: String, operation: String, code: Int)
  /// Anything else that the engine reports, with its codes and the SQL text without values.
  case engine(code: Int, extendedCode: Int, message: String, sql: String)
  /// The passphrases of a key file cost more to try than is allowed (``ScryptBudget``): so many seconds on a usual core,
  /// so many bytes of memory.
  case keyFileTooCostly(file: String, seconds: Double, memoryBytes: Int)
  /// A change of the key was stopped after its commit: the new key is in force, and not every page was read with it.
  case notVerified(file: String)
}

extension SQLError {
  /// The error for a system call that has just failed, as `errno` tells.
  static func failed(_ operation: String, on file: String, code: Int32 = errno) -> SQLError {
    switch code {
    case ENOSPC, EDQUOT, EFBIG: .diskFull(file: file)
    case EACCES, EPERM, EROFS: .permissionDenied(file: file)
    default: .system(file: file, operation: operation, code: Int(code))
    }
  }

  /// Whether it is ``busy(file:waitedSeconds:holders:)``.
  public var isBusy: Bool {
    if case .busy = self { true } else { false }
  }

  /// Whether a system call's error says that there is no more room: a full disk, a quota, a limit of the file's size.
  package static func isNoSpace(_ code: Int) -> Bool {
    [Int(ENOSPC), Int(EDQUOT), Int(EFBIG)].contains(code)
  }
}

extension SQLError: CustomStringConvertible {
  /// One sentence that says what happened and what to do.
  public var description: String {
    switch self {
    case .wrongKey(let file):
      "\(file): the key does not fit. Check which key is in use; the file is unchanged."
    case .notEncrypted(let file):
      "\(file): this is a plain, unencrypted SQLite file. Only encrypted files are opened here."
    case .notADatabase(let file, let reason):
      "\(file): this is not an encrypted database (\(reason)). Check the path."
    case .corrupted(let file, let pages):
      "\(file): the key fits, but \(Self.list(pages)) damaged or missing. Restore the file from a backup."
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
    case .recoveryCode(let reason):
      "This is no recovery code: \(reason). A code has 8 groups of 4 letters and digits."
    case .notFound(let file):
      "\(file): there is no such file. Check the path, or allow it to be created."
    case .alreadyExists(let file):
      "\(file): a file is there already and was left alone. Choose another path."
    case .isDirectory(let file):
      "\(file): this is a directory. Give the path of a file in it."
    case .folderMissing(let folder):
      "\(folder): this folder does not exist. Create it first."
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
      "\(file): the file has \(count) names (hard links), and only this one would lead to the new file. "
        + "Remove the others first (find -samefile shows them)."
    case .ownerWouldChange(let file):
      "\(file): the new file could not be given to the owner and the group of this one. "
        + "Run it as the file's owner, or as root."
    case .logUnreadable(let file):
      "\(file): to read it beside programs that write, its -shm has to be written, and this user may not. "
        + "Run it as the file's owner; or, where nobody writes, open it as immutable."
    case .journalTooLarge(let file, let byteCount):
      "\(file): this journal has \(byteCount) bytes, more than its database can need or the disk can take. "
        + "Look where it comes from, and move it away if it does not belong there."
    case .unauthenticated(let file):
      "\(file): the key fits, but the file is in SQLCipher's format 1, whose pages carry no HMAC. Move it to a newer "
        + "format with the sqlcipher shell: PRAGMA cipher_use_hmac = OFF, ATTACH, sqlcipher_export."
    case .fileReplaced(let file):
      "\(file): another file was put in its place since it was opened here. Open it again."
    case .diskFull(let file):
      "\(file): the disk is full, or a quota or size limit is reached. Make room and try again."
    case .leftBeside(let file, let name):
      "\(file): there is no database, but \(name) beside it, which would be read as its log. Put the database back that it "
        + "belongs to, or move it away."
    case .companionUnusable(let file, let kind):
      "\(file): this is \(kind), where the engine would write. Look where it comes from, and remove it."
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
      "The change breaks a rule of the schema (\(message)) in: \(sql)"
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
      "\(place): \(count) bytes at \(offset) go beyond the \(available) bytes that the value has. "
        + "Insert a longer value first."
    case .nestedWrite(let file):
      "\(file): this call would wait for the write that it is made from. Use the context or connection "
        + "that the outer write was given."
    case .uncommittedChanges(let file):
      "\(file): the transaction that is open here has changes. Commit or roll back first."
    case .verificationFailed(let file, let reason):
      "\(file): the result could not be verified (\(reason)); the former state was kept."
    case .unsupported(let feature, let engine):
      "\(engine) has no \(feature). Ask Engine.current first, or link a newer engine."
    case .system(let file, let operation, let code):
      "\(file): \(operation) failed: \(String(cString: strerror(Int32(clamping: code)))) (system error \(code))."
    case .engine(let code, let extended, let message, let sql):
      sql.isEmpty
        ? "SQLite error \(code) (\(extended)): \(message)."
        : "SQLite error \(code) (\(extended)): \(message), in: \(sql)"
    case .keyFileTooCostly(let file, let seconds, let memory):
      "\(file): to try its passphrases would take about \(seconds.formattedSeconds) s and "
        + "\((memory + 999_999) / 1_000_000) MB, more than is allowed. If the file is as you made it, allow that "
        + "(KeyFile.Unlock.allowing, store-migrate --slots-work)."
    case .notVerified(let file):
      "\(file): stopped after the commit: the NEW key is in force, and not every page was read with it. "
        + "Check the file when there is time (store-migrate verify)."
    }
  }

  private static func names(_ holders: [LockHolder]) -> String {
    holders.isEmpty
      ? "another connection or process"
      : holders.prefix(3).map(\.description).joined(separator: " or ")
        + (holders.count > 3 ? " or another" : "")
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
    return tenths.truncatingRemainder(dividingBy: 10) == 0 ? "\(Int(tenths / 10))" : "\(tenths / 10)"
  }
}
