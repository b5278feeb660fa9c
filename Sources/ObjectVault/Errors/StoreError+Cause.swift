// The error that stopped a run of steps after some of them were committed.

public import CipherSQLite

extension StoreError {
  /// The error that stopped a run: see ``StoreError/stopped(atVersion:by:)``.
  public indirect enum Cause: Error, Sendable, Equatable {
    /// A ``StoreError``: a step that failed, a loss that was not allowed, a full disk.
    case store(StoreError)
    /// An error of the file or the engine, such as another connection's lock.
    case engine(SQLError)
    /// Any other error, as its text.
    case other(String)

    /// Wraps an error.
    /// - Parameter error: The error that a run threw.
    package init(_ error: any Error) {
      self =
        switch error {
        case let error as StoreError: .store(error)
        case let error as SQLError: .engine(error)
        default: .other("\(error)")
        }
    }

    /// The wrapped error; nil for one that is kept as text.
    package var error: (any Error)? {
      switch self {
      case .store(let error): error
      case .engine(let error): error
      case .other: nil
      }
    }

    /// Returns the last sentence of the description of ``StoreError/stopped(atVersion:by:)``.
    fileprivate func storeState(at version: Int) -> String {
      switch self {
      // Its description contains the version.
      case .store(.steppedBack): ""
      // The connection that has the lock may be about to change the version.
      case .engine(.busy): " The earlier steps are committed: the store was last seen at version \(version)."
      default: " The earlier steps are committed: the store is at version \(version)."
      }
    }
  }

  /// The last sentence of errors that leave the store unchanged.
  static let unchanged = " The store is unchanged."

  /// Returns an error's text without a last sentence which states that nothing was changed.
  package static func withoutUnchanged(_ text: String) -> String {
    // Only at the end: a sentence by the author of a step may contain the same words.
    let ending = [unchanged, " Nothing was changed."].first(where: text.hasSuffix)
    return String(text.dropLast(ending?.count ?? 0))
  }

  /// Returns the description of an error that stopped a run after committed steps.
  static func stopped(_ version: Int, _ cause: Cause) -> String {
    withoutUnchanged("\(cause)") + cause.storeState(at: version)
  }
}

extension StoreError.Cause: CustomStringConvertible {
  /// The description of the wrapped error.
  public var description: String {
    if case .other(let text) = self { text } else { error.map { "\($0)" } ?? "" }
  }
}
