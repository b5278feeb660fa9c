// Observation of objects: only in contexts that notify observers. In all others a read tests one bit.

public import Observation

/// A view, and `withObservationTracking`, are notified of changes of the properties that they have read, if
/// the object's context has ``ObjectContext/notifiesObservers`` set.
extension ManagedObject: Observable {}

extension ManagedObject {
  /// Registers that the state of the object is read.
  @inline(__always) final func noteReadOfState() { if isTracked { noteRead(ObservedProperties.state) } }

  /// Registers that a to-one was read. The deletion of the target changes it, and so does its restoration: a
  /// target that is to be deleted is read as nil, and is still kept.
  final func noteReadOfTarget(_ slot: Int) {
    if entity?.slots[slot].relationship?.hasMembers == true { return noteReadOfMembers(slot) }
    noteRead(slot)
    heldTarget(slot)?.noteReadOfState()
  }

  /// Registers that a to-many is read. The deletion of a member changes it, too.
  final func noteReadOfMembers(_ slot: Int) {
    noteRead(slot)
    guard let destination = entity?.slots[slot].relationship?.destination else { return }
    host?.noteReadOfMembers(in: destination.root.index)
  }

  /// Registers a read of a property, or of the state, with Observation.
  final func registerRead(_ slot: Int) {
    if extras == nil { extras = Extras(overlay: nil) }
    let observed = extras?.observed ?? ObservedProperties()
    extras?.observed = observed
    observed.noteRead(slot)
  }
}
