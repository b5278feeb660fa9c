// The exit codes, in one place: help and documentation print them from here.

import CipherSQLite
import ObjectVault

/// How a run of `store-migrate` ended.
public enum ExitCode: Int32, Sendable, CaseIterable {
  /// Done, or nothing to do.
  case ok = 0
  /// Failed: the message says what is so now, which mostly is that nothing was changed. Or the report could not be
  /// written.
  case failed = 1
  /// Something is pending or out of step, was found by a review, or has no place in a store: see the report.
  case attention = 2
  /// An edited, missing, duplicate or reordered step.
  case historyConflict = 3
  /// The store is newer than the steps.
  case storeTooNew = 4
  /// A step that loses data, or what replaces, removes or exports something, was not allowed; or there are rows that a step refuses, found by a plan or by the step; or a
  /// step has no way back, or calls a function of the app that this tool has not got.
  case refused = 5
  /// The backup could not be made, or there is not enough room on the disk.
  case noSpace = 6
  /// No such store, file or folder.
  case notFound = 10
  /// Another process keeps the lock.
  case locked = 11
  /// The key does not fit, or this is no store.
  case cannotDecrypt = 12
  /// Wrong arguments.
  case usage = 64
  /// The terminal went away (SIGHUP); the message says what is true now.
  case hungUp = 129
  /// Interrupted (SIGINT); the message says what is true now.
  case interrupted = 130
  /// Told to end (SIGTERM); the message says what is true now.
  case terminated = 143

  /// The meaning in a few words.
  public var meaning: String {
    switch self {
    case .ok: "done, or nothing to do"
    case .failed: "failed, nothing changed but what the message says; or the report could not be written"
    case .attention:
      "attention: pending, drift (status --exit-code), out of step (check, diff, rebase), damage (verify), lint, import"
    case .historyConflict: "history conflict: a step was edited, lost or moved"
    case .storeTooNew: "the store is newer than the steps"
    case .refused:
      "refused: what needs a yes, see up --allow; rows that a step refuses, see plan; no way back; or Swift of the app"
    case .noSpace: "the backup could not be made, or not enough disk"
    case .notFound: "no such store, file or folder"
    case .locked: "locked by another process"
    case .cannotDecrypt: "cannot decrypt: wrong key, other settings, or not a store"
    case .usage: "wrong arguments"
    case .hungUp: "as 130, by SIGHUP"
    case .interrupted: "interrupted (SIGINT): undone, or done; the message says which, and which key fits"
    case .terminated: "as 130, by SIGTERM"
    }
  }

  /// The code for a signal that stopped the run: 128 and its number, as shells have it.
  init(signal: Int32) { self = ExitCode(rawValue: 128 + signal) ?? .interrupted }

  /// The code for an error.
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
    case .lossNotAllowed, .rowsRefused, .wayBackLoses, .noWayBack, .foldRefused, .adoptionLoses,
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
    case .wrongKey, .keyChanged, .notEncrypted, .notADatabase, .emptyFile, .cipherSettingsMismatch,
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

/// Arguments that make no sense together.
public struct UsageError: Error, CustomStringConvertible {
  /// What is wrong and what to write.
  public let description: String
  init(_ description: String) { self.description = description }
}

/// Something that was not done because it was not allowed.
struct RefusedError: Error, CustomStringConvertible {
  let code: ExitCode
  let description: String
}

/// An error with all that the store says of it: a screen with one cause and the next command.
struct ExplainedError: Error, CustomStringConvertible {
  let code: ExitCode
  let description: String
  /// The history beside the steps, for JSON.
  var history: HistoryState?
  /// The step that cannot run, by its number, and why, where that is what is told.
  var unfitStep: (number: Int, fault: String)?
}
