// The observers of one object. Observation identifies properties by key paths; here a key path stands for a
// slot.

internal import Observation

/// Registers reads of an object's properties with Observation, and notifies the observers of the properties.
final class ObservedProperties: Observable {
  /// Stands for the state of the object: whether it exists, and what it has to save.
  static let state = -1

  private let registrar = ObservationRegistrar()
  /// The highest slot that was read.
  private var highestSlot = ObservedProperties.state

  private subscript(slot: Int) -> Int { slot }

  /// Registers that a property is read, or the state.
  func noteRead(_ slot: Int) {
    highestSlot = max(highestSlot, slot)
    registrar.access(self, keyPath: Self.path(slot))
  }

  /// Notifies the observers of some properties, and those of the state.
  func notify(of slots: [Int]) {
    for slot in slots { notifyAlone(slot) }
    notifyAlone(Self.state)
  }

  /// Notifies the observers of all properties and of the state.
  func notifyOfAll() { for slot in Self.state...highestSlot { notifyAlone(slot) } }

  private func notifyAlone(_ slot: Int) {
    registrar.willSet(self, keyPath: Self.path(slot))
    registrar.didSet(self, keyPath: Self.path(slot))
  }

  // MARK: Key paths

  private typealias Path = any KeyPath<ObservedProperties, Int> & Sendable
  /// The key paths of the first slots. A new key path takes longer than all else here.
  private static let paths: [Path] = (state..<128).map(newPath)

  private static func newPath(_ slot: Int) -> Path { \ObservedProperties[slot] }
  private static func path(_ slot: Int) -> Path { slot < 128 ? paths[slot - state] : newPath(slot) }
}
