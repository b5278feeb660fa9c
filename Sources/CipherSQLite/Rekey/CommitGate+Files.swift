// Stops the engine's change of a key. sqlite3_rekey commits within the call and calls no hook before the
// commit; a ROLLBACK afterwards undoes nothing. But the engine has to write to its files, and those writes
// can be made to fail.

extension CommitGate {
  /// Returns a handler for the engine's file calls while a key is changed. A write that the gate forbids
  /// fails. The engine then rolls the transaction back, as after a disk failure.
  /// - Parameter former: The handler that receives the calls that the gate permits.
  func answers(before former: ((FileCall) -> FileAnswer)?) -> (FileCall) -> FileAnswer {
    // The engine also writes when it rolls the transaction back, so only one call may fail.
    var hasFailedWrite = false
    return { call in
      switch call {
      case .commit where !hasFailedWrite && !self.mayCommit(),
        .write where !hasFailedWrite && self.current == .stopped:
        hasFailedWrite = true
        return .fails
      case .committed: self.didCommit()
      case .full: self.didFindDiskFull()
      default: break
      }
      return former?(call) ?? .proceeds
    }
  }
}
