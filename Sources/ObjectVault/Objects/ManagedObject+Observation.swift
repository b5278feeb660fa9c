// Observation: reads of an object are registered with the standard library's Observation, and changes are
// reported to it. Only in contexts that notify observers; in all others a read tests one bit.

public import Observation

/// A view, and `withObservationTracking`, learn of changes of the properties that they have read, if the
/// object's context has ``ObjectContext/notifiesObservers`` set.
extension ManagedObject: Observable {}

extension ManagedObject {
  /// Registers that the state of the object is read.
  @inline(__always) final func noteReadOfState() { if isTracked { noteRead(ObservedPaths.state) } }

  /// Registers that a to-one is read. The deletion of the target changes it, too.
  final func noteReadOfTarget(_ slot: Int) {
    if entity?.slots[slot].relationship?.hasMembers == true { return noteReadOfMembers(slot) }
    noteRead(slot)
    toOneTarget(slot)?.noteReadOfState()
  }

  /// Registers that a to-many is read. The deletion of a member changes it, too.
  final func noteReadOfMembers(_ slot: Int) {
    noteRead(slot)
    guard let destination = entity?.slots[slot].relationship?.destination else { return }
    host?.noteReadOfMembers(in: destination.root.index)
  }

  /// Adds a read of a property to those that are being tracked.
  final func registerRead(_ slot: Int) {
    let registrar: ObservationRegistrar
    if let present = extras?.registrar {
      registrar = present
    } else {
      registrar = ObservationRegistrar()
      if extras == nil { extras = Extras(overlay: nil) }
      extras?.registrar = registrar
    }
    registrar.access(self, keyPath: ObservedPaths.path(slot))
  }

  /// Those who have read properties of the object; nil if there are none.
  final var observers: ObjectObservers? {
    guard isTracked, let registrar = extras?.registrar else { return nil }
    return ObjectObservers(object: self, registrar: registrar, slotCount: entity?.slotCount ?? 0)
  }

  /// Stands for the property in a slot, in key paths: Observation identifies properties by key paths.
  fileprivate final subscript(observed slot: Int) -> Int { slot }
}

/// Those who have read properties of an object.
struct ObjectObservers {
  private let object: ManagedObject
  /// Kept here, because an object that is deleted has none any more.
  private let registrar: ObservationRegistrar
  private let slotCount: Int

  init(object: ManagedObject, registrar: ObservationRegistrar, slotCount: Int) {
    (self.object, self.registrar, self.slotCount) = (object, registrar, slotCount)
  }

  /// Notifies those who have read a property, and those who have read the state.
  func notify(of slot: Int) {
    tell(slot)
    tell(ObservedPaths.state)
  }

  /// Notifies those who have read the state of the object: what it has to save, and whether it exists.
  func notifyOfState() { tell(ObservedPaths.state) }

  /// Notifies those who have read any property.
  func notifyOfAll() { for slot in ObservedPaths.state..<slotCount { tell(slot) } }

  private func tell(_ slot: Int) {
    registrar.willSet(object, keyPath: ObservedPaths.path(slot))
    registrar.didSet(object, keyPath: ObservedPaths.path(slot))
  }
}

/// The key paths that stand for properties, made once.
private enum ObservedPaths {
  typealias Path = any KeyPath<ManagedObject, Int> & Sendable
  /// Stands for the state of an object.
  static let state = -1
  private static let first: [Path] = (state..<128).map(make)

  private static func make(_ slot: Int) -> Path { \ManagedObject[observed: slot] }
  static func path(_ slot: Int) -> Path { slot < 128 ? first[slot - state] : make(slot) }
}
