// A lazy value that is safe to share. Mappings use it for values that grow with the size of an inheritance
// hierarchy and are rarely needed.

private import Synchronization

/// A value that is made on first use. Threads that first use it at the same moment may each make a value,
/// but all get the one that is stored first.
final class ComputedOnce<Value: Sendable>: Sendable {
  private final class Box: Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
  }

  private let box = AtomicLazyReference<Box>()

  func value(_ make: () -> Value) -> Value {
    if let made = box.load() { return made.value }
    return box.storeIfNil(Box(make())).value
  }
}
