// A way to stop the engine's change of a key. sqlite3_rekey commits by itself, within the call, and asks nobody before;
// a ROLLBACK behind it undoes nothing. What it cannot do without is its files.

extension CommitGate {
  /// What becomes of the calls of the engine while a key is changed: a write that the gate forbids fails, and the engine undoes
  /// the transaction as it does when a disk fails.
  /// - Parameter former: Who is asked about what the gate lets go on.
  func answers(before former: ((FileCall) -> FileAnswer)?) -> (FileCall) -> FileAnswer {
    // The engine undoes a transaction by writing, too: one failure is enough.
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
      return former?(call) ?? .goesOn
    }
  }
}
