// What an object carries beside its row: of most objects nothing, or one thing, which is kept without another object around it.

/// What an object carries, in one word: nothing; the target of a to-one; an overlay, which is what was written; or extras, which have
/// room for all.
///
/// No address of an object has the two lowest bits, so they say which of these it is:
///
/// - 0 alone: nothing.
/// - `…01`: the one target of a to-one that the object keeps alive.
/// - `…10`: the overlay, without members or targets, as most new and changed objects have it.
/// - `…00`: the extras.
///
/// It retains what it was made of, and whoever replaces or forgets it calls ``release()`` once: a property that does so by itself
/// would count references at each look.
@safe @usableFromInline
struct Attachment<Target: AnyObject, Writing: AnyObject, Rest: AnyObject> {
  @usableFromInline let word: UInt

  @inlinable @inline(__always) init(word: UInt) { self.word = word }

  /// Nothing.
  @inlinable @inline(__always) static var none: Attachment { Attachment(word: 0) }

  /// Keeps the target of a to-one alive.
  @inline(__always) init(target: Target) {
    word = unsafe UInt(bitPattern: Unmanaged.passRetained(target).toOpaque()) | 1
  }

  /// Keeps what was written.
  @inline(__always) init(overlay: Writing) {
    word = unsafe UInt(bitPattern: Unmanaged.passRetained(overlay).toOpaque()) | 2
  }

  /// Keeps extras.
  @inline(__always) init(extras: Rest) {
    word = unsafe UInt(bitPattern: Unmanaged.passRetained(extras).toOpaque())
  }

  /// Whether it is nothing.
  @inlinable @inline(__always) var isEmpty: Bool { word == 0 }
  /// Whether it is a target alone.
  @inlinable @inline(__always) var isTarget: Bool { word & 1 == 1 }

  // Safe, all three: the bits say what was retained, which lives until it is released.
  /// The target, where that is all.
  var target: Unmanaged<Target>? {
    guard isTarget else { return nil }
    return unsafe UnsafeRawPointer(bitPattern: word & ~1).map { unsafe Unmanaged.fromOpaque($0) }
  }
  /// What was written, where that is all.
  @inlinable @inline(__always) var overlay: Unmanaged<Writing>? {
    guard word & 2 == 2 else { return nil }
    return unsafe UnsafeRawPointer(bitPattern: word & ~2).map { unsafe Unmanaged.fromOpaque($0) }
  }
  @inlinable @inline(__always) var extras: Unmanaged<Rest>? {
    guard word & 3 == 0 else { return nil }
    return unsafe UnsafeRawPointer(bitPattern: word).map { unsafe Unmanaged.fromOpaque($0) }
  }

  /// Lets go of what it kept. It must not be asked any more.
  @inline(__always) func release() {
    if let target = unsafe target {
      unsafe target.release()
    } else if let overlay = unsafe overlay {
      unsafe overlay.release()
    } else {
      unsafe extras?.release()
    }
  }
}
