// The identity maps of one context. Each is created on first use: a context that writes one row needs one
// map, however many entities the model has.

internal import CipherSQLite

/// One map per entity. The maps of an inheritance hierarchy share the table of the root entity's map.
package final class IdentityMaps {
  /// The entities, by index.
  private let entities: [EntityMapping]
  /// Creates the map of an entity. The second parameter is the map of its root entity; nil if the entity
  /// is its own root.
  private let make: (EntityMapping, IdentityMap?) -> IdentityMap
  /// Refers to the context of the maps; nil if there is none.
  private let former: FormerHost?
  // Unchecked exclusivity: read at each look-up, and never passed inout.
  /// The maps created so far, by the entity's index.
  @safe @exclusivity(unchecked) private var known: [IdentityMap?]

  /// Creates maps without a context.
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

  /// Returns the map of an entity, by the entity's index.
  package subscript(index: Int) -> IdentityMap { known[index] ?? made(index) }

  private func made(_ index: Int) -> IdentityMap {
    let entity = entities[index]
    let map = make(entity, entity.root === entity ? nil : self[entity.root.index])
    map.host = former?.host
    map.isTracked = isTracked
    known[index] = map
    return map
  }

  /// Whether reads of the objects are registered for observers.
  var isTracked = false {
    didSet {
      for map in all { map.isTracked = isTracked }
      for object in objects { object.setTracked(isTracked) }
    }
  }

  /// The number of entities.
  var count: Int { entities.count }

  /// The maps created so far. No other map has an object.
  package var all: [IdentityMap] { known.compactMap { $0 } }

  /// All live objects, in no particular order.
  package var objects: [ManagedObject] { known.flatMap { $0?.all ?? [] } }
}
