// Why deletions wait inside of a write. After a denial a flush asks whether one known hold still stands, in place of a plan of all
// deletions. Of an object that goes by a cascade none is kept: only a plan can tell whether it still goes.

internal import CipherSQLite

/// A flush cannot carry out one of the deletions, so that all of them wait.
struct DeletionsMustWait: Error {
  /// Of the objects that can be judged by themselves.
  let holds: [DeletionHold]
}

/// An object that cannot be deleted because of others that stay.
struct DeletionHold {
  enum Reason {
    /// A deny rule: the relationship has a member that stays.
    case denial(RelationshipMapping)
    /// A required to-one of other objects, one of which refers to the object.
    case requirement(EntityMapping, slot: Int)
  }

  /// Its own entity.
  let entity: EntityMapping
  let id: Int64
  let reason: Reason

  /// The entity of the objects that hold it.
  var holder: EntityMapping {
    switch reason {
    case .denial(let relationship): relationship.destination
    case .requirement(let entity, _): entity
    }
  }

  /// One for each of some objects of an entity.
  static func all(of entity: EntityMapping, ids: some Sequence<Int64>, reason: Reason) -> [DeletionHold] {
    Set(ids).map { DeletionHold(entity: entity, id: $0, reason: reason) }
  }
}
