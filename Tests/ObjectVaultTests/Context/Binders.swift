// Binders, leaves and tacks: a cascade from a binder to its leaves, and a deny rule from a leaf to its
// tacks.

import ObjectVault

final class Binder: ManagedObject {
  @Attribute var number: Int = 0
  @ToMany(inverse: \Leaf.binder, onDelete: .cascade) var leaves: Set<Leaf>
}
final class Leaf: ManagedObject {
  @Attribute var number: Int = 0
  @ToOne var binder: Binder?
  @ToMany(inverse: \Tack.leaf, onDelete: .deny) var tacks: Set<Tack>
}
final class Tack: ManagedObject {
  @Attribute var number: Int = 0
  @ToOne var leaf: Leaf?
}

let binders = Schema {
  Entity(Binder.self)
  Entity(Leaf.self)
  Entity(Tack.self)
}
