// Annotations that are members themselves: the first one in an order, or several.

internal import CipherSQLite
public import Foundation

extension ObjectAnnotation {
  fileprivate init<Member: ManagedObject>(
    firstOf members: PartialKeyPath<Object>, by property: PartialKeyPath<Member>, isDescending: Bool,
    where condition: (format: String?, arguments: [Any?])
  ) where Value == Member? {
    self.init(
      { .first(SortKey(value: .property(try property.valueNames), isDescending: isDescending)) },
      of: members, class: Member.self, where: condition
    ) { stored, context in
      let lists: [[Member]] = try context.members(stored.map { $0.int64.map { [$0] } ?? [] })
      return lists.map(\.first)
    }
  }

  fileprivate init<Member: ManagedObject>(
    listOf members: PartialKeyPath<Object>, by key: (property: PartialKeyPath<Member>, isDescending: Bool),
    atMost count: Int, where condition: (format: String?, arguments: [Any?])
  ) where Value == [Member] {
    self.init(
      {
        let value = PredicateOperand.property(try key.property.valueNames)
        return .list(SortKey(value: value, isDescending: key.isDescending), atMost: count)
      }, of: members, class: Member.self, where: condition
    ) { stored, context in
      // The ids with commas between them.
      try context.members(stored.map { ($0.string ?? "").split(separator: ",").compactMap { Int64($0) } })
    }
  }
}

extension ObjectContext {
  /// Returns the objects of several lists of ids, with one query.
  fileprivate func members<Member: ManagedObject>(_ lists: [[Int64]]) throws -> [[Member]] {
    let fetch = fetch(Member.self)
    let found = try fetch.objects(withIDs: Array(Set(lists.joined())).sorted())
    let objects = try fetch.finished(found.map(\.object))
    let byID = Dictionary(zip(found.map(\.id), objects), uniquingKeysWith: { first, _ in first })
    // Without the pending changes, a member that was deleted in the context is still one of the members.
    let map = maps[try fetch.known().index]
    return lists.map { $0.compactMap { byID[$0] ?? map.find($0) as? Member } }
  }
}

extension ObjectAnnotation {
  /// The member with the greatest value of a property, such as the latest message; nil without members.
  ///
  /// nil is less than all values. Of members with equal values, it is the one with the highest id.
  ///
  /// With an index over the inverse and the property, such as
  /// `Entity(Message.self).index(\.conversation, \.sentAt)`, the engine finds the member by one search.
  /// - Parameters:
  ///   - members: The to-many.
  ///   - property: The property, also through to-ones.
  ///   - format: A condition on the members in the format language, whose paths begin at the member; nil for
  ///     all.
  ///   - arguments: The values for its placeholders, in their order.
  /// - Returns: The annotation.
  public static func latest<Members: Collection, Member: ManagedObject>(
    _ members: KeyPath<Object, Members>, by property: PartialKeyPath<Member>,
    where format: String? = nil, _ arguments: Any?...
  ) -> ObjectAnnotation where Members.Element == Member, Value == Member? {
    ObjectAnnotation(firstOf: members, by: property, isDescending: true, where: (format, arguments))
  }

  /// The member with the least value of a property; nil without members.
  ///
  /// nil is less than all values. Of members with equal values, it is the one with the lowest id.
  /// - Parameters:
  ///   - members: The to-many.
  ///   - property: The property, also through to-ones.
  ///   - format: A condition on the members in the format language, whose paths begin at the member; nil for
  ///     all.
  ///   - arguments: The values for its placeholders, in their order.
  /// - Returns: The annotation.
  public static func earliest<Members: Collection, Member: ManagedObject>(
    _ members: KeyPath<Object, Members>, by property: PartialKeyPath<Member>,
    where format: String? = nil, _ arguments: Any?...
  ) -> ObjectAnnotation where Members.Element == Member, Value == Member? {
    ObjectAnnotation(firstOf: members, by: property, isDescending: false, where: (format, arguments))
  }

  /// Members in an order, such as the three latest messages, or all that satisfy a condition.
  ///
  /// ```swift
  /// let list = try context.fetch(Conversation.self)
  ///   .annotated(
  ///     with: .members(
  ///       \.messages, by: \.sentAt, order: .reverse, limit: 3,
  ///       where: "isRead == NO"))
  ///   .all()
  /// for (conversation, newest) in list {
  ///   assert(newest.count <= 3, conversation.title)
  /// }
  /// ```
  ///
  /// One query reads the members of all objects. The relationship itself is not loaded. nil is less than all
  /// values. Members with equal values are in the order of their ids, in the direction of the order. With an
  /// index over the inverse and the property, such as `Entity(Message.self).index(\.conversation, \.sentAt)`,
  /// the engine stops when it has found as many members as the limit allows, instead of sorting all.
  /// - Parameters:
  ///   - members: The to-many.
  ///   - property: The property, also through to-ones.
  ///   - order: The direction.
  ///   - limit: The highest number of members of each object; nil for no limit.
  ///   - format: A condition on the members in the format language, whose paths begin at the member; nil for
  ///     all.
  ///   - arguments: The values for its placeholders, in their order.
  /// - Returns: The annotation.
  public static func members<Members: Collection, Member: ManagedObject>(
    _ members: KeyPath<Object, Members>, by property: PartialKeyPath<Member>, order: SortOrder = .forward,
    limit: Int? = nil, where format: String? = nil, _ arguments: Any?...
  ) -> ObjectAnnotation where Members.Element == Member, Value == [Member] {
    ObjectAnnotation(
      listOf: members, by: (property, order == .reverse), atMost: limit ?? .max, where: (format, arguments))
  }
}
