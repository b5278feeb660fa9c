// The property wrappers of attributes and to-ones; the wrapper of to-manys is in ToMany. A wrapper stores
// only its slot number and calls a function of the object that it is in.
//
// Every argument is an autoclosure: wrappers are initialized for each fetched row, which needs only the
// slot number. A default is evaluated for each new object. All other arguments are evaluated once per
// class, when its declarations are recorded.

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
/// A value after `=` is the default of new objects. Reading takes some nanoseconds and decodes the value
/// on access; reading a fault fetches its row. A getter cannot throw: if the row is missing or cannot be
/// read, it returns the type's placeholder, and the error is added to ``ObjectContext/faultErrors`` and
/// thrown by the context's next save. If the row is missing, the object also becomes invalid.
@propertyWrapper
public struct Attribute<Value: AttributeValue> {
  // Two bytes: every object of every fetch has one of these for each property.
  @usableFromInline let slot: UInt16

  /// Declares an attribute without a default.
  @inlinable public init() {
    let number = nextSlot()
    slot = wrapperSlot(number)
    if isRecording(number) { recordAttribute(number, type: Value.self, initial: nil, options: []) }
  }

  /// Declares an attribute with a default.
  /// - Parameter wrappedValue: The default, evaluated for each new object.
  @inlinable public init(wrappedValue: @autoclosure @escaping () -> Value) {
    let number = nextSlot()
    slot = wrapperSlot(number)
    if isRecording(number) { recordAttribute(number, type: Value.self, initial: wrappedValue, options: []) }
  }

  /// Declares an attribute with options.
  /// - Parameters:
  ///   - first: An option.
  ///   - second: Another option.
  ///   - third: Another option.
  @inlinable public init(
    _ first: @autoclosure () -> AttributeOption, _ second: @autoclosure () -> AttributeOption? = nil,
    _ third: @autoclosure () -> AttributeOption? = nil
  ) {
    let number = nextSlot()
    slot = wrapperSlot(number)
    if isRecording(number) {
      recordAttribute(number, type: Value.self, initial: nil, options: [first(), second(), third()])
    }
  }

  /// Declares an attribute with a default and options.
  /// - Parameters:
  ///   - wrappedValue: The default, evaluated for each new object.
  ///   - first: An option.
  ///   - second: Another option.
  ///   - third: Another option.
  @inlinable public init(
    wrappedValue: @autoclosure @escaping () -> Value,
    _ first: @autoclosure () -> AttributeOption, _ second: @autoclosure () -> AttributeOption? = nil,
    _ third: @autoclosure () -> AttributeOption? = nil
  ) {
    let number = nextSlot()
    slot = wrapperSlot(number)
    if isRecording(number) {
      recordAttribute(number, type: Value.self, initial: wrappedValue, options: [first(), second(), third()])
    }
  }

  /// Unavailable: an attribute must be a property of a ``ManagedObject``.
  @available(*, unavailable, message: "@Attribute can only be used in a ManagedObject")
  public var wrappedValue: Value {
    get { Value.placeholder }
    // swift-format-ignore
    set {}
  }

  // @inlinable, so that the compiler turns both key paths into direct accesses: an Int is then read in
  // some nanoseconds, otherwise in a hundred. `wrapped` is passed inside a closure, for which the
  // compiler makes a constant. If it were passed directly, the key path would be created at each read,
  // which takes ten nanoseconds.
  /// The value of the property in its object.
  /// - Parameters:
  ///   - owner: The object.
  ///   - wrapped: The key path of the property.
  ///   - storage: The key path of the wrapper.
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
/// Reading returns an object whose row is fetched on first use. Writing updates the inverse as well.
///
/// Two to-ones can be inverses of each other: a one-to-one, in which no two objects refer to the same
/// target. The to-one without `inverse:` has the column, with a unique index. The other one is looked up
/// by a query: when it is first read, or when its object is first linked through either of the two. A
/// new object needs no query, and neither does a prefetched to-one.
@propertyWrapper
public struct ToOne<Target: ManagedObject> {
  @usableFromInline let slot: UInt16

  /// Declares a relationship.
  /// - Parameters:
  ///   - first: An option.
  ///   - second: Another option.
  ///   - inverse: The relationship of the target's class that is the inverse.
  ///   - onDelete: The effect on the target when this object is deleted.
  @inlinable public init(
    _ first: @autoclosure () -> RelationshipOption? = nil,
    _ second: @autoclosure () -> RelationshipOption? = nil,
    inverse: @autoclosure () -> PartialKeyPath<Target>? = nil,
    onDelete: @autoclosure () -> DeleteRule = .nullify
  ) {
    let number = nextSlot()
    slot = wrapperSlot(number)
    if isRecording(number) {
      recordTarget(
        number, target: Target.self, options: [first(), second()], inverse: inverse(), rule: onDelete())
    }
  }

  /// Declares a relationship without options.
  @inlinable public init() {
    let number = nextSlot()
    slot = wrapperSlot(number)
    if isRecording(number) {
      recordTarget(number, target: Target.self, options: [], inverse: nil, rule: .nullify)
    }
  }

  /// Unavailable: a relationship must be a property of a ``ManagedObject``.
  @available(*, unavailable, message: "@ToOne can only be used in a ManagedObject")
  public var wrappedValue: Target? {
    get { nil }
    // swift-format-ignore
    set {}
  }

  /// The related object.
  /// - Parameters:
  ///   - owner: The object that has the relationship.
  ///   - wrapped: The key path of the property.
  ///   - storage: The key path of the wrapper.
  @inlinable
  public static subscript<Owner: ManagedObject>(
    _enclosingInstance owner: Owner, wrapped wrapped: ReferenceWritableKeyPath<Owner, Target?>,
    storage storage: ReferenceWritableKeyPath<Owner, Self>
  ) -> Target? {
    @inline(__always) get { owner.readToOne(owner[keyPath: storage].slot, as: Target.self) { wrapped } }
    @inline(__always) set { owner.writeToOne(newValue, owner[keyPath: storage].slot) }
  }
}
