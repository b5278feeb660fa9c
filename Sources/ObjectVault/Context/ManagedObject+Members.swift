// Adding to a to-many and taking out of it, one object at a time.

internal import CipherSQLite

extension Persistable where Self: ManagedObject {
  /// Adds an object to a to-many, in a time that does not depend on how many members there are.
  ///
  /// ```swift
  /// user.add(status, to: \.statuses)
  /// ```
  /// `user.statuses.insert(status)` means the same, and copies the set, as Swift does with a value that a property
  /// returns: fine for some members, slow for thousands in a loop. `status.user = user` is as fast as this. Of an ordered
  /// relationship the object goes to the end; one that is a member stays where it is.
  ///
  /// What cannot be is told as by a setter: see ``ObjectContext/faultErrors``.
  public func add<Members: RelatedMembers>(
    _ object: Members.Member, to path: ReferenceWritableKeyPath<Self, Members>
  ) {
    change(path) { $0.addMember(object, $1) }
  }

  /// Takes an object out of a to-many, in a time that does not depend on how many members there are. An object that
  /// is no member stays as it is. The order of the others stays.
  ///
  /// Of a many-to-many the link to an object that is to be deleted is removed, too: it may be what denies the deletion. The property
  /// does not show such an object, so that writing to the property leaves the link.
  public func remove<Members: RelatedMembers>(
    _ object: Members.Member, from path: ReferenceWritableKeyPath<Self, Members>
  ) {
    change(path) { $0.removeMember(object, $1) }
  }

  private func change(
    _ path: PartialKeyPath<Self>, _ body: (ManagedObject, RelationshipMapping) -> Void
  ) {
    switch KeyPathResolver.resolve(path, root: Self.self) {
    case .success(let names):
      let properties = ClassDescription.of(Self.self).properties
      guard names.count == 1, let slot = properties.first(where: { $0.name == names[0] })?.slot,
        let (relationship, _) = related(slot)
      else { return }
      body(self, relationship)
    case .failure(let error):
      context?.note(StoreError.predicate(PredicateError(error.description, entity: "\(Self.self)")))
    }
  }
}
