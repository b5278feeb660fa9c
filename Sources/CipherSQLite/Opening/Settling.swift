// A verdict on a file that others may be changing: before anybody is told that the key is wrong or the file damaged,
// the file is looked at twice and has to have stayed the same.

private import Foundation

/// Tries to open a file until it opens, or until what is wrong with it is certain.
struct Settling {
  private let file: DatabasePath
  private let seconds: Double
  /// Longer than the clock of file systems goes in one step, so that a write between two looks shows.
  private static let pause = 0.02

  /// - Parameters:
  ///   - file: The file.
  ///   - seconds: How long to wait for a file that goes on changing.
  init(_ file: DatabasePath, seconds: Double) {
    self.file = file
    self.seconds = seconds
  }

  /// Runs `body`, again while somebody changes or replaces the file. It is told how often it ran before: what takes long
  /// to find out may wait for the second time.
  /// - Throws: What `body` throws, when it has thrown the same twice on the same state of the file;
  ///   ``SQLError/busy(file:waitedSeconds:holders:)`` for a file that does not come to rest.
  func run<Result>(_ body: (_ attempt: Int) throws -> Result) throws -> Result {
    let deadline = Deadline(seconds)
    var former: (error: SQLError, mark: FileMark)?
    for attempt in 0... {
      let mark = FileMark(file)
      do { return try body(attempt) } catch let error as SQLError where error.dependsOnState {
        let isSame = error.isAboutKey ? mark.isSameFile(as:) : { mark == $0 && mark == FileMark(file) }
        if let former, former.error == error, isSame(former.mark) { throw error }
        // Two looks at least, however short the wait; and a file that stays as it is gets its verdict.
        guard former == nil || !deadline.isOver || former.map({ $0.mark == mark }) ?? false else {
          throw SQLError.busy(
            file: file.given, waitedSeconds: deadline.waited,
            holders: LockHolder.blocking(file, isWriting: true))
        }
        former = (error, mark)
        Thread.sleep(forTimeInterval: Self.pause)
      }
    }
    // Not reached: the numbers do not end.
    throw SQLError.closed(file: file.given)
  }
}

extension SQLError {
  /// Whether it is about key and settings, which stay the same in a file that is written to: they change in one step,
  /// with a commit or with another file.
  fileprivate var isAboutKey: Bool {
    switch self {
    case .wrongKey, .notEncrypted, .unauthenticated, .saltMissing, .cipherSettingsMismatch, .notFound: true
    default: false
    }
  }

  /// Whether another moment could give another answer: what was read while somebody wrote tells nothing.
  fileprivate var dependsOnState: Bool {
    switch self {
    case .wrongKey, .keyChanged, .corrupted, .notADatabase, .notEncrypted, .unauthenticated, .saltMissing,
      .emptyFile,
      .cipherSettingsMismatch, .notFound, .fileReplaced:
      true
    // Malformed, and not a database.
    case .engine(let code, _, _, _): code == 11 || code == 26
    default: false
    }
  }
}
