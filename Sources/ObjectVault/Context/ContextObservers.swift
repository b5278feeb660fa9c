// Those who observe the objects of a context, and the order in which they are notified.

internal import Observation

/// Those who observe the objects of a context.
///
/// The setter of an attribute notifies before it writes. What changes several values, such as the setter of a
/// relationship, a fetch, a save or a merge, notifies when it has ended: the closure of an observer may read
/// and change objects.
final class ContextObservers: Observable {
  private enum Part { case all, state, slot(Int) }

  private let registrar = ObservationRegistrar()
  private var waiting: [(observers: ObjectObservers, part: Part)] = []
  /// The tables of which objects were deleted.
  private var deletedTables: Set<Int> = []
  /// The tables of which members were read.
  private var readTables: Set<Int> = []
  /// Whether the context had changes when that was last compared.
  private var hadChanges = false
  private let hasChanges: () -> Bool
  /// The number of calls that change objects and are not finished.
  private var unfinished = 0
  private var isDelivering = false
  /// The properties whose observers are being notified.
  private var beingTold: [(object: ManagedObject, slot: Int)] = []

  // These two stand for what is observed, in key paths.
  private var changes: Bool { false }
  private subscript(deletionsIn table: Int) -> Int { table }

  /// - Parameter hasChanges: Returns whether the context has changes to save.
  init(_ hasChanges: @escaping () -> Bool) {
    self.hasChanges = hasChanges
    hadChanges = hasChanges()
  }

  /// Registers a read of whether the context has changes.
  func noteReadOfChanges() { registrar.access(self, keyPath: \.changes) }
  /// Registers that members are read.
  /// - Parameter table: The index of the root entity of their table.
  func noteReadOfMembers(in table: Int) {
    readTables.insert(table)
    registrar.access(self, keyPath: \.[deletionsIn: table])
  }

  /// Notifies the observers of a property that is about to be written, and those of the object's state; in a
  /// call that changes more, when that has ended. An observer that writes to the property is not notified of
  /// that: it would be a recursion without end.
  func willChange(_ object: ManagedObject, _ slot: Int) {
    guard let observers = object.observers else { return }
    guard unfinished == 0 else { return waiting.append((observers, .slot(slot))) }
    guard !beingTold.contains(where: { $0 == (object, slot) }) else { return }
    beingTold.append((object, slot))
    defer { beingTold.removeLast() }
    observers.notify(of: slot)
  }

  /// Notes that values of an object have changed, or its state.
  func didChange(_ object: ManagedObject, isOnlyState: Bool = false) {
    if let observers = object.observers { waiting.append((observers, isOnlyState ? .state : .all)) }
  }

  /// Notes that an object was deleted that may be a member of relationships.
  func didDelete(in table: Int) { deletedTables.insert(table) }

  /// Notes that deletions were undone.
  func didRestoreDeleted() { deletedTables.formUnion(readTables) }

  /// Runs a call that changes objects, and notifies the observers when the outermost such call has ended.
  func holding<Result>(_ body: () throws -> Result) rethrows -> Result {
    unfinished += 1
    defer {
      unfinished -= 1
      deliver()
    }
    return try body()
  }

  /// Notifies the observers of what was noted, unless a call is not finished. What an observer changes is
  /// reported after it has returned.
  func deliver() {
    guard unfinished == 0, !isDelivering else { return }
    isDelivering = true
    defer { isDelivering = false }
    while true {
      let isFlipped = hasChanges() != hadChanges
      guard isFlipped || !waiting.isEmpty || !deletedTables.isEmpty else { return }
      let (taken, tables) = (waiting, deletedTables)
      (waiting, deletedTables) = ([], [])
      if isFlipped { hadChanges.toggle() }
      for (observers, part) in taken {
        switch part {
        case .all: observers.notifyOfAll()
        case .state: observers.notifyOfState()
        case .slot(let slot): observers.notify(of: slot)
        }
      }
      if isFlipped { tell(\.changes) }
      for table in tables.sorted() { tell(\.[deletionsIn: table]) }
    }
  }

  /// Notifies all observers of the context, which learn of nothing afterwards.
  func end() {
    tell(\.changes)
    for table in readTables.sorted() { tell(\.[deletionsIn: table]) }
  }

  private func tell<Value>(_ path: KeyPath<ContextObservers, Value>) {
    registrar.willSet(self, keyPath: path)
    registrar.didSet(self, keyPath: path)
  }
}
