// The property wrapper of relationships with many members. The property's type determines whether the
// members have an order.

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
/// Declare the inverse at one of the two relationships only; if both declare it, Swift reports a circular
/// reference. A to-many without any inverse is many-to-many. The members are fetched when the property is
/// first read.
///
/// An array is read in its order, and an array that is written sets the order. Duplicates are dropped;
/// the first occurrence wins, as in an `NSOrderedSet`; to exchange two members, use `swapAt`. Setting the
/// inverse, as in `song.album = album`, appends the object. The order belongs to the relationship: moving
/// a member does not increase the version of the member's row, so it causes no conflict. If two contexts
/// move members, the later save wins.
///
/// Writing the whole property compares it with its former value, which takes time in proportion to the
/// members. `append`, `insert(_:at:)` and `swapAt` write the whole property: appending ten thousand
/// members one by one takes more than a second. The time of ``Persistable/add(_:to:)`` does not depend on
/// the number of members: adding ten thousand members one by one takes some milliseconds.
@propertyWrapper
public struct ToMany<Members: RelatedMembers> {
  @usableFromInline let slot: UInt16

  /// Declares a relationship.
  /// - Parameters:
  ///   - first: An option.
  ///   - inverse: The relationship of the members' class that is the inverse.
  ///   - onDelete: The effect on the members when this object is deleted.
  @inlinable public init(
    _ first: @autoclosure () -> RelationshipOption? = nil,
    inverse: @autoclosure () -> PartialKeyPath<Members.Member>? = nil,
    onDelete: @autoclosure () -> DeleteRule = .nullify
  ) {
    let number = nextSlot()
    slot = wrapperSlot(number)
    if isRecording(number) {
      recordMembers(number, members: Members.self, options: [first()], inverse: inverse(), rule: onDelete())
    }
  }

  /// Declares a relationship without options.
  @inlinable public init() {
    let number = nextSlot()
    slot = wrapperSlot(number)
    if isRecording(number) {
      recordMembers(number, members: Members.self, options: [], inverse: nil, rule: .nullify)
    }
  }

  /// Unavailable: a relationship must be a property of a ``ManagedObject``.
  @available(*, unavailable, message: "@ToMany can only be used in a ManagedObject")
  public var wrappedValue: Members {
    get { Members(related: []) }
    // swift-format-ignore
    set {}
  }

  /// The related objects.
  /// - Parameters:
  ///   - owner: The object that has the relationship.
  ///   - wrapped: The key path of the property.
  ///   - storage: The key path of the wrapper.
  @inlinable
  public static subscript<Owner: ManagedObject>(
    _enclosingInstance owner: Owner, wrapped wrapped: ReferenceWritableKeyPath<Owner, Members>,
    storage storage: ReferenceWritableKeyPath<Owner, Self>
  ) -> Members {
    @inline(__always) get { owner.readToMany(owner[keyPath: storage].slot, as: Members.self) { wrapped } }
    @inline(__always) set { owner.writeToMany(newValue, owner[keyPath: storage].slot) }
  }
}
