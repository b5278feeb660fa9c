// The wrappers of attributes and to-ones; that of to-manys is in ToMany. They stay thin: each keeps its slot number and
// calls a named function of the object that it stands in.
//
// Every argument is an autoclosure: an object is made for each fetched row, and then only the slot number is
// wanted. The arguments are evaluated once per class, when its declarations are recorded.

/// An attribute of an entity.
///
/// ```swift
/// final class User: ManagedObject {
///   @Attribute(.unique) var name: String
///   @Attribute var screenName: String = ""
///   @Attribute(.indexed, .renamed(from: "town")) var city: String?
/// }
/// ```
///
/// A value after `=` is the default of new objects. Reading takes some nanoseconds and decodes on access;
/// reading a fault fetches its row. A getter cannot throw: when the row is gone or the store fails, it
/// returns the type's placeholder, the object becomes invalid, and the error goes to
/// ``ObjectContext/faultErrors`` and is thrown by the context's next save.
@propertyWrapper
public struct Attribute<Value: AttributeValue> {
  // Two bytes: every object of every fetch carries one of these for each property.
  @usableFromInline let slot: UInt16

  /// An attribute without a default.
  @inlinable public init() {
    let number = nextSlot()
    slot = wrapperSlot(number)
    if isRecording(number) { recordAttribute(number, Value.self, nil, []) }
  }

  /// An attribute with a default, evaluated for each new object.
  @inlinable public init(wrappedValue: @autoclosure @escaping () -> Value) {
    let number = nextSlot()
    slot = wrapperSlot(number)
    if isRecording(number) { recordAttribute(number, Value.self, wrappedValue, []) }
  }

  /// An attribute with options.
  @inlinable public init(
    _ first: @autoclosure () -> AttributeOption, _ second: @autoclosure () -> AttributeOption? = nil,
    _ third: @autoclosure () -> AttributeOption? = nil
  ) {
    let number = nextSlot()
    slot = wrapperSlot(number)
    if isRecording(number) { recordAttribute(number, Value.self, nil, [first(), second(), third()]) }
  }

  /// An attribute with a default and options.
  @inlinable public init(
    wrappedValue: @autoclosure @escaping () -> Value,
    _ first: @autoclosure () -> AttributeOption, _ second: @autoclosure () -> AttributeOption? = nil,
    _ third: @autoclosure () -> AttributeOption? = nil
  ) {
    let number = nextSlot()
    slot = wrapperSlot(number)
    if isRecording(number) {
      recordAttribute(number, Value.self, wrappedValue, [first(), second(), third()])
    }
  }

  /// Attributes belong to a ``ManagedObject``.
  @available(*, unavailable, message: "@Attribute can only be used in a ManagedObject")
  public var wrappedValue: Value {
    get { Value.placeholder }
    // swift-format-ignore
    set {}
  }

  // @inlinable: with it an Int is read in some nanoseconds, because the compiler turns both key paths into
  // direct accesses; without it, in a hundred. `wrapped` goes on inside a closure, which the compiler gives the
  // constant: passed as it is, the key path would be made at each read, in ten nanoseconds.
  /// The property's value in its object.
  @inlinable
  public static subscript<Owner: ManagedObject>(
    _enclosingInstance owner: Owner, wrapped wrapped: ReferenceWritableKeyPath<Owner, Value>,
    storage storage: ReferenceWritableKeyPath<Owner, Self>
  ) -> Value {
    @inline(__always) get { owner.readAttribute(owner[keyPath: storage].slot) { wrapped } }
    @inline(__always) set { ManagedObject.write(newValue, owner[keyPath: storage].slot, to: owner) }
  }
}

/// A relationship to at most one object.
///
/// ```swift
/// // The inverse is declared at User.statuses.
/// @ToOne var user: User?
/// // A save without one is refused.
/// @ToOne(.required) var author: User?
/// @ToOne(inverse: \Passport.owner, onDelete: .cascade) var passport: Passport?
/// ```
///
/// Reading yields an object whose row is fetched on first use. Writing keeps the inverse on both sides.
///
/// Two to-ones can be inverses: a one-to-one, where no two objects lead to the same one. The end without `inverse:` has the column,
/// with a unique index. The other end is looked up: the first read, or the first write of either end of a stored object, is a
/// query unless that end was prefetched.
@propertyWrapper
public struct ToOne<Target: ManagedObject> {
  @usableFromInline let slot: UInt16

  /// A relationship. `onDelete` says what becomes of the target when this object is deleted.
  @inlinable public init(
    _ first: @autoclosure () -> RelationshipOption? = nil,
    _ second: @autoclosure () -> RelationshipOption? = nil,
    inverse: @autoclosure () -> PartialKeyPath<Target>? = nil,
    onDelete: @autoclosure () -> DeleteRule = .nullify
  ) {
    let number = nextSlot()
    slot = wrapperSlot(number)
    if isRecording(number) {
      recordTarget(number, Target.self, [first(), second()], inverse(), onDelete())
    }
  }

  /// A relationship without options.
  @inlinable public init() {
    let number = nextSlot()
    slot = wrapperSlot(number)
    if isRecording(number) { recordTarget(number, Target.self, [], nil, .nullify) }
  }

  /// Relationships belong to a ``ManagedObject``.
  @available(*, unavailable, message: "@ToOne can only be used in a ManagedObject")
  public var wrappedValue: Target? {
    get { nil }
    // swift-format-ignore
    set {}
  }

  /// The related object.
  @inlinable
  public static subscript<Owner: ManagedObject>(
    _enclosingInstance owner: Owner, wrapped wrapped: ReferenceWritableKeyPath<Owner, Target?>,
    storage storage: ReferenceWritableKeyPath<Owner, Self>
  ) -> Target? {
    @inline(__always) get { owner.readToOne(owner[keyPath: storage].slot, Target.self) { wrapped } }
    @inline(__always) set { owner.writeToOne(newValue, owner[keyPath: storage].slot) }
  }
}
