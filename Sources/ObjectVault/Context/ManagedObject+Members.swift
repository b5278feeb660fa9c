// Adding single objects to a to-many, and removing them.

internal import CipherSQLite

extension Persistable where Self: ManagedObject {
  /// Adds an object to a to-many, in a time that does not depend on the number of members.
  ///
  /// ```swift
  /// user.add(status, to: \.statuses)
  /// ```
  /// `user.statuses.insert(status)` has the same effect, but copies the set, as Swift does with a value
  /// that a property returns: that is fast enough for a few members, but slow for thousands in a loop.
  /// `status.user = user` is as fast as this method. In an ordered relationship the object is appended;
  /// an object that is a member already keeps its place.
  ///
  /// Errors are reported as by a setter: see ``ObjectContext/faultErrors``.
  /// - Parameters:
  ///   - object: The object to add.
  ///   - path: The to-many.
  public func add<Members: RelatedMembers>(
    _ object: Members.Member, to path: ReferenceWritableKeyPath<Self, Members>
  ) {
    change(path, by: object, isAdded: true) { $0.addMember(object, $1) }
  }

  /// Removes an object from a to-many, in a time that does not depend on the number of members.
  ///
  /// An object that is no member stays as it is, and the other members keep their order. In a
  /// many-to-many, the link to an object that is marked for deletion is removed, too: that link may be
  /// what denies the deletion. Setting the property keeps such a link, because the property does not
  /// include objects that are marked for deletion.
  /// - Parameters:
  ///   - object: The object to remove.
  ///   - path: The to-many.
  public func remove<Members: RelatedMembers>(
    _ object: Members.Member, from path: ReferenceWritableKeyPath<Self, Members>
  ) {
    change(path, by: object, isAdded: false) { $0.removeMember(object, $1) }
  }

  private func change(
    _ path: PartialKeyPath<Self>, by object: ManagedObject, isAdded: Bool,
    _ body: (ManagedObject, RelationshipMapping) -> Void
  ) {
    switch KeyPathResolver.resolve(path, root: Self.self) {
    case .success(let names):
      let properties = ClassDescription.of(Self.self).properties
      guard names.count == 1, let slot = properties.first(where: { $0.name == names[0] })?.slot else {
        return
      }
      if isDraft { return changeDraft(object, slot, isAdded: isAdded) }
      guard let (relationship, _) = related(slot) else { return }
      body(self, relationship)
    case .failure(let error):
      context?.note(StoreError.predicate(PredicateError(error.description, entity: "\(Self.self)")))
    }
  }
}
