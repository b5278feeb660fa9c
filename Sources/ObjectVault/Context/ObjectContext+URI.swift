// Finds objects by the URIs of their ids.

public import Foundation

extension ObjectContext {
  /// Returns the object that a URI names, with its row in memory.
  ///
  /// ```swift
  /// let link = try await store.read { try $0.fetch(User.self).one().id.uri }
  /// if let link, let found = try context.existing(link) as? User {
  ///   found.screenName = "binger"
  /// }
  /// ```
  ///
  /// The class of the object is that of its row, also where the URI names a parent of its entity. In a store
  /// that was opened without classes it is a ``DynamicObject``.
  /// - Parameter uri: A URI from ``ObjectID/uri`` or ``DynamicID/uri``.
  /// - Returns: The object; nil if there is no such row, or if the object is deleted.
  /// - Throws: ``StoreError/uriRefused(uri:reason:)``, ``StoreError/idOfAnotherStore(entity:rowID:)``,
  ///   ``StoreError/noEntity(name:similar:)``; ``SQLError``.
  public func existing(_ uri: URL) throws -> ManagedObject? {
    let id = try DynamicID(uri: uri)
    // The store first: the entities of another store are its own.
    let row = try core.mark.row(of: id)
    return try existing(core.mapping.known(id.entity), row)
  }
}
