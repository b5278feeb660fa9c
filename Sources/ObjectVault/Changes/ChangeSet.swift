// The changes of one commit as a value: listeners get it, and it can be stored as history, undone, or
// applied to another store.

public import CipherSQLite

/// The changes of one commit, or those that the next save would make: objects by entity and id, with
/// their old and new values.
///
/// ```swift
/// var gone: [Int64] = []
/// for await case .committed(let changes) in store.changes() {
///   gone += changes.deleted.map(\.rowID)
/// }
/// ```
///
/// A change set without ``changedBySQL`` is complete: ``Store/apply(_:)`` turns a store in the state
/// before the commit into one in the state after it. It includes rows that a delete rule deleted, and
/// references that a delete rule set to nil. A to-one is a property whose value is the id of the row that
/// it refers to. Links of many-to-many relationships are listed separately, and so are the places of
/// members in ordered relationships (``placed``). Row versions are not included.
///
/// Its `description` names objects and properties and shows no value.
public struct ChangeSet: Sendable, Hashable {
  /// Stored values by property. A property that is missing is nil in a ``ChangeSet/Row``, and unchanged
  /// in a ``ChangeSet/Update``.
  public typealias Values = [String: SQLValue]

  /// A whole object.
  public struct Row: Sendable, Hashable, Codable {
    /// The name of the entity.
    public let entity: String
    /// The id; negative for a new object that has no final id yet.
    public let rowID: Int64
    /// The attributes and to-ones that are not nil.
    public let values: Values

    /// Creates a row.
    public init(entity: String, rowID: Int64, values: Values) {
      self.entity = entity
      self.rowID = rowID
      self.values = values
    }
  }

  /// An object with changed properties.
  public struct Update: Sendable, Hashable, Codable {
    /// The name of the entity.
    public let entity: String
    /// The id of the object.
    public let rowID: Int64
    /// The values of the changed properties before the change; nil is `null`. Values that the history of an
    /// entity does not have are missing: see ``HistoryDetail/changes``.
    public let old: Values
    /// The values of the changed properties after the change; nil is `null`.
    public let new: Values

    /// The properties that changed, in alphabetical order.
    public var properties: [String] { new.keys.sorted() }

    /// Creates an update. `old` and `new` must have the same properties.
    public init(entity: String, rowID: Int64, old: Values, new: Values) {
      self.entity = entity
      self.rowID = rowID
      self.old = old
      self.new = new
    }
  }

  /// A link of a many-to-many relationship. Of the two entities, the source is the one whose relationship
  /// owns the link table.
  public struct Link: Sendable, Hashable, Codable {
    /// The name of the source's entity.
    public let entity: String
    /// The name of the source's relationship.
    public let relationship: String
    /// The id of the source.
    public let source: Int64
    /// The id of the target.
    public let target: Int64

    /// Creates a link.
    public init(entity: String, relationship: String, source: Int64, target: Int64) {
      self.entity = entity
      self.relationship = relationship
      self.source = source
      self.target = target
    }
  }

  /// The place of a member in an ordered relationship, such as that of a song in `Album.songs`.
  ///
  /// Places are numbers with gaps between them. Members are sorted by place and then by id; members
  /// without a place come first. The to-ones and the links determine which objects are members.
  public struct Placement: Sendable, Hashable, Codable {
    /// The name of the entity that has the relationship.
    public let entity: String
    /// The name of the relationship.
    public let relationship: String
    /// The id of the object that has the relationship.
    public let owner: Int64
    /// The id of the member.
    public let member: Int64
    /// The former place; nil if the object had none, or was no member.
    public let old: Int64?
    /// The new place; nil if the object has none, or is no member any more.
    public let new: Int64?

    /// Creates a placement.
    public init(
      entity: String, relationship: String, owner: Int64, member: Int64, old: Int64?, new: Int64?
    ) {
      (self.entity, self.relationship, self.owner, self.member) = (entity, relationship, owner, member)
      (self.old, self.new) = (old, new)
    }
  }

  /// New objects.
  public var inserted: [Row]
  /// Changed objects.
  public var updated: [Update]
  /// Deleted objects with their last values. An object comes before those that its deletion cascaded to.
  public var deleted: [Row]
  /// New links.
  public var linked: [Link]
  /// Removed links.
  public var unlinked: [Link]
  /// Changed places of members in ordered relationships. The members were moved, added or removed.
  public var placed: [Placement]
  /// The names of the entities whose objects ``ObjectContext/execute(_:)`` has changed, in alphabetical
  /// order. The other lists do not contain these changes: read the objects again. A root entity stands for
  /// its whole inheritance hierarchy.
  public var changedBySQL: [String]
  /// The author of the changes, from ``ObjectContext/author``.
  public var author: String?
  /// The name of the changes, from ``ObjectContext/transactionName``.
  public var name: String?
  /// The commit; nil for changes that are not committed.
  public internal(set) var commit: Commit?

  /// One commit of an open store.
  public struct Commit: Sendable, Hashable, Codable {
    /// The text of the store's ``Store/id``; nil for stores that have none.
    public let store: String?
    /// The number of the commit, counted since the store was opened.
    public let number: Int64
  }

  /// Creates a change set; empty by default.
  public init(
    inserted: [Row] = [], updated: [Update] = [], deleted: [Row] = [], linked: [Link] = [],
    unlinked: [Link] = [], placed: [Placement] = [], changedBySQL: [String] = [], author: String? = nil,
    name: String? = nil
  ) {
    self.inserted = inserted
    self.updated = updated
    self.deleted = deleted
    self.linked = linked
    self.unlinked = unlinked
    self.placed = placed
    self.changedBySQL = changedBySQL
    self.author = author
    self.name = name
  }

  /// Whether there are no changes.
  public var isEmpty: Bool { count == 0 }

  /// The number of changed objects, links and places, and of entities that SQL has changed.
  public var count: Int {
    inserted.count + updated.count + deleted.count + linked.count + unlinked.count + placed.count
      + changedBySQL.count
  }

  /// The changes that undo this set. Changes by SQL are unknown and cannot be undone: they stay in
  /// ``changedBySQL``.
  public var inverse: ChangeSet {
    ChangeSet(
      inserted: deleted.reversed(),
      updated: updated.reversed().map {
        Update(entity: $0.entity, rowID: $0.rowID, old: $0.new, new: $0.old)
      },
      deleted: inserted.reversed(), linked: unlinked, unlinked: linked, placed: placed.map(\.inverse),
      changedBySQL: changedBySQL, author: author, name: name)
  }

  /// Merges change sets, the oldest first.
  ///
  /// An object that is inserted and later deleted is omitted. The author and the name are those of the
  /// first set that has one; the commit is that of the last set. Takes time in proportion to the size of
  /// the sets. So do not merge each commit as it arrives: keep the sets, and merge them when needed.
  /// - Parameter sets: The change sets, in the order of their commits.
  public init(merging sets: some Sequence<ChangeSet>) {
    var collector = ChangeCollector()
    self.init()
    for set in sets {
      collector.add(set)
      (author, name, commit) = (author ?? set.author, name ?? set.name, set.commit)
    }
    let changes = collector.changes
    (inserted, updated, deleted) = (changes.inserted, changes.updated, changes.deleted)
    (linked, unlinked, placed) = (changes.linked, changes.unlinked, changes.placed)
    changedBySQL = changes.changedBySQL
  }
}

extension ChangeSet.Placement {
  fileprivate var inverse: ChangeSet.Placement {
    .init(
      entity: entity, relationship: relationship, owner: owner, member: member, old: new, new: old)
  }
}

extension ChangeSet: Codable {
  private enum CodingKeys: String, CodingKey {
    case inserted, updated, deleted, linked, unlinked, placed, changedBySQL, author, name, commit
  }

  /// Decodes what ``encode(to:)`` writes, and the form that versions without ordered relationships wrote.
  /// - Parameter decoder: The decoder to read from.
  /// - Throws: The decoder's errors.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      inserted: try container.decode([Row].self, forKey: .inserted),
      updated: try container.decode([Update].self, forKey: .updated),
      deleted: try container.decode([Row].self, forKey: .deleted),
      linked: try container.decode([Link].self, forKey: .linked),
      unlinked: try container.decode([Link].self, forKey: .unlinked),
      placed: try container.decodeIfPresent([Placement].self, forKey: .placed) ?? [],
      changedBySQL: try container.decodeIfPresent([String].self, forKey: .changedBySQL) ?? [],
      author: try container.decodeIfPresent(String.self, forKey: .author),
      name: try container.decodeIfPresent(String.self, forKey: .name))
    commit = try container.decodeIfPresent(Commit.self, forKey: .commit)
  }

  /// Encodes the change set; places, and entities that SQL has changed, are omitted when there are none.
  /// - Parameter encoder: The encoder to write to.
  /// - Throws: The encoder's errors.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(inserted, forKey: .inserted)
    try container.encode(updated, forKey: .updated)
    try container.encode(deleted, forKey: .deleted)
    try container.encode(linked, forKey: .linked)
    try container.encode(unlinked, forKey: .unlinked)
    if !placed.isEmpty { try container.encode(placed, forKey: .placed) }
    if !changedBySQL.isEmpty { try container.encode(changedBySQL, forKey: .changedBySQL) }
    try container.encodeIfPresent(author, forKey: .author)
    try container.encodeIfPresent(name, forKey: .name)
    try container.encodeIfPresent(commit, forKey: .commit)
  }
}

extension ChangeSet: CustomStringConvertible {
  /// A line for each object, link and place, such as `updated Person 7: city, name`, and for each entity
  /// that SQL has changed, without values.
  public var description: String { lines(withValues: false).joined(separator: "\n") }

  /// The lines of `description` with the values, which may be secret.
  public var descriptionWithValues: String { lines(withValues: true).joined(separator: "\n") }

  private func places(withValues shows: Bool) -> [String] {
    placed.map { place in
      let numbers = [place.old, place.new].map { $0.map(String.init) ?? "none" }.joined(separator: " to ")
      return "placed \(place.entity) \(place.owner).\(place.relationship) \(place.member)"
        + (shows ? ": \(numbers)" : "")
    }
  }

  /// Returns a value as a part of a line.
  private static func line(_ value: SQLValue) -> String {
    let text = value.literal
    return text.contains(where: \.isNewline)
      ? text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).joined(separator: "\\n")
      : text
  }

  private func lines(withValues shows: Bool) -> [String] {
    func values(_ values: Values) -> String {
      guard shows else { return "" }
      return values.sorted { $0.key < $1.key }.map { " \($0.key) = \(Self.line($0.value))" }.joined(
        separator: ",")
    }
    let changed = updated.map { update in
      "updated \(update.entity) \(update.rowID): "
        + update.properties.map { name in
          guard shows, let new = update.new[name] else { return name }
          guard let old = update.old[name] else { return "\(name) = \(Self.line(new))" }
          return "\(name) \(Self.line(old)) to \(Self.line(new))"
        }.joined(separator: ", ")
    }
    let links = { (word: String, links: [Link]) in
      links.map { "\(word) \($0.entity) \($0.source).\($0.relationship) \($0.target)" }
    }
    let bySQL = changedBySQL.map { "changed by SQL: \($0)" }
    return inserted.map { "inserted \($0.entity) \($0.rowID)" + values($0.values) } + changed
      + deleted.map { "deleted \($0.entity) \($0.rowID)" + values($0.values) }
      + links("linked", linked) + links("unlinked", unlinked) + places(withValues: shows)
      + bySQL
  }
}
