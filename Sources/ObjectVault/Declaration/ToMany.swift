// The wrapper of a relationship with many members. The type of the property says whether they have an order.

/// A relationship to any number of objects: a `Set`, or an `Array` where the members have an order.
///
/// ```swift
/// // One to many.
/// @ToMany(inverse: \Status.user, onDelete: .cascade) var statuses: Set<Status>
/// // Many to many.
/// @ToMany(inverse: \Tag.statuses) var tags: Set<Tag>
/// // In an order of their own.
/// @ToMany(inverse: \Song.album, onDelete: .cascade) var songs: [Song]
/// ```
///
/// The inverse is named on one side, whichever; on both, Swift reports a circular reference. A to-many without any inverse is
/// many-to-many. The members are fetched when the property is first read.
///
/// An array is read in its order, and what is written to it is the order from then on. An object is a member once: of those
/// that an array has twice, the first one counts, as in an `NSOrderedSet`; to exchange two, write `swapAt`. Who becomes a
/// member through the inverse, as by `song.album = album`, goes to the end. The order is the relationship's: a member that
/// moves is no new version, and of two contexts that move members the later save counts.
///
/// Writing the whole property compares it with what it was, which takes a time in proportion to the members; so do `append`,
/// `insert(_:at:)` and `swapAt` on it: ten thousand appended one by one take more than a second, by ``Persistable/add(_:to:)``,
/// which takes the same time however many there are, some milliseconds.
@propertyWrapper
public struct ToMany<Members: RelatedMembers> {
  @usableFromInline let slot: UInt16

  /// A relationship. `onDelete` says what becomes of the members when this object is deleted.
  @inlinable public init(
    _ first: @autoclosure () -> RelationshipOption? = nil,
    inverse: @autoclosure () -> PartialKeyPath<Members.Member>? = nil,
    onDelete: @autoclosure () -> DeleteRule = .nullify
  ) {
    let number = nextSlot()
    slot = wrapperSlot(number)
    if isRecording(number) {
      recordMembers(number, Members.self, [first()], inverse(), onDelete())
    }
  }

  /// A relationship without options.
  @inlinable public init() {
    let number = nextSlot()
    slot = wrapperSlot(number)
    if isRecording(number) { recordMembers(number, Members.self, [], nil, .nullify) }
  }

  /// Relationships belong to a ``ManagedObject``.
  @available(*, unavailable, message: "@ToMany can only be used in a ManagedObject")
  public var wrappedValue: Members {
    get { Members(related: []) }
    // swift-format-ignore
    set {}
  }

  /// The related objects.
  @inlinable
  public static subscript<Owner: ManagedObject>(
    _enclosingInstance owner: Owner, wrapped wrapped: ReferenceWritableKeyPath<Owner, Members>,
    storage storage: ReferenceWritableKeyPath<Owner, Self>
  ) -> Members {
    @inline(__always) get { owner.readToMany(owner[keyPath: storage].slot, Members.self) { wrapped } }
    @inline(__always) set { owner.writeToMany(newValue, owner[keyPath: storage].slot) }
  }
}
