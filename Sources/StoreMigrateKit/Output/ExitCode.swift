// The exit codes, in one place: help and documentation print them from here.

import CipherSQLite
import ObjectVault

/// How a run of `store-migrate` ended.
public enum ExitCode: Int32, Sendable, CaseIterable {
  /// Done, or nothing to do.
  case ok = 0
  /// Failed; nothing was changed.
  case failed = 1
  /// Something is pending, or out of step.
  case attention = 2
  /// An edited, missing, duplicate or reordered step.
  case historyConflict = 3
  /// The store is newer than the steps.
  case storeTooNew = 4
  /// A step that loses data was not allowed.
  case refused = 5
  /// The backup could not be made, or there is not enough room on the disk.
  case noSpace = 6
  /// No such store.
  case notFound = 10
  /// Another process keeps the lock.
  case locked = 11
  /// The key does not fit, or this is no store.
  case cannotDecrypt = 12
  /// Wrong arguments.
  case usage = 64
  /// Interrupted; rolled back.
  case interrupted = 130

  /// The meaning in a few words.
  public var meaning: String {
    switch self {
    case .ok: "done, or nothing to do"
    case .failed: "failed, nothing changed"
    case .attention: "attention: pending (status --exit-code), out of step (check), damage (verify)"
    case .historyConflict: "history conflict: a step was edited, lost or moved"
    case .storeTooNew: "the store is newer than the steps"
    case .refused: "refused: a step loses data; see up --allow"
    case .noSpace: "the backup could not be made, or not enough disk"
    case .notFound: "no such store"
    case .locked: "locked by another process"
    case .cannotDecrypt: "cannot decrypt: wrong key, other settings, or not a store"
    case .usage: "wrong arguments"
    case .interrupted: "interrupted, rolled back"
    }
  }

  /// The code for an error.
  public init(_ error: any Error) {
    switch error {
    case is CancellationError: self = .interrupted
    case is UsageError: self = .usage
    case let error as RefusedError: self = error.code
    case let error as StoreError: self = Self.code(error)
    case let error as SQLError: self = Self.code(error)
    default: self = .failed
    }
  }

  private static func code(_ error: StoreError) -> ExitCode {
    switch error {
    case .historyConflict: .historyConflict
    case .storeIsNewer: .storeTooNew
    case .notEnoughSpace, .backupFailed, .diskFull: .noSpace
    case .lossNotAllowed: .refused
    case .notAStore: .cannotDecrypt
    default: .failed
    }
  }

  private static func code(_ error: SQLError) -> ExitCode {
    switch error {
    case .notFound, .folderMissing, .isDirectory: .notFound
    case .busy: .locked
    case .wrongKey, .keyChanged, .notEncrypted, .notADatabase, .emptyFile, .cipherSettingsMismatch,
      .engineHasNoCipher,
      .emptyKey,
      .keyLength, .saltLength, .saltMissing, .noSlotOpens, .keyFileDamaged, .recoveryCode:
      .cannotDecrypt
    case .lastSlot, .slotsWouldBeLost: .refused
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
