// The identity maps of one context, each made when it is first asked for: a context that writes one row needs one of them,
// however many entities the model has.

internal import CipherSQLite

/// One map for each entity; those of a family share the table of their root.
package final class IdentityMaps {
  /// What the maps are of, by index.
  private let entities: [EntityMapping]
  /// Makes the map of an entity. The second parameter is the map of its root; nil for an entity that is its own root.
  private let make: (EntityMapping, IdentityMap?) -> IdentityMap
  /// Knows the context that the maps are of; nil where there is none.
  private let former: FormerHost?
  // Unchecked exclusivity: asked for at each look-up, and never passed inout.
  /// Those that were asked for, by the index of the entity.
  @safe @exclusivity(unchecked) private var known: [IdentityMap?]

  /// Maps without a context.
  package convenience init(
    _ entities: [EntityMapping], make: @escaping (EntityMapping, IdentityMap?) -> IdentityMap
  ) {
    self.init(entities, former: nil, make: make)
  }

  init(
    _ entities: [EntityMapping], former: FormerHost?,
    make: @escaping (EntityMapping, IdentityMap?) -> IdentityMap
  ) {
    (self.entities, self.former, self.make) = (entities, former, make)
    known = [IdentityMap?](repeating: nil, count: entities.count)
  }

  /// The map of an entity, by the entity's index.
  package subscript(index: Int) -> IdentityMap { known[index] ?? made(index) }

  private func made(_ index: Int) -> IdentityMap {
    let entity = entities[index]
    let map = make(entity, entity.root === entity ? nil : self[entity.root.index])
    map.host = former?.host
    known[index] = map
    return map
  }

  /// How many entities there are.
  var count: Int { entities.count }

  /// The maps that were asked for. No other has an object.
  package var all: [IdentityMap] { known.compactMap { $0 } }

  /// All live objects, in no order.
  package var objects: [ManagedObject] { known.flatMap { $0?.all ?? [] } }
}
