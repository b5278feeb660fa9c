// The way to a context that an object has left.

/// Where an object was.
final class FormerHost {
  // Safe: set by the context alone, and to nil as the first thing in its deinit; whoever asks is used by the one task that
  // uses the context. A weak reference would make the context count all its references the slow way.
  @safe @exclusivity(unchecked) unowned(unsafe) var host: (any ObjectHost)?
  /// The store, which an object's id is of wherever the object went.
  private let store: StoreMark
  /// What the temporary ids of the context have in its place: another context may have given the same numbers.
  let temporary = StoreMark.ofNewContext()

  init(of store: StoreMark) { self.store = store }

  /// What an id of the context is of.
  func mark(of id: Int64) -> StoreMark { id < 0 ? temporary : store }
}
