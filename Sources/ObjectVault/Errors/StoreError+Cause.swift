// What stopped a run of steps behind some of its own that stand: an error of the store's, of the engine's, or another.

public import CipherSQLite

extension StoreError {
  /// What stopped a run: see ``StoreError/stopped(atVersion:by:)``.
  public indirect enum Cause: Error, Sendable, Equatable {
    /// A step that failed, a loss that nobody allowed, a disk without room: what is no error of the file.
    case store(StoreError)
    /// An error of the file or of the engine, such as the lock of somebody else.
    case engine(SQLError)
    /// Any other error, in its words.
    case other(String)

    /// - Parameter error: Whatever a run threw.
    package init(_ error: any Error) {
      self =
        switch error {
        case let error as StoreError: .store(error)
        case let error as SQLError: .engine(error)
        default: .other("\(error)")
        }
    }

    /// The error itself, where it is one of this package's.
    package var error: (any Error)? {
      switch self {
      case .store(let error): error
      case .engine(let error): error
      case .other: nil
      }
    }

    /// How ``StoreError/stopped(atVersion:by:)`` ends.
    fileprivate func standing(at version: Int) -> String {
      switch self {
      // It says which version that is.
      case .store(.steppedBack): ""
      // Whoever has the lock may be about to change it.
      case .engine(.busy): " The steps before stand: the store was last seen at version \(version)."
      default: " The steps before stand: the store is at version \(version)."
      }
    }
  }

  /// How errors end that leave the store as it was.
  static let unchanged = " The store is unchanged."

  /// What an error says but for its end, by which nothing would have been changed.
  package static func withoutUnchanged(_ text: String) -> String {
    // At the end alone: an author's own sentence may say the same.
    let ending = [unchanged, " Nothing was changed."].first(where: text.hasSuffix)
    return String(text.dropLast(ending?.count ?? 0))
  }

  /// What stands behind steps of the same run.
  static func stopped(_ version: Int, _ cause: Cause) -> String {
    withoutUnchanged("\(cause)") + cause.standing(at: version)
  }
}

extension StoreError.Cause: CustomStringConvertible {
  /// The error's own words.
  public var description: String {
    if case .other(let text) = self { text } else { error.map { "\($0)" } ?? "" }
  }
}
