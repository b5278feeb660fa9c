// What follows from a mapping, and is as long as a family is large: most of it is never asked for.

private import Synchronization

/// A value that is made when it is first asked for. Of several who ask at once each may make it, and all get one of them.
final class MadeOnce<Value: Sendable>: Sendable {
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
