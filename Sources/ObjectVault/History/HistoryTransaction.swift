// One transaction of a store's history, as a value.

public import Foundation

/// One transaction in the history of a store.
///
/// ```swift
/// let last = try await store.history(HistoryRequest().newestFirst().limit(1))
/// let changed = last.first?.changes.updated.map(\.rowID) ?? []
/// ```
public struct HistoryTransaction: Sendable, Hashable {
  /// What made the changes.
  public enum Kind: Sendable, Hashable {
    /// A save of a program.
    case changes
    /// A migration step that ran; its changes are not recorded by object.
    case step(Int)
    /// A migration step that was rolled back.
    case rollback(Int)
  }

  /// The position after this transaction.
  public let token: HistoryToken
  /// When it was committed, by the clock of the machine. Clocks may be set back: ``token`` gives the order.
  public let date: Date
  /// The author, from ``ObjectContext/author``.
  public let author: String?
  /// The name, from ``ObjectContext/transactionName``; for a step, its number and name.
  public let name: String?
  /// What made the changes.
  public let kind: Kind
  /// The version of the model: the number of steps that the store had run.
  public let modelVersion: Int
  /// The changes of entities with a history, or the part of them that a ``HistoryRequest`` asks for, under
  /// the present names. An entity or property that a later step removed has the version of the model that
  /// lacks it in its name: `title@5`. ``ChangeSet/changedBySQL`` names entities whose changes are unknown.
  ///
  /// An entity with ``HistoryDetail/changes`` has no old values, and no values of deleted objects.
  public let changes: ChangeSet
  /// Whether the old values of all changes are known, so that ``Store/undo(_:author:)`` can write them.
  public let isReversible: Bool
  /// Which part of the transaction was asked for.
  let part: Part
  /// The properties of new objects that were recorded, nil ones included; for a request of one object.
  let recordedProperties: Set<String>

  /// A part of a transaction.
  enum Part: Sendable, Hashable {
    case whole
    /// The changes of an entity or an object.
    case objects
    case property(String)
  }
}

extension HistoryTransaction {
  /// Why the transaction cannot be undone; nil if it can.
  var obstacle: String? {
    guard kind == .changes else { return "it is a migration step" }
    if case .property(let name) = part, !changes.inserted.isEmpty || !changes.deleted.isEmpty {
      return "it inserted or deleted an object, but only \(name) was asked for; ask for the object"
    }
    if let name = changes.removedName { return "a later step removed \(name)" }
    guard isReversible else { return "the history does not have the old values of all its changes" }
    return nil
  }
}

extension ChangeSet {
  /// The name of an entity or property in the changes that a later step has removed; nil for none.
  var removedName: String? {
    let rows = inserted + deleted
    let names =
      rows.map(\.entity) + rows.flatMap(\.values.keys) + updated.map(\.entity) + updated.flatMap(\.properties)
      + (linked + unlinked).flatMap { [$0.entity, $0.relationship] }
      + placed.flatMap { [$0.entity, $0.relationship] }
    return names.first { $0.contains("@") }.map { String($0.prefix { $0 != "@" }) }
  }
}
