// What an object has beside its row: what was written, members, and targets that it keeps alive.

internal import CipherSQLite

/// What only objects in use have; one of these is made when the first of it is needed.
@safe @usableFromInline
final class Extras {
  // Retained here, and released in deinit and by the setter: a setter of the object, which only lends it, then counts nothing.
  @usableFromInline @safe @exclusivity(unchecked) private(set) var overlayReference: Unmanaged<Overlay>?
  var overlay: Overlay? {
    get { unsafe overlayReference?.takeUnretainedValue() }
    set {
      let former = overlayReference
      unsafe overlayReference = newValue.map { unsafe Unmanaged.passRetained($0) }
      unsafe former?.release()
    }
  }
  /// The members of relationships that have been read or changed, by slot.
  @safe @exclusivity(unchecked) var toMany = MemberStates()
  // The targets of to-ones that have been read, kept alive: a loop over objects that share one fetches it once. Most objects
  // have one of them, which needs no list.
  @safe @exclusivity(unchecked) private var target: (slot: Int, object: ManagedObject)?
  @safe @exclusivity(unchecked) private var furtherTargets: [(slot: Int, object: ManagedObject)] = []
  /// Whether other objects are kept alive.
  var holdsObjects: Bool { !toMany.isEmpty || target != nil }
  /// The way to the context that an object has left, which is told what is written to it.
  var former: FormerHost?
  /// The row that a fault had in memory before: what can still be read where the file has none any more.
  var lastRow: LastRow?

  /// Whether an object in a context can do without it.
  var isEmpty: Bool { unsafe overlayReference == nil && !holdsObjects && lastRow == nil }

  init(overlay: Overlay?) { self.overlay = overlay }

  deinit { unsafe overlayReference?.release() }

  /// The target of a to-one that is kept.
  @inline(__always) func target(_ slot: Int) -> ManagedObject? {
    if let target, target.slot == slot { return target.object }
    return furtherTargets.isEmpty ? nil : furtherTargets.first { $0.slot == slot }?.object
  }

  /// Keeps the target of a to-one.
  func hold(_ object: ManagedObject, _ slot: Int) {
    // Another target may go with this, whose deinit is not to find the list half changed.
    let former = (target, furtherTargets)
    if target == nil || target?.slot == slot {
      target = (slot, object)
    } else {
      furtherTargets = furtherTargets.filter { $0.slot != slot } + [(slot, object)]
    }
    withExtendedLifetime(former) {}
  }

  /// Keeps no target any more.
  func releaseTargets() {
    let former = (target, furtherTargets)
    (target, furtherTargets) = (nil, [])
    withExtendedLifetime(former) {}
  }
}

/// A row that was in memory.
@safe struct LastRow {
  // Lies in the page.
  let cells: UnsafeRawPointer
  let page: RowPage
}
