// What an object carries besides its row, in one word. Most objects carry nothing or one reference, and
// then need no separate Extras.

/// What an object carries, in one tagged word: nothing, the target of a to-one, an overlay (the values
/// that were written), or extras, which have room for all of these.
///
/// Addresses of objects have zeros in the two lowest bits, so these bits are the tag:
///
/// - 0 as the whole word: nothing.
/// - `…01`: only the target of a to-one, which the object keeps alive.
/// - `…10`: the overlay, without members or targets, as on most new and changed objects.
/// - `…00`: the extras.
///
/// An attachment retains the object that it was created with. The code that replaces or discards the
/// attachment must call ``release()`` exactly once. A property with automatic reference counting would
/// retain and release at each access.
@safe @usableFromInline
struct Attachment<Target: AnyObject, Writing: AnyObject, Rest: AnyObject> {
  @usableFromInline let word: UInt

  @inlinable @inline(__always) init(word: UInt) { self.word = word }

  /// Carries nothing.
  @inlinable @inline(__always) static var none: Attachment { Attachment(word: 0) }

  /// Keeps the target of a to-one alive.
  @inline(__always) init(target: Target) {
    word = unsafe UInt(bitPattern: Unmanaged.passRetained(target).toOpaque()) | 1
  }

  /// Retains the overlay, which has the written values.
  @inline(__always) init(overlay: Writing) {
    word = unsafe UInt(bitPattern: Unmanaged.passRetained(overlay).toOpaque()) | 2
  }

  /// Retains extras.
  @inline(__always) init(extras: Rest) {
    word = unsafe UInt(bitPattern: Unmanaged.passRetained(extras).toOpaque())
  }

  /// Whether it carries nothing.
  @inlinable @inline(__always) var isEmpty: Bool { word == 0 }
  /// Whether it carries only the target of a to-one.
  @inlinable @inline(__always) var isTarget: Bool { word & 1 == 1 }

  // These three accessors are safe: the tag bits give the type of the retained object, which lives until
  // ``release()``.
  /// The target, if that is all that is carried.
  var target: Unmanaged<Target>? {
    guard isTarget else { return nil }
    return unsafe UnsafeRawPointer(bitPattern: word & ~1).map { unsafe Unmanaged.fromOpaque($0) }
  }
  /// The overlay, if that is all that is carried.
  @inlinable @inline(__always) var overlay: Unmanaged<Writing>? {
    guard word & 2 == 2 else { return nil }
    return unsafe UnsafeRawPointer(bitPattern: word & ~2).map { unsafe Unmanaged.fromOpaque($0) }
  }
  @inlinable @inline(__always) var extras: Unmanaged<Rest>? {
    guard word & 3 == 0 else { return nil }
    return unsafe UnsafeRawPointer(bitPattern: word).map { unsafe Unmanaged.fromOpaque($0) }
  }

  /// Releases the carried object. The attachment must not be used afterwards.
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
