// Every error of the connection layer. No case holds key bytes or bound values. Their sentences are in SQLError+Description.

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
  /// This version of SQLite cannot read the SQL of a view, a trigger or a table in the schema; `reason` is what it says. Another
  /// version wrote it: nothing is damaged, and of an encrypted file the key fits.
  case schemaUnreadable(file: String, reason: String)
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
  /// The key is the one that the file has already.
  case sameKey(file: String)
  /// A passphrase that a file is to get ends in a zero byte: PBKDF2 fills a passphrase up with zeros, so that the same one
  /// without them would open the file.
  case keyEndsInZero
  /// The key file has no former data key of this number (``KeyFile/Generation``); `available` are those that it has.
  case noSuchGeneration(file: String, number: Int, available: [Int])
  /// The key file keeps as many former data keys as it can.
  case tooManyGenerations(file: String, limit: Int)
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
  /// This user may make no file in a folder, where the file was to be, or what the engine writes beside it.
  case folderNotWritable(folder: String)
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
  /// The file has several names (hard links), and was to be written to or replaced: what stands in the log of one name is not
  /// seen under another, and replaced under one it would stay as it is under the others.
  case severalNames(file: String, count: Int)
  /// The file belongs to another user or group, and what replaces it could not be given to them.
  case ownerWouldChange(file: String)
  /// The file keeps a log whose index has to be written for reading it, and this user may not.
  case logUnreadable(file: String)
  /// What lies beside the file as its log or journal is larger than it can be in earnest, or than the room that there is.
  case journalTooLarge(file: String, byteCount: Int)
  /// The key fits, but the pages carry no HMAC: format 1 of SQLCipher, whose files anyone can change unseen.
  case unauthenticated(file: String)
  /// Since the file was opened here, it was deleted or moved, or another one was put in its place.
  case fileReplaced(file: String)
  /// The disk is full, or a quota or size limit is reached.
  case diskFull(file: String)
  /// There is no database at the path, but a log, an index or a journal beside it, which would be taken for the new one's.
  case leftBeside(file: String, name: String)
  /// What lies where the engine keeps its log, its index or its journal is no file of its own: a link, a pipe, a file with
  /// another name, or one that begins as none of the engine's does. The engine would write through it.
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
  /// A slot was not made, because opening it would take so many seconds on a usual core and so many bytes of memory, and its
  /// secret allows less (``ScryptBudget``).
  case slotTooCostly(
    file: String, seconds: Double, memoryBytes: Int, allowedSeconds: Double, allowedMemoryBytes: Int)
  /// A change of the key was stopped after its commit: the new key is in force, and not every page was read with it.
  case notVerified(file: String)
  /// A change of the key was committed, and these pages (counted from 1, at most 100 are listed) could not be read back: the
  /// new key is in force.
  case rekeyDamaged(file: String, pages: [Int])
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

  /// Whether the error is about the statement, its values, or the rows that it met. Any other error is about the file, the disk,
  /// memory or another process: code that tries statements, or compares their results, rethrows it.
  package var isOfStatement: Bool {
    switch self {
    case .constraint, .parameterCount, .parameterNames, .mixedParameters, .notOneStatement, .format,
      .noSuchColumn,
      .columnType, .blobRange, .unsupported:
      true
    // SQLITE_ERROR, ABORT, LOCKED (by a statement of the same connection), SCHEMA, TOOBIG, MISMATCH, MISUSE, AUTH, RANGE.
    case .engine(let code, _, _, _): [1, 4, 6, 17, 18, 20, 21, 23, 25].contains(code)
    default: false
    }
  }

  /// Whether a change of the key failed behind its commit, so that the new key is in force.
  var isOfNewKey: Bool {
    switch self {
    case .notVerified, .rekeyDamaged: true
    default: false
    }
  }

  /// Whether a system call's error says that there is no more room: a full disk, a quota, a limit of the file's size.
  package static func isNoSpace(_ code: Int) -> Bool {
    [Int(ENOSPC), Int(EDQUOT), Int(EFBIG)].contains(code)
  }
}
