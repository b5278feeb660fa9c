// Stops the engine's change of a key. sqlite3_rekey commits by itself, within the call, and calls no hook
// before; a ROLLBACK after it undoes nothing. But it needs to write to its files, and those calls can be
// made to fail.

extension CommitGate {
  /// Returns a handler for the engine's file calls while a key is changed. It lets a write fail that the
  /// gate forbids; the engine then rolls the transaction back as after a disk failure.
  /// - Parameter former: The handler that receives the calls that the gate permits.
  func answers(before former: ((FileCall) -> FileAnswer)?) -> (FileCall) -> FileAnswer {
    // The engine also writes to roll a transaction back: only one call may fail.
    var hasRefused = false
    return { call in
      switch call {
      case .commit where !hasRefused && !self.mayCommit(),
        .write where !hasRefused && self.current == .stopped:
        hasRefused = true
        return .fails
      case .committed: self.didCommit()
      case .full: self.didFindDiskFull()
      default: break
      }
      return former?(call) ?? .proceeds
    }
  }
}
