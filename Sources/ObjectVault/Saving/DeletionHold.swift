// What keeps deletions waiting inside of a write. A flush that is denied one of them makes no plan of all again while it is known
// that another object still holds one: else each change beside many denied deletions would look at all of them.

internal import CipherSQLite

/// Something that a flush must not do as yet keeps deletions from being carried out: all of them wait.
struct DeletionsMustWait: Error {
  /// The objects that are known to be held, as far as it can be said of each by itself.
  let holds: [DeletionHold]
}

/// An object that cannot be deleted because of others that stay.
struct DeletionHold {
  enum Reason {
    /// The rule of a relationship: as long as it leads to somebody.
    case denial(RelationshipMapping)
    /// A to-one that others must have: as long as it leads to the object.
    case requirement(EntityMapping, slot: Int)
  }

  /// Its own entity.
  let entity: EntityMapping
  let id: Int64
  let reason: Reason

  /// The entity of those who hold it.
  var holder: EntityMapping {
    switch reason {
    case .denial(let relationship): relationship.destination
    case .requirement(let entity, _): entity
    }
  }
}
