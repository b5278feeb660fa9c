// Fetches by names, in a store that was opened without classes.

public import Foundation

extension ObjectContext {
  /// A fetch of all objects of an entity, to be narrowed down, in a store that was opened without classes:
  ///
  /// ```swift
  /// let found = try context.fetch(entity: "Status")
  ///   .where("user.name == %@ AND text CONTAINS %@", "Binger", "Watch")
  ///   .sorted(byPath: "createdAt", .reverse)
  ///   .limit(20)
  ///   .all()
  /// ```
  ///
  /// The verbs throw ``StoreError/noEntity(name:similar:)`` for a name that the model does not have, and
  /// ``StoreError/openedWithClasses(entity:)`` in a store with classes.
  public func fetch(entity name: String) -> Fetch<DynamicObject> { Fetch(self, entityName: name) }
}

extension Fetch where Object == DynamicObject {
  // Not `by:`, or the compiler would take a mistyped key path of a class for a text, and speak of that.
  /// Sorted by a property, through to-ones if need be (`user.name`), after the keys given before. Strings sort by code
  /// points, nil comes first. What is wrong with a name is thrown by the verbs.
  public func sorted(byPath path: String, _ order: SortOrder = .forward) -> Fetch {
    var copy = self
    copy.parameters.sort.append(.init(names: path.names, isDescending: order == .reverse))
    return copy
  }

  /// Fetches a relationship of all results along with them, one query for each. A path of several
  /// relationships (`user.statuses`) fetches each of them.
  public func prefetch(_ path: String) -> Fetch {
    var copy = self
    copy.parameters.prefetch.append(path.names)
    return copy
  }

  /// The ids of the objects, in the order of a sorted fetch; no object is made. Each names the object's own entity: where others
  /// stand below the one that is asked for, a second statement asks for their names.
  public func ids() throws -> [DynamicID] {
    let entity = try known()
    guard entity.hasChildren else {
      return try rowIDs { DynamicID(entity: entity.name, rowID: $0, of: context.mark(of: $0)) }
    }
    let ids = try rowIDs { $0 }
    let map = context.maps[entity.index]
    let known = { id in map.find(id) ?? context.promised(map, id) }
    let unknown = ids.filter { known($0) == nil }
    let found = try ContextReader(context: context).entities(of: unknown, entity)
    let names = Dictionary(found.map { ($0.id, $0.entity.name) }) { first, _ in first }
    return ids.map { id in
      DynamicID(
        entity: names[id] ?? known(id)?.entity?.name ?? entity.name, rowID: id, of: context.mark(of: id))
    }
  }
}

extension String {
  /// The names of a path.
  fileprivate var names: [String] { split(separator: ".", omittingEmptySubsequences: false).map(String.init) }
}
