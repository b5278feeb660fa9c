// The observers of a context and its objects, and when they are notified.

internal import Observation

/// Notifies the observers of a context and its objects.
///
/// The setter of an attribute notifies before it writes. Every other call collects what it changes, and
/// notifies after it has ended, because an observer may read and change objects.
final class ContextObservers: Observable {
  /// The changes of one observed object.
  private struct Change {
    let observed: ObservedProperties
    /// The slots that have changed; nil for all. The state counts as changed in any case.
    var slots: Set<Int>? = []
  }

  private let registrar = ObservationRegistrar()
  /// The changes that observers are still to be notified of, in their order.
  private var waiting: [Change] = []
  /// The indices in ``waiting``, by object.
  private var places: [ObjectIdentifier: Int] = [:]
  /// The tables of which objects were deleted.
  private var deletedTables: Set<Int> = []
  /// The tables whose members were read.
  private var readTables: Set<Int> = []
  /// Whether the context had changes when observers were last notified of that.
  private var hadChanges = false
  private let hasChanges: () -> Bool
  /// The number of calls that have not ended.
  private var unfinished = 0
  private var isNotifying = false
  /// The properties whose observers are being notified by a setter.
  private var notifying: [(observed: ObservedProperties, slot: Int)] = []

  // Key paths of these two identify what is observed of the context.
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

  /// Notifies the observers of a property that is about to be written. During a call that has not ended,
  /// collects the change.
  ///
  /// If an observer writes to the same property, its observers are not notified again: they would notify each
  /// other without end.
  func willChange(_ object: ManagedObject, _ slot: Int) {
    guard let observed = object.extras?.observed else { return }
    guard unfinished == 0 else { return collect(observed) { $0?.insert(slot) } }
    guard !notifying.contains(where: { $0.observed === observed && $0.slot == slot }) else { return }
    notifying.append((observed, slot))
    defer { notifying.removeLast() }
    observed.notify(of: [slot])
  }

  /// Collects that values of an object have changed, or only its state.
  func didChange(_ object: ManagedObject, isOnlyState: Bool = false) {
    guard let observed = object.extras?.observed else { return }
    collect(observed) { slots in
      if !isOnlyState { slots = nil }
    }
  }

  private func collect(_ observed: ObservedProperties, _ add: (inout Set<Int>?) -> Void) {
    let place = places[ObjectIdentifier(observed)] ?? waiting.count
    if place == waiting.count {
      waiting.append(Change(observed: observed))
      places[ObjectIdentifier(observed)] = place
    }
    add(&waiting[place].slots)
  }

  /// Collects the deletion of an object that may be a member of relationships.
  func didDelete(in table: Int) { deletedTables.insert(table) }

  /// Collects that deletions were undone.
  func didRestoreDeleted() { deletedTables.formUnion(readTables) }

  /// Runs a call that changes objects, and notifies observers after the outermost such call has ended.
  func holding<Result>(_ body: () throws -> Result) rethrows -> Result {
    unfinished += 1
    defer {
      unfinished -= 1
      notify()
    }
    return try body()
  }

  /// Notifies observers of the collected changes, unless a call has not ended. If an observer sets an
  /// attribute meanwhile, the observers of that attribute are notified at once; its other changes are
  /// collected.
  func notify() {
    guard unfinished == 0, !isNotifying else { return }
    isNotifying = true
    defer { isNotifying = false }
    while true {
      let hasFlipped = hasChanges() != hadChanges
      guard hasFlipped || !waiting.isEmpty || !deletedTables.isEmpty else { return }
      let (changes, tables) = (waiting, deletedTables)
      (waiting, places, deletedTables) = ([], [:], [])
      if hasFlipped { hadChanges.toggle() }
      for change in changes {
        if let slots = change.slots {
          change.observed.notify(of: slots.sorted())
        } else {
          change.observed.notifyOfAll()
        }
      }
      if hasFlipped { notify(\.changes) }
      for table in tables.sorted() { notify(\.[deletionsIn: table]) }
    }
  }

  /// Notifies all observers of the context, for the last time.
  func end() {
    notify(\.changes)
    for table in readTables.sorted() { notify(\.[deletionsIn: table]) }
  }

  private func notify<Value>(_ path: KeyPath<ContextObservers, Value>) {
    registrar.willSet(self, keyPath: path)
    registrar.didSet(self, keyPath: path)
  }
}
