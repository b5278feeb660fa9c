// The state of a fetch that can run as two statements: the ids by an index alone, then the rows in table
// order. LateFetch runs it.

private import Synchronization

/// Decides whether the rows of one fetch are read after all its ids. All contexts of a store share it:
/// the result of the last run determines how the next one is run.
final class LateLookup: Sendable {
  private enum State: UInt8 {
    /// The query plan has not been examined yet: no run has found many scattered rows.
    case unknown
    /// No index finds the ids without the rows, or one does, but in another order.
    case unfit
    /// An index finds the ids, but the last run found few rows, or rows in table order.
    case idle
    /// The next run reads the ids first.
    case used
  }

  /// The statement for the ids of the fetch's rows. It has the order and the bound values of the
  /// statement for whole rows.
  struct IDs: Sendable {
    let text: String
    /// The statement in the form in which it is run.
    let form: ScanForm
  }

  /// The statement for whole rows.
  let text: String
  private let makeIDs: @Sendable () -> IDs
  private let made = ComputedOnce<IDs>()
  private let state = Atomic(State.unknown.rawValue)

  /// Makes the state of a fetch.
  /// - Parameter ids: Makes the statement for the ids when it is first needed. In most cases that is
  ///   never, because most fetches find few rows.
  init(_ text: String, ids: @escaping @Sendable () -> IDs) { (self.text, makeIDs) = (text, ids) }

  var ids: IDs { made.value(makeIDs) }
  var isUsed: Bool { state.load(ordering: .relaxed) == State.used.rawValue }
  /// Whether results of the fetch can still change the state.
  var isOpen: Bool { state.load(ordering: .relaxed) != State.unfit.rawValue }

  /// Updates the state after a run.
  /// - Parameters:
  ///   - isScattered: Whether the run found many scattered rows.
  ///   - isFit: Returns whether an index finds the ids without the rows. Called only while the
  ///     query plan has not been examined yet.
  /// - Returns: Whether `isFit` was called.
  @discardableResult func note(isScattered: Bool, isFit: () throws -> Bool) rethrows -> Bool {
    switch State(rawValue: state.load(ordering: .relaxed)) {
    case .unknown where isScattered:
      set(try isFit() ? .used : .unfit)
      return true
    case .idle where isScattered: set(.used)
    case .used where !isScattered: set(.idle)
    case .unknown, .unfit, .idle, .used, nil: break
    }
    return false
  }

  // If two runs end at once, either state is acceptable: only the time of the next run depends on it.
  private func set(_ next: State) { state.store(next.rawValue, ordering: .relaxed) }
}
