// Retries opening a file that others may be changing. Before an error reports that the key is wrong or
// the file is damaged, the file must have failed twice, without a change in between.

private import Foundation

/// Tries to open a file until it opens, or until the error is certain.
struct OpenRetry {
  private let file: DatabasePath
  private let seconds: Double
  /// Seconds between two attempts: longer than the clock resolution of file systems, so that a write in
  /// between is visible.
  private static let pause = 0.02

  /// Makes the retries of one opening.
  /// - Parameters:
  ///   - file: The file.
  ///   - seconds: How long to wait for a file that keeps changing.
  init(_ file: DatabasePath, seconds: Double) {
    self.file = file
    self.seconds = seconds
  }

  /// Runs `body`, and repeats it while other processes change or replace the file. `body` receives the
  /// number of earlier attempts, so that it can leave slow checks to the second attempt.
  /// - Throws: What `body` throws. An error that no other process can have caused is thrown at once. An
  ///   error about the key is thrown when `body` has thrown it twice on the same file. Any other error is
  ///   thrown when `body` has thrown it twice on the same state of the file.
  ///   ``SQLError/busy(file:waitedSeconds:holders:)`` is thrown for a file that keeps changing.
  func run<Result>(_ body: (_ attempt: Int) throws -> Result) throws -> Result {
    let deadline = Deadline(seconds)
    var former: (error: SQLError, mark: FileFingerprint)?
    for attempt in 0... {
      let mark = FileFingerprint(file)
      do { return try body(attempt) } catch let error as SQLError where error.mayBeTransient {
        let isSame = error.isAboutKey ? mark.isSameFile(as:) : { mark == $0 && mark == FileFingerprint(file) }
        if let former, former.error == error, isSame(former.mark) { throw error }
        // `busy` is thrown only for a file that changes, and not before the second attempt, however short
        // the wait is.
        guard former == nil || !deadline.isOver || former.map({ $0.mark == mark }) ?? false else {
          throw SQLError.busy(
            file: file.given, waitedSeconds: deadline.waited,
            holders: LockHolder.blocking(file, isWriting: true))
        }
        former = (error, mark)
        Thread.sleep(forTimeInterval: Self.pause)
      }
    }
    // Not reached: the range has no end.
    throw SQLError.closed(file: file.given)
  }
}

extension SQLError {
  /// Whether the error is about the key, the cipher settings or the existence of the file. Ordinary writes
  /// do not change these. The commit of a rekey changes them in one step, and so does creating or replacing
  /// the file.
  fileprivate var isAboutKey: Bool {
    switch self {
    case .wrongKey, .logUnderOtherKey, .notEncrypted, .unauthenticated, .saltMissing, .cipherSettingsMismatch,
      .notFound:
      true
    default: false
    }
  }

  /// Whether the same attempt could end differently at another moment: what was read during a write
  /// proves nothing.
  fileprivate var mayBeTransient: Bool {
    switch self {
    case .wrongKey, .logUnderOtherKey, .keyChanged, .corrupted, .notADatabase, .notEncrypted,
      .unauthenticated, .saltMissing, .emptyFile,
      .cipherSettingsMismatch, .notFound, .fileReplaced:
      true
    // SQLITE_CORRUPT (11) and SQLITE_NOTADB (26).
    case .engine(let code, _, _, _): code == 11 || code == 26
    default: false
    }
  }
}
