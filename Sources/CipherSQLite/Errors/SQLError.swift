// The errors of the SQL layer. No case contains key bytes or bound values. The messages
// are in SQLError+Description.

private import Foundation

/// An error with a file, a key or a statement.
///
/// Each case has the data that a person needs to fix the cause. `description` is a message that states what
/// happened and what to do.
public enum SQLError: Error, Equatable, Sendable {
  /// The key does not fit: no page of the file verifies under it, with any cipher settings that were tried.
  case wrongKey(file: String)
  /// The file is a plain SQLite database.
  case notEncrypted(file: String)
  /// The file is neither an encrypted nor a plain database.
  case notADatabase(file: String, reason: String)
  /// The key fits, but these pages are damaged or missing. Pages are counted from 1; at most 100 are listed.
  case corrupted(file: String, pages: [Int])
  /// This version of SQLite cannot read the SQL of a view, a trigger or a table in the schema; `reason` is
  /// its message. Another version wrote it. Nothing is damaged, and for an encrypted file the key fits.
  case schemaUnreadable(file: String, reason: String)
  /// Another connection or process has encrypted the file under another key since it was opened here.
  case keyChanged(file: String)
  /// The key opens the file, and not its log (`-wal`): the log has a newer key, or belongs to another file.
  case logUnderOtherKey(file: String)
  /// The key fits, but the file has cipher settings that this engine cannot use.
  case cipherSettingsMismatch(file: String, profile: CipherProfile)
  /// The SQLite library in use cannot encrypt. Nothing was written.
  case engineHasNoCipher(library: String)
  /// The key is empty. With an empty key the engine would write plaintext.
  case emptyKey
  /// A raw key must have exactly `expected` bytes; the raw key of a slot (``KeyFile/Unlock``), at least
  /// `expected`.
  case keyLength(expected: Int, found: Int)
  /// A salt must have exactly `expected` bytes.
  case saltLength(expected: Int, found: Int)
  /// The file's header is in clear, so its salt is not in the file, and the key was given without one.
  case saltMissing(file: String)
  /// The key file is truncated, modified, combined from several key files, or in a newer format.
  case keyFileDamaged(file: String, reason: String)
  /// The secret opens no slot of the key file. The file is undamaged.
  case noSlotOpens(file: String)
  /// The key file has no slot with this name; `available` lists its slots.
  case noSuchSlot(file: String, name: String, available: [String])
  /// The name is not allowed for a slot, or the key file has no room for another slot.
  case slotName(file: String, reason: String)
  /// The key file would have no slot left, so that the database could not be opened any more.
  case lastSlot(file: String)
  /// A rotation of the data key got no secret for these slots, which it would therefore remove.
  case slotsWouldBeLost(file: String, names: [String])
  /// The new key is the key that the file has already.
  case sameKey(file: String)
  /// The new passphrase of a file ends in a zero byte. PBKDF2 pads passphrases with zeros, so the
  /// passphrase without these zeros would open the file as well.
  case keyEndsInZero
  /// The key file has no former data key with this number (``KeyFile/Generation``);
  /// `available` lists those it has.
  case noSuchGeneration(file: String, number: Int, available: [Int])
  /// The key file has reached its limit of former data keys.
  case tooManyGenerations(file: String, limit: Int)
  /// The text is not a recovery code.
  case recoveryCode(reason: String)
  /// There is no such file.
  case notFound(file: String)
  /// There is already a file where a new one was to be created.
  case alreadyExists(file: String)
  /// The path is that of a directory.
  case isDirectory(file: String)
  /// The folder that should contain the file does not exist.
  case folderMissing(folder: String)
  /// This user may not create files in the folder: neither the file itself, nor the files that
  /// the engine writes next to it.
  case folderNotWritable(folder: String)
  /// The file is empty.
  case emptyFile(file: String)
  /// This user may not open the file.
  case permissionDenied(file: String)
  /// The file or the connection is read-only.
  case readOnly(file: String)
  /// No file can exist at this path, or the engine does not accept the path.
  case pathUnusable(file: String, reason: String)
  /// The path is a symbolic link to a file that does not exist.
  case danglingLink(file: String, target: String)
  /// The path is not that of a regular file, but of a pipe, a socket or a device.
  case notAFile(file: String, kind: String)
  /// The file has several names (hard links) and was to be written or replaced. The log of one name is
  /// not seen under another, and a replacement under one name would leave the old file under the others.
  case severalNames(file: String, count: Int)
  /// The file belongs to another user or group, and the new file could not be given to them.
  case ownerWouldChange(file: String)
  /// The file has a log whose index must be written for reading, and this user may not write it.
  case logUnreadable(file: String)
  /// The journal next to the file is larger than its database can need.
  case journalTooLarge(file: String, byteCount: Int)
  /// The key fits, but the pages carry no HMAC: this is SQLCipher's format 1, whose
  /// files can be changed unnoticed.
  case unauthenticated(file: String)
  /// The file was deleted, moved or replaced by another one since it was opened here.
  case fileReplaced(file: String)
  /// The disk is full, or a quota or size limit is reached.
  case diskFull(file: String)
  /// There is no database at the path. But next to it is a log, an index or a journal, which a new database
  /// would read as its own.
  case leftBeside(file: String, name: String)
  /// The file in the place of the engine's log, index or journal is unusable: a link, a pipe, a file that
  /// also has another name, or a file that does not begin as the engine's files do. The engine would write
  /// to it.
  case companionUnusable(file: String, kind: String)
  /// The journal names a file that does not belong to it. The engine would delete that file.
  case journalNamesAnother(file: String)
  /// The file that was to be replaced or deleted is not a store.
  case notReplaceable(file: String, kind: String)
  /// The file was opened for reading only, but a process that died within a transaction has left a
  /// journal, which must be rolled back first.
  case interruptedWrite(file: String)
  /// Another connection or process holds the lock. `waitedSeconds` is how long the call waited; 0 if waiting
  /// could not help. `holders` are the processes that hold the lock, as far as Linux reports them; on other
  /// systems it is empty.
  case busy(file: String, waitedSeconds: Double, holders: [LockHolder])
  /// The connection or pool has been closed.
  case closed(file: String)
  /// The statement was interrupted. If it was writing, the engine has rolled back its transaction.
  case interrupted
  /// A constraint of the schema rejected the change.
  case constraint(message: String, extendedCode: Int, sql: String)
  /// The statement takes `expected` parameters, but `found` values were given.
  case parameterCount(expected: Int, found: Int, sql: String)
  /// Named parameters have no value, or names were given that the statement does not have.
  case parameterNames(missing: [String], unknown: [String], sql: String)
  /// Values were both interpolated and passed as arguments.
  case mixedParameters(sql: String)
  /// The text holds no statement, or more than the one statement that the call runs.
  case notOneStatement(sql: String)
  /// A placeholder of a format, at `position` counted from 1, cannot be bound; or there are more values
  /// than placeholders, and `position` is after the last character.
  case format(position: Int, reason: String, sql: String)
  /// The row has no such column; `available` lists the columns it has.
  case noSuchColumn(name: String, available: [String])
  /// The column's value cannot be converted to the requested type; `found` is its storage class.
  case columnType(column: String, expected: String, found: String)
  /// The range exceeds the end of a blob, whose length is fixed.
  case blobRange(place: String, offset: Int, count: Int, available: Int)
  /// The call would wait for itself: it was made from inside a write, which is using the only connection for
  /// writing.
  case nestedWrite(file: String)
  /// The transaction that several writes shared was not committed, so `count` writes that had returned are
  /// not in the file.
  case sharedWritesLost(file: String, count: Int, reason: String)
  /// The call needs a committed state, but the connection's transaction has uncommitted changes.
  case uncommittedChanges(file: String)
  /// A check after the operation found a wrong result; the result was discarded.
  case verificationFailed(file: String, reason: String)
  /// The engine does not have a feature that the call needs.
  case unsupported(feature: String, engine: String)
  /// A system or library call failed. `code` is the system's error, or 0 if there is none.
  case system(file: String, operation: String, code: Int)
  /// Any other error that the engine reports, with its codes and the SQL text without values.
  case engine(code: Int, extendedCode: Int, message: String, sql: String)
  /// Trying the passphrases of a key file would cost more than is allowed (``ScryptBudget``): seconds on
  /// a typical core, and bytes of memory.
  case keyFileTooCostly(file: String, seconds: Double, memoryBytes: Int)
  /// A slot was not created, because opening it would take more time or memory than its secret allows
  /// (``ScryptBudget``): seconds on a typical core, and bytes of memory.
  case slotTooCostly(
    file: String, seconds: Double, memoryBytes: Int, allowedSeconds: Double, allowedMemoryBytes: Int)
  /// A key change was stopped after its commit: the new key is in force, but not
  /// every page was read with it.
  case notVerified(file: String)
  /// A key change was committed, so the new key is in force, but these pages could not be read back.
  /// Pages are counted from 1; at most 100 are listed.
  case rekeyDamaged(file: String, pages: [Int])
}

extension SQLError {
  /// Returns the error for a system call that has just failed, by its `errno`.
  static func failed(_ operation: String, on file: String, code: Int32 = errno) -> SQLError {
    switch code {
    case ENOSPC, EDQUOT, EFBIG: .diskFull(file: file)
    case EACCES, EPERM, EROFS: .permissionDenied(file: file)
    default: .system(file: file, operation: operation, code: Int(code))
    }
  }

  /// Whether the error is ``busy(file:waitedSeconds:holders:)``.
  public var isBusy: Bool {
    if case .busy = self { true } else { false }
  }

  /// Whether the error is caused by the statement, its values, or the rows that it met. Any other error is
  /// caused by the file, the disk, memory or another process. Code that tries statements, or compares their
  /// results, rethrows such other errors.
  package var isOfStatement: Bool {
    switch self {
    case .constraint, .parameterCount, .parameterNames, .mixedParameters, .notOneStatement, .format,
      .noSuchColumn,
      .columnType, .blobRange, .unsupported:
      true
    // SQLITE_ERROR, ABORT, LOCKED (by a statement of the same connection), SCHEMA, TOOBIG,
    // MISMATCH, MISUSE, AUTH, RANGE.
    case .engine(let code, _, _, _): [1, 4, 6, 17, 18, 20, 21, 23, 25].contains(code)
    default: false
    }
  }

  /// Whether the file, or its log, may open with another key.
  var mayFitOtherKey: Bool {
    switch self {
    case .wrongKey, .logUnderOtherKey: true
    default: false
    }
  }

  /// Whether a key change failed after its commit, so that the new key is in force.
  var leavesNewKeyInForce: Bool {
    switch self {
    case .notVerified, .rekeyDamaged: true
    default: false
    }
  }

  /// Returns whether a system error code means that there is no more room: a full disk, a
  /// quota, or a file size limit.
  package static func isNoSpace(_ code: Int) -> Bool {
    [Int(ENOSPC), Int(EDQUOT), Int(EFBIG)].contains(code)
  }
}
