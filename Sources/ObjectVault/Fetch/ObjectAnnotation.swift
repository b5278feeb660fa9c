// What a fetch computes from each object's members, to return it beside the object or to sort by it.

internal import CipherSQLite
public import Foundation

/// A value that is computed from the members of a to-many, such as their number: see
/// ``Fetch/annotated(with:)`` and `sorted(byMembers:_:)`.
///
/// nil is no value: it is not added, and neither a minimum nor a maximum.
public struct ObjectAnnotation<Object: ManagedObject, Value> {
  /// What is computed, or why it cannot be.
  let source: Result<AnnotationSource, any Error>
  /// Returns the values of several objects from their stored forms.
  let read: (_ stored: [SQLValue], ObjectContext) throws -> [Value]
}

/// What is computed from members.
struct AnnotationSource {
  enum Kind {
    /// A function of a property of the members, to which the names lead; without names, of the members
    /// themselves.
    case function(CollectionFunction, [String])
    /// The first member in an order.
    case first(SortKey)
    /// A number of members in an order.
    case list(SortKey, atMost: Int)
  }

  let members: [String]
  /// The class of the members.
  let memberType: ManagedObject.Type
  let kind: Kind
  var condition: FetchCondition?

  /// The value as an operand.
  /// - Parameter condition: The condition on the members, with the present ids of new objects.
  func operand(where condition: FetchCondition?) -> PredicateOperand {
    let path = PropertyPath(members)
    let node = condition?.substituted.inMembers ?? .constant(true)
    switch kind {
    case .function(.count, []) where condition == nil: return .count(path)
    case .function(let function, let value):
      return .aggregate(MemberAggregate(function, of: path, value: value, where: node))
    case .first(let key): return .aggregate(ordered(path, by: key, where: node))
    case .list(let key, let count):
      var list = ordered(path, by: key, where: node)
      list.listed = count
      return .aggregate(list)
    }
  }

  private func ordered(_ path: PropertyPath, by key: SortKey, where condition: PredicateNode)
    -> MemberAggregate
  {
    var first = MemberAggregate(.maximum, of: path, value: ["id"], where: condition)
    first.order = key
    return first
  }
}

extension ObjectAnnotation {
  init(
    _ kind: () throws -> AnnotationSource.Kind, of members: PartialKeyPath<Object>,
    class memberType: ManagedObject.Type,
    where condition: (format: String?, arguments: [Any?]),
    read: @escaping (_ stored: [SQLValue], ObjectContext) throws -> [Value]
  ) {
    source = Result {
      AnnotationSource(
        members: try members.propertyNames, memberType: memberType, kind: try kind(),
        condition: try condition.format.map { try FetchCondition(format: $0, condition.arguments) })
    }
    self.read = read
  }

  /// Returns the annotation with a `#Predicate` as a further condition on the members.
  ///
  /// ```swift
  /// let unread = ObjectAnnotation.count(\Conversation.messages)
  ///   .where(#Predicate<Message> { !$0.isRead })
  /// ```
  /// - Parameter predicate: The predicate, whose object is the member.
  /// - Returns: The annotation.
  public func `where`<Member: ManagedObject>(_ predicate: Predicate<Member>) -> ObjectAnnotation {
    ObjectAnnotation(
      source: Result {
        var source = try source.get()
        // A predicate of another class would be about properties of the same names.
        guard source.memberType is Member.Type else {
          throw StoreError.predicate(
            PredicateError(
              "the condition is on objects of \(Member.self), but \(source.members.joined(separator: ".")) "
                + "has objects of \(source.memberType)"))
        }
        let added = try PredicateTemplate.condition(of: predicate)
        source.condition =
          source.condition.map { first in
            var both = FetchCondition(checking: .and([first.substituted, added.substituted]))
            both.refersToNewObjects = both.refersToNewObjects || first.refersToNewObjects
            return both
          } ?? added
        return source
      }, read: read)
  }

  /// Creates a function of a property of the members.
  fileprivate init<Member: ManagedObject>(
    _ function: CollectionFunction, of members: PartialKeyPath<Object>,
    _ property: PartialKeyPath<Member>?, where condition: (format: String?, arguments: [Any?]),
    read: @escaping (SQLValue) -> Value?
  ) {
    self.init(
      { .function(function, try property?.valueNames ?? []) }, of: members, class: Member.self,
      where: condition
    ) { stored, _ in
      try stored.map { value in
        if let read = read(value) { return read }
        let (entity, property) = (
          "\(Member.self)", try property?.valueNames.shownPath ?? "id"
        )
        // The engine has NULL for a sum beyond the range of its type.
        guard !value.isNull else { throw StoreError.sumTooLarge(entity: entity, property: property) }
        throw StoreError.propertyMisused(
          entity: entity, property: property,
          reason: "has a value in the file that its type does not have; verify() finds the objects")
      }
    }
  }
}

extension ObjectAnnotation where Value == Int {
  /// The number of members.
  /// - Parameters:
  ///   - members: The to-many.
  ///   - format: A condition on the members in the format language, whose paths begin at the member; nil to
  ///     count all.
  ///   - arguments: The values for its placeholders, in their order.
  /// - Returns: The annotation.
  public static func count<Members: Collection>(
    _ members: KeyPath<Object, Members>, where format: String? = nil, _ arguments: Any?...
  ) -> ObjectAnnotation where Members.Element: ManagedObject {
    ObjectAnnotation(.count, of: members, PartialKeyPath<Members.Element>?.none, where: (format, arguments)) {
      Int(stored: $0)
    }
  }
}

extension ObjectAnnotation where Value == Bool {
  /// Whether there are members.
  /// - Parameters:
  ///   - members: The to-many.
  ///   - format: A condition on the members in the format language, whose paths begin at the member; nil for
  ///     any member.
  ///   - arguments: The values for its placeholders, in their order.
  /// - Returns: The annotation.
  public static func exists<Members: Collection>(
    _ members: KeyPath<Object, Members>, where format: String? = nil, _ arguments: Any?...
  ) -> ObjectAnnotation where Members.Element: ManagedObject {
    ObjectAnnotation(.count, of: members, PartialKeyPath<Members.Element>?.none, where: (format, arguments)) {
      $0.int64.map { $0 > 0 }
    }
  }
}

extension ObjectAnnotation {
  /// The sum of an attribute of the members; 0 without values.
  ///
  /// Sums of integers and decimals are exact; a sum beyond 64 bits or 38 digits is
  /// ``StoreError/sumTooLarge(entity:property:)``.
  /// - Parameters:
  ///   - members: The to-many.
  ///   - property: The attribute, also through to-ones.
  ///   - format: A condition on the members in the format language, whose paths begin at the member; nil for
  ///     all.
  ///   - arguments: The values for its placeholders, in their order.
  /// - Returns: The annotation.
  public static func sum<Members: Collection, Number: SummableValue>(
    _ members: KeyPath<Object, Members>, _ property: KeyPath<Members.Element, Number>,
    where format: String? = nil, _ arguments: Any?...
  ) -> ObjectAnnotation where Members.Element: ManagedObject, Value == Number.Sum {
    ObjectAnnotation(.sum, of: members, property, where: (format, arguments)) { Value(stored: $0) }
  }

  /// The sum of an attribute of the members that may be nil; 0 without values. See the other `sum`.
  /// - Parameters:
  ///   - members: The to-many.
  ///   - property: The attribute, also through to-ones.
  ///   - format: A condition on the members in the format language, whose paths begin at the member; nil for
  ///     all.
  ///   - arguments: The values for its placeholders, in their order.
  /// - Returns: The annotation.
  public static func sum<Members: Collection, Number: SummableValue>(
    _ members: KeyPath<Object, Members>, _ property: KeyPath<Members.Element, Number?>,
    where format: String? = nil, _ arguments: Any?...
  ) -> ObjectAnnotation where Members.Element: ManagedObject, Value == Number.Sum {
    ObjectAnnotation(.sum, of: members, property, where: (format, arguments)) { Value(stored: $0) }
  }

  /// The average of an attribute of the members; nil without values.
  /// - Parameters:
  ///   - members: The to-many.
  ///   - property: The attribute, also through to-ones.
  ///   - format: A condition on the members in the format language, whose paths begin at the member; nil for
  ///     all.
  ///   - arguments: The values for its placeholders, in their order.
  /// - Returns: The annotation.
  public static func average<Members: Collection, Number: SummableValue>(
    _ members: KeyPath<Object, Members>, _ property: KeyPath<Members.Element, Number>,
    where format: String? = nil, _ arguments: Any?...
  ) -> ObjectAnnotation where Members.Element: ManagedObject, Value == Number.Average? {
    ObjectAnnotation(.average, of: members, property, where: (format, arguments)) { Value(stored: $0) }
  }

  /// The average of an attribute of the members that may be nil; nil without values.
  /// - Parameters:
  ///   - members: The to-many.
  ///   - property: The attribute, also through to-ones.
  ///   - format: A condition on the members in the format language, whose paths begin at the member; nil for
  ///     all.
  ///   - arguments: The values for its placeholders, in their order.
  /// - Returns: The annotation.
  public static func average<Members: Collection, Number: SummableValue>(
    _ members: KeyPath<Object, Members>, _ property: KeyPath<Members.Element, Number?>,
    where format: String? = nil, _ arguments: Any?...
  ) -> ObjectAnnotation where Members.Element: ManagedObject, Value == Number.Average? {
    ObjectAnnotation(.average, of: members, property, where: (format, arguments)) { Value(stored: $0) }
  }

  /// The least value of an attribute of the members; nil without values.
  /// - Parameters:
  ///   - members: The to-many.
  ///   - property: The attribute, also through to-ones.
  ///   - format: A condition on the members in the format language, whose paths begin at the member; nil for
  ///     all.
  ///   - arguments: The values for its placeholders, in their order.
  /// - Returns: The annotation.
  public static func minimum<Members: Collection, Property: AttributeValue & Comparable>(
    _ members: KeyPath<Object, Members>, _ property: KeyPath<Members.Element, Property>,
    where format: String? = nil, _ arguments: Any?...
  ) -> ObjectAnnotation where Members.Element: ManagedObject, Value == Property? {
    ObjectAnnotation(.minimum, of: members, property, where: (format, arguments)) { Value(stored: $0) }
  }

  /// The least value of an attribute of the members that may be nil; nil without values.
  /// - Parameters:
  ///   - members: The to-many.
  ///   - property: The attribute, also through to-ones.
  ///   - format: A condition on the members in the format language, whose paths begin at the member; nil for
  ///     all.
  ///   - arguments: The values for its placeholders, in their order.
  /// - Returns: The annotation.
  public static func minimum<Members: Collection, Property: AttributeValue & Comparable>(
    _ members: KeyPath<Object, Members>, _ property: KeyPath<Members.Element, Property?>,
    where format: String? = nil, _ arguments: Any?...
  ) -> ObjectAnnotation where Members.Element: ManagedObject, Value == Property? {
    ObjectAnnotation(.minimum, of: members, property, where: (format, arguments)) { Value(stored: $0) }
  }

  /// The greatest value of an attribute of the members; nil without values.
  /// - Parameters:
  ///   - members: The to-many.
  ///   - property: The attribute, also through to-ones.
  ///   - format: A condition on the members in the format language, whose paths begin at the member; nil for
  ///     all.
  ///   - arguments: The values for its placeholders, in their order.
  /// - Returns: The annotation.
  public static func maximum<Members: Collection, Property: AttributeValue & Comparable>(
    _ members: KeyPath<Object, Members>, _ property: KeyPath<Members.Element, Property>,
    where format: String? = nil, _ arguments: Any?...
  ) -> ObjectAnnotation where Members.Element: ManagedObject, Value == Property? {
    ObjectAnnotation(.maximum, of: members, property, where: (format, arguments)) { Value(stored: $0) }
  }

  /// The greatest value of an attribute of the members that may be nil; nil without values.
  /// - Parameters:
  ///   - members: The to-many.
  ///   - property: The attribute, also through to-ones.
  ///   - format: A condition on the members in the format language, whose paths begin at the member; nil for
  ///     all.
  ///   - arguments: The values for its placeholders, in their order.
  /// - Returns: The annotation.
  public static func maximum<Members: Collection, Property: AttributeValue & Comparable>(
    _ members: KeyPath<Object, Members>, _ property: KeyPath<Members.Element, Property?>,
    where format: String? = nil, _ arguments: Any?...
  ) -> ObjectAnnotation where Members.Element: ManagedObject, Value == Property? {
    ObjectAnnotation(.maximum, of: members, property, where: (format, arguments)) { Value(stored: $0) }
  }
}
