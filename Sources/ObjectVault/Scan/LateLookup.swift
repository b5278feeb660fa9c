// What is known of a fetch that may be run in two statements: the ids by an index alone, then the rows in the order in which
// they lie in the table. LateFetch runs it.

private import Synchronization

/// Whether the rows of one fetch are looked up behind all of its ids. Shared by all who run that fetch in a store: what the
/// last one found tells how the next one is run.
final class LateLookup: Sendable {
  private enum State: UInt8 {
    /// The engine was not asked yet: no fetch had found many rows that lie apart.
    case unknown
    /// No index finds the ids without the rows, or it would find them in another order.
    case unfit
    /// An index does; the ids were few the last time, or stood in order already.
    case idle
    /// The next fetch asks for the ids first.
    case used
  }

  /// The statements that find the ids of the same rows, in the same order and with the same values.
  struct IDs: Sendable {
    let text: String
    /// The same as it is run.
    let form: ScanForm
  }

  /// The statement for whole rows.
  let text: String
  private let makeIDs: @Sendable () -> IDs
  private let made = MadeOnce<IDs>()
  private let state = Atomic(State.unknown.rawValue)

  /// - Parameter ids: Asked once at most: most fetches find few rows.
  init(_ text: String, ids: @escaping @Sendable () -> IDs) { (self.text, makeIDs) = (text, ids) }

  var ids: IDs { made.value(makeIDs) }
  var isUsed: Bool { state.load(ordering: .relaxed) == State.used.rawValue }
  /// Whether it makes a difference what a fetch has found.
  var isOpen: Bool { state.load(ordering: .relaxed) != State.unfit.rawValue }

  /// Takes notice of what a fetch has found.
  /// - Parameters:
  ///   - isScattered: Whether it found many rows that lie apart.
  ///   - isFit: Whether an index finds the ids without the rows. Asked once.
  /// - Returns: Whether the engine was asked.
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

  // Of two fetches at once the later one is right, or as good as the other: nothing but the time depends on it.
  private func set(_ next: State) { state.store(next.rawValue, ordering: .relaxed) }
}
