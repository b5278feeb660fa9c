// A difference between what a context is about to save and what other writers have committed, and the ways
// to settle it.

internal import CipherSQLite

/// An object that was changed here and elsewhere since it was fetched.
///
/// ```swift
/// for conflict in try context.conflicts() {
///   let names = conflict.properties
///   if names.contains("name") { continue }
///   try context.resolve(conflict, keeping: .theirs)
/// }
/// ```
///
/// It has the attributes and to-ones of the object, in their stored forms; to-ones are ids. Links of a
/// many-to-many and places of members have no version of their own: two contexts can add and remove links
/// without a conflict, and of two that move members the later save wins.
public struct MergeConflict: Sendable, Hashable {
  /// What happened on each side.
  public enum Kind: String, Sendable, Hashable {
    /// The object was changed here and elsewhere.
    case changed
    /// The object was changed here, and its row was deleted elsewhere.
    case deletedElsewhere
    /// The object was deleted here, and its row was changed elsewhere.
    case deletedHere
  }

  /// What happened.
  public let kind: Kind
  /// The id of the object: its entity and its row.
  public let id: DynamicID
  /// The values that the object had when it was fetched or last saved, as far as they were in memory.
  public let base: ChangeSet.Values
  /// The values that were set here; empty if the object was deleted here.
  public let mine: ChangeSet.Values
  /// The values that others have set since; empty if the row was deleted.
  public let theirs: ChangeSet.Values

  /// The properties that have got different values here and elsewhere, in alphabetical order.
  public var properties: [String] {
    mine.filter { name, value in theirs[name].map { !$0.isStored(as: value) } ?? false }.keys.sorted()
  }
}

extension MergeConflict: CustomStringConvertible {
  /// A line such as `User 7: set differently here and elsewhere: name; elsewhere: age`, without values.
  public var description: String {
    let contested = Set(properties)
    func list(_ title: String, _ names: some Sequence<String>) -> String? {
      let names = names.filter { !contested.contains($0) || title.hasPrefix("set") }.sorted()
      return names.isEmpty ? nil : "\(title): \(names.joined(separator: ", "))"
    }
    let parts: [String?] =
      switch kind {
      case .changed:
        [
          list("set differently here and elsewhere", contested), list("here", mine.keys),
          list("elsewhere", theirs.keys),
        ]
      case .deletedElsewhere: ["deleted elsewhere", list("here", mine.keys)]
      case .deletedHere: ["deleted here", list("elsewhere", theirs.keys)]
      }
    return "\(id): " + parts.compactMap { $0 }.joined(separator: "; ")
  }
}

/// How a ``MergeConflict`` is settled: see ``ObjectContext/resolve(_:keeping:)``.
public enum ConflictResolution: Sendable, Hashable {
  /// What was set or deleted here is kept; all other properties get the values of the store. An object
  /// whose row was deleted elsewhere is inserted again, with its id and without the links that it had;
  /// values that were not in memory, such as lazy ones, are nil then.
  case mine
  /// The properties that were set differently elsewhere get the values of the store; what else was set here
  /// is kept. A deletion elsewhere stays, and an object that was deleted here is kept.
  case theirs
  /// The whole object is written as it is here, also where only others have changed it. Otherwise as
  /// ``mine``.
  case onlyMine
  /// All changes of the object here are discarded. Otherwise as ``theirs``.
  case onlyTheirs
  /// These properties get these values, in their stored forms; all others get those of the store. An object
  /// whose row was deleted elsewhere is inserted again, and one that was deleted here is kept.
  case values(ChangeSet.Values)
}

/// How a save settles conflicts: see ``ObjectContext/mergePolicy``.
public enum MergePolicy: Sendable {
  /// The save throws ``StoreError/conflicts(_:)`` and writes nothing.
  case error
  /// As ``ConflictResolution/theirs``: properties that others have set differently keep the values of the
  /// store.
  case mergeByPropertyStoreTrump
  /// As ``ConflictResolution/mine``: properties that were set here win.
  case mergeByPropertyObjectTrump
  /// As ``ConflictResolution/onlyMine``: the whole object wins.
  case overwrite
  /// As ``ConflictResolution/onlyTheirs``: the store wins, and the changes of the object are discarded.
  case rollback
  /// The closure decides about each conflict. It is called inside the transaction of the save, and must
  /// not use the store. An error that it throws is thrown by the save, which writes nothing.
  case custom(@Sendable (MergeConflict) throws -> ConflictResolution)

  /// Returns how a conflict is settled; nil if it is not.
  func resolution(of conflict: MergeConflict) throws -> ConflictResolution? {
    switch self {
    case .error: nil
    case .mergeByPropertyStoreTrump: .theirs
    case .mergeByPropertyObjectTrump: .mine
    case .overwrite: .onlyMine
    case .rollback: .onlyTheirs
    case .custom(let decide): try decide(conflict)
    }
  }

  var settlesConflicts: Bool { if case .error = self { false } else { true } }
}
