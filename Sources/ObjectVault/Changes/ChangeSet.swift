// What one commit changed, as a value: what listeners get, what is stored as history, undone, or applied elsewhere.

public import CipherSQLite

/// What one commit changed, or a save would change: objects by entity and id, with their old and new values.
///
/// ```swift
/// var gone: [Int64] = []
/// for await case .committed(let changes) in store.changes() {
///   gone += changes.deleted.map(\.rowID)
/// }
/// ```
///
/// It is complete: what it holds, applied to the store as it was before, gives the store as it is now
/// (``Store/apply(_:)``). So rows that a delete rule took along are in it, and references that one set to nil.
/// To-ones are properties whose value is the row's id at the other end; links of many-to-many relationships stand
/// by themselves, and so do the places of members in ordered relationships (``placed``). Versions take no part.
///
/// Its `description` names objects and properties and shows no value.
public struct ChangeSet: Sendable, Hashable {
  /// Stored values by property. A property that is missing is nil.
  public typealias Values = [String: SQLValue]

  /// A whole object.
  public struct Row: Sendable, Hashable, Codable {
    /// The entity.
    public let entity: String
    /// The id; negative for an object that no save has given one yet.
    public let rowID: Int64
    /// The attributes and to-ones that are not nil.
    public let values: Values

    /// A row.
    public init(entity: String, rowID: Int64, values: Values) {
      self.entity = entity
      self.rowID = rowID
      self.values = values
    }
  }

  /// An object of which some properties changed.
  public struct Update: Sendable, Hashable, Codable {
    /// The entity.
    public let entity: String
    /// The id.
    public let rowID: Int64
    /// What the changed properties held before, nil as `null`.
    public let old: Values
    /// What they hold now, nil as `null`.
    public let new: Values

    /// The properties that changed, in alphabetical order.
    public var properties: [String] { new.keys.sorted() }

    /// An update. `old` and `new` have the same properties.
    public init(entity: String, rowID: Int64, old: Values, new: Values) {
      self.entity = entity
      self.rowID = rowID
      self.old = old
      self.new = new
    }
  }

  /// A link of a many-to-many relationship, named by the end that keeps the table.
  public struct Link: Sendable, Hashable, Codable {
    /// The entity at that end.
    public let entity: String
    /// Its relationship.
    public let relationship: String
    /// The id at that end.
    public let source: Int64
    /// The id at the other end.
    public let target: Int64

    /// A link.
    public init(entity: String, relationship: String, source: Int64, target: Int64) {
      self.entity = entity
      self.relationship = relationship
      self.source = source
      self.target = target
    }
  }

  /// The place of a member in an ordered relationship, such as that of a song in `Album.songs`.
  ///
  /// Places are numbers with room between them: the members are sorted by them, those without one first, and then by their
  /// ids. Which objects are members say the to-ones and the links.
  public struct Placement: Sendable, Hashable, Codable {
    /// The entity that has the relationship.
    public let entity: String
    /// The relationship.
    public let relationship: String
    /// The id of the object whose member it is.
    public let owner: Int64
    /// The id of the member.
    public let member: Int64
    /// The place that it had; nil for one that had none, as who was no member.
    public let old: Int64?
    /// The place that it has; nil for one that has none, as who is no member any more.
    public let new: Int64?

    /// A placement.
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
  /// Objects that are gone, with their last values; who is above comes before who went with it.
  public var deleted: [Row]
  /// New links.
  public var linked: [Link]
  /// Links that are gone.
  public var unlinked: [Link]
  /// Other places in ordered relationships: of who moved, who came and who went.
  public var placed: [Placement]
  /// Who made the changes, as ``ObjectContext/author`` says.
  public var author: String?
  /// What they are called, as ``ObjectContext/transactionName`` says.
  public var name: String?
  /// The commit; nil before it.
  public internal(set) var commit: Commit?

  /// One commit of an open store.
  public struct Commit: Sendable, Hashable, Codable {
    /// The store: ``Store/id`` in the form of its text; nil for stores that have none.
    public let store: String?
    /// Rises with each commit since the store was opened.
    public let number: Int64
  }

  /// Changes; none by default.
  public init(
    inserted: [Row] = [], updated: [Update] = [], deleted: [Row] = [], linked: [Link] = [],
    unlinked: [Link] = [], placed: [Placement] = [], author: String? = nil, name: String? = nil
  ) {
    self.inserted = inserted
    self.updated = updated
    self.deleted = deleted
    self.linked = linked
    self.unlinked = unlinked
    self.placed = placed
    self.author = author
    self.name = name
  }

  /// Whether nothing changes.
  public var isEmpty: Bool { count == 0 }

  /// How many objects, links and places change.
  public var count: Int {
    inserted.count + updated.count + deleted.count + linked.count + unlinked.count + placed.count
  }

  /// What takes the changes back.
  public var inverse: ChangeSet {
    ChangeSet(
      inserted: deleted.reversed(),
      updated: updated.reversed().map {
        Update(entity: $0.entity, rowID: $0.rowID, old: $0.new, new: $0.old)
      },
      deleted: inserted.reversed(), linked: unlinked, unlinked: linked, placed: placed.map(\.inverse),
      author: author, name: name)
  }

  /// Merges change sets, the oldest first. An object that is inserted and later deleted is left out. The author and the name are
  /// those of the first set that has one, the commit is that of the last.
  ///
  /// Takes time in proportion to the sets. Commits that arrive one by one are kept as they are, and merged when they are needed.
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
    case inserted, updated, deleted, linked, unlinked, placed, author, name, commit
  }

  /// From what ``encode(to:)`` writes, and from what versions without ordered relationships wrote.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      inserted: try container.decode([Row].self, forKey: .inserted),
      updated: try container.decode([Update].self, forKey: .updated),
      deleted: try container.decode([Row].self, forKey: .deleted),
      linked: try container.decode([Link].self, forKey: .linked),
      unlinked: try container.decode([Link].self, forKey: .unlinked),
      placed: try container.decodeIfPresent([Placement].self, forKey: .placed) ?? [],
      author: try container.decodeIfPresent(String.self, forKey: .author),
      name: try container.decodeIfPresent(String.self, forKey: .name))
    commit = try container.decodeIfPresent(Commit.self, forKey: .commit)
  }

  /// Places where there are any.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(inserted, forKey: .inserted)
    try container.encode(updated, forKey: .updated)
    try container.encode(deleted, forKey: .deleted)
    try container.encode(linked, forKey: .linked)
    try container.encode(unlinked, forKey: .unlinked)
    if !placed.isEmpty { try container.encode(placed, forKey: .placed) }
    try container.encodeIfPresent(author, forKey: .author)
    try container.encodeIfPresent(name, forKey: .name)
    try container.encodeIfPresent(commit, forKey: .commit)
  }
}

extension ChangeSet: CustomStringConvertible {
  /// A line for each object and link, such as `updated Person 7: city, name`; no value.
  public var description: String { lines(withValues: false).joined(separator: "\n") }

  /// The same lines with the values, which may be secret.
  public var descriptionWithValues: String { lines(withValues: true).joined(separator: "\n") }

  private func places(withValues shows: Bool) -> [String] {
    placed.map { place in
      let numbers = [place.old, place.new].map { $0.map(String.init) ?? "none" }.joined(separator: " to ")
      return "placed \(place.entity) \(place.owner).\(place.relationship) \(place.member)"
        + (shows ? ": \(numbers)" : "")
    }
  }

  private func lines(withValues shows: Bool) -> [String] {
    func values(_ values: Values) -> String {
      guard shows else { return "" }
      return values.sorted { $0.key < $1.key }.map { " \($0.key) = \($0.value.literal)" }.joined(
        separator: ",")
    }
    let changed = updated.map { update in
      "updated \(update.entity) \(update.rowID): "
        + update.properties.map { name in
          guard shows, let old = update.old[name], let new = update.new[name] else { return name }
          return "\(name) \(old.literal) to \(new.literal)"
        }.joined(separator: ", ")
    }
    let links = { (word: String, links: [Link]) in
      links.map { "\(word) \($0.entity) \($0.source).\($0.relationship) \($0.target)" }
    }
    return inserted.map { "inserted \($0.entity) \($0.rowID)" + values($0.values) } + changed
      + deleted.map { "deleted \($0.entity) \($0.rowID)" + values($0.values) }
      + links("linked", linked) + links("unlinked", unlinked) + places(withValues: shows)
  }
}
