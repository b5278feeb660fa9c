// The exit codes. Help and documentation print them from here.

import CipherSQLite
import ObjectVault

/// The exit code of a run of `store-migrate`.
public enum ExitCode: Int32, Sendable, CaseIterable {
  /// The work was done, or there was nothing to do.
  case ok = 0
  /// The run failed. The message states the present state; in most cases, nothing was changed. This is
  /// also the code when the report could not be written.
  case failed = 1
  /// Something is pending or out of step, a review found something, or something has no place in a store:
  /// see the report.
  case attention = 2
  /// A step was edited, is missing, exists twice, or was reordered.
  case historyConflict = 3
  /// The store is newer than the steps, or has a newer format than this tool supports.
  case storeTooNew = 4
  /// Something was not allowed: a step that loses data, or an action that replaces, removes or exports
  /// something. Or a step rejects rows, in a plan or in its run. Or a step has no rollback, or calls a
  /// function of the app that this tool does not have. Or the work is refused for another reason that the
  /// user has to settle, such as a possible renaming, a released step, a file that was not generated, or
  /// the last slot of a key file.
  case refused = 5
  /// The backup could not be made, or the disk does not have enough room.
  case noSpace = 6
  /// There is no such store, file or folder.
  case notFound = 10
  /// Another process holds the lock.
  case locked = 11
  /// The key does not fit, or the file is not a store.
  case cannotDecrypt = 12
  /// The arguments are wrong.
  case usage = 64
  /// The terminal was closed (SIGHUP). The message states what is true now.
  case hungUp = 129
  /// The run was interrupted (SIGINT). The message states what is true now.
  case interrupted = 130
  /// The run was terminated (SIGTERM). The message states what is true now.
  case terminated = 143

  /// The meaning in a few words, as the help prints it.
  public var meaning: String {
    switch self {
    case .ok: "done, or nothing to do"
    case .failed:
      "failed: the message states what was changed, if anything; or the report could not be written"
    case .attention:
      "attention: pending or drift (status --exit-code), difference (check, diff, rebase), damage (verify), "
        + "findings (lint), losses or obstacles (schema import)"
    case .historyConflict: "history conflict: a step was edited, is missing or has another number"
    case .storeTooNew: "the store is newer than the steps"
    case .refused:
      "refused: needs permission (see up --allow), rejected rows (see plan), no rollback, "
        + "or a missing Swift function"
    case .noSpace: "the backup could not be made, or not enough disk space"
    case .notFound: "no such store, file or folder"
    case .locked: "locked by another process"
    case .cannotDecrypt: "cannot decrypt: wrong key, other settings, or not a store"
    case .usage: "wrong arguments"
    case .hungUp: "same as 130, for SIGHUP"
    case .interrupted:
      "interrupted (SIGINT): the message states whether the work was done, and which key opens the store"
    case .terminated: "same as 130, for SIGTERM"
    }
  }

  /// Creates the code for a signal that stopped the run: 128 plus its number, as shells have it.
  init(signal: Int32) { self = ExitCode(rawValue: 128 + signal) ?? .interrupted }

  /// Creates the code for an error.
  /// - Parameter error: The error that ended the run. Any unknown error gives `failed`.
  public init(_ error: any Error) {
    switch error {
    case is CancellationError: self = .interrupted
    case is UsageError: self = .usage
    case let error as RefusedError: self = error.code
    case let error as ExplainedError: self = error.code
    case let error as StoreError: self = Self.code(error)
    case let error as SQLError: self = Self.code(error)
    default: self = .failed
    }
  }

  private static func code(_ error: StoreError) -> ExitCode {
    switch error {
    case .stopped(_, let cause): cause.error.map { ExitCode($0) } ?? .failed
    case .historyConflict, .repairRefused: .historyConflict
    case .storeIsNewer: .storeTooNew
    case .notEnoughSpace, .backupFailed, .diskFull: .noSpace
    case .lossNotAllowed, .rowsRefused, .rollbackLoses, .cannotRollBack, .foldRefused, .adoptionLoses,
      .notAutomatic,
      .transformMissing:
      .refused
    case .migrationNeeded: .attention
    case .notAStore: .cannotDecrypt
    case .otherFormat(_, let found, let supported): found > supported ? .storeTooNew : .failed
    case .predicate, .noEntity, .noProperty, .propertyMisused, .renamingRefused: .usage
    default: .failed
    }
  }

  private static func code(_ error: SQLError) -> ExitCode {
    switch error {
    case .notFound, .folderMissing, .isDirectory: .notFound
    case .busy: .locked
    case .wrongKey, .logUnderOtherKey, .keyChanged, .notEncrypted, .notADatabase, .emptyFile,
      .cipherSettingsMismatch,
      .engineHasNoCipher,
      .emptyKey, .keyEndsInZero,
      .keyLength, .saltLength, .saltMissing, .noSlotOpens, .keyFileDamaged, .recoveryCode, .keyFileTooCostly:
      .cannotDecrypt
    case .lastSlot, .slotsWouldBeLost, .slotTooCostly, .tooManyGenerations, .sameKey: .refused
    case .diskFull: .noSpace
    case .system(_, _, let code) where SQLError.isNoSpace(code): .noSpace
    case .interrupted: .interrupted
    // SQLITE_FULL.
    case .engine(13, _, _, _): .noSpace
    default: .failed
    }
  }
}

/// A mistake in the command line.
public struct UsageError: Error, CustomStringConvertible {
  /// What is wrong, and what to write instead.
  public let description: String
  init(_ description: String) { self.description = description }
}

/// An action that was not carried out, with the exit code and the reason.
struct RefusedError: Error, CustomStringConvertible {
  let code: ExitCode
  let description: String
}

/// An error with what the store records about it: a screen with one cause and the next command.
struct ExplainedError: Error, CustomStringConvertible {
  let code: ExitCode
  let description: String
  /// How the history compares with the steps, for JSON.
  var history: HistoryState?
  /// The number of the step that cannot run, and why; nil when the error has another cause.
  var unfitStep: (number: Int, fault: String)?
}
