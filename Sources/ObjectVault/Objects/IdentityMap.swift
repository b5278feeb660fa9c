// Row id -> live object, one map per entity and context.
//
// Rows mostly come in the order of their ids, so the map is a hash table of blocks, each for eight ids that
// follow each other: ten bytes an object where a table of entries takes some fifty, no table to be copied as it
// grows but one of pointers to blocks, and a look-up next to the last one that hashes nothing.

/// A map that does not keep its objects alive: each removes itself in deinit.
final class IdentityMap {
  private typealias Slot = Unmanaged<ManagedObject>?

  /// The objects of eight ids; in the table only while it has one at least.
  private struct Block {
    /// The first of its ids, always a multiple of eight, and in the three bits below it how many of them have
    /// an object, less one.
    var header: Int64
    var slots: (Slot, Slot, Slot, Slot, Slot, Slot, Slot, Slot)

    /// A block that counts one object already, which the caller fills in.
    init(first: Int64) {
      header = first
      slots = (nil, nil, nil, nil, nil, nil, nil, nil)
    }

    var first: Int64 { header & ~7 }
  }
  private typealias Pointer = UnsafeMutablePointer<Block>

  /// Open addressing. The capacity is a power of two, three quarters of it at most in use.
  private struct Table {
    var blocks: UnsafeMutablePointer<Pointer?>
    var capacity: Int
    /// How many places are not free: those of the blocks, and of blocks that were removed.
    var used = 0
    /// Stands in the place of a block that was removed: no key leads to it.
    let removed: Pointer
    /// The block of the last look-up; nil when that one is gone.
    var last: Pointer?
    /// An empty block that the next insertion takes, so that objects that come and go one by one cost no
    /// allocation.
    var spare: Pointer?
  }
  // Behind pointers, so that the hot loop of a fetch is free of checks for overlapping access. Blocks are
  // allocated in insert, freed in remove and deinit; the table in init and makeRoom, freed there and in deinit.
  // Nothing outside of this class has a pointer, and like its context the map is used by one task at a time.
  private let table: UnsafeMutablePointer<Table>

  /// What its objects are of.
  let entity: EntityMapping
  /// The highest id that a save of this context gave to one of them.
  var highest: Int64 = 0
  /// Makes an object of the entity's class.
  let make: () -> ManagedObject
  /// The context that owns the map: set once, by it, and not retained.
  @exclusivity(unchecked) unowned(unsafe) var host: (any ObjectHost)?

  init(_ entity: EntityMapping, make: @escaping () -> ManagedObject) {
    self.entity = entity
    self.make = make
    table = .allocate(capacity: 1)
    let removed = Pointer.allocate(capacity: 1)
    removed.initialize(to: Block(first: Int64.min))
    table.initialize(to: Table(blocks: Self.allocate(8), capacity: 8, removed: removed))
  }

  deinit {
    for block in blocks { block.deallocate() }
    table.pointee.removed.deallocate()
    table.pointee.spare?.deallocate()
    table.pointee.blocks.deallocate()
    table.deallocate()
  }

  private static func allocate(_ capacity: Int) -> UnsafeMutablePointer<Pointer?> {
    let blocks = UnsafeMutablePointer<Pointer?>.allocate(capacity: capacity)
    blocks.initialize(repeating: nil, count: capacity)
    return blocks
  }

  // MARK: Use

  /// The live object of `key`.
  @inline(__always) func find(_ key: Int64) -> ManagedObject? {
    guard let block = block(of: key) else { return nil }
    // Unretained: an object removes itself here in deinit, so what is found is alive.
    return slot(block, key).pointee?.takeUnretainedValue()
  }

  /// Puts an object in. Another that had its key, such as a fault of a row that was not there yet, is invalid from then on:
  /// nothing would tell it that the map goes.
  @inline(__always) func insert(_ object: ManagedObject, for key: Int64) {
    if let block = block(of: key) {
      let slot = slot(block, key)
      if let former = slot.pointee?.takeUnretainedValue() {
        if former !== object {
          former.map = nil
          former.state = .invalid
        }
      } else {
        block.pointee.header &+= 1
      }
      slot.pointee = .passUnretained(object)
    } else {
      slot(addBlock(of: key), key).pointee = .passUnretained(object)
    }
  }

  /// Removes `key` if it leads to `object`.
  func remove(_ key: Int64, object: Unmanaged<ManagedObject>) {
    guard let block = block(of: key) else { return }
    let slot = slot(block, key)
    guard slot.pointee?.toOpaque() == object.toOpaque() else { return }
    slot.pointee = nil
    if block.pointee.header & 7 == 0 { removeBlock(block) } else { block.pointee.header &-= 1 }
  }

  /// All live objects, in no order.
  var all: [ManagedObject] {
    blocks.flatMap { block in
      (0..<8).compactMap { slot(block, $0).pointee?.takeUnretainedValue() }
    }
  }

  // MARK: Blocks

  @inline(__always) private func slot(_ block: Pointer, _ key: Int64) -> UnsafeMutablePointer<Slot> {
    // A tuple's elements of one type lie in a row.
    let slots = UnsafeMutableRawPointer(block) + MemoryLayout.offset(of: \Block.slots).unsafelyUnwrapped
    return slots.assumingMemoryBound(to: Slot.self) + Int(truncatingIfNeeded: key & 7)
  }

  @inline(__always) private func block(of key: Int64) -> Pointer? {
    if let last = table.pointee.last, last.pointee.first == key & ~7 { return last }
    return search(key & ~7)
  }

  private func search(_ first: Int64) -> Pointer? {
    var probe = Probe(first, table.pointee.capacity)
    while let block = table.pointee.blocks[probe.index] {
      if block.pointee.first == first {
        table.pointee.last = block
        return block
      }
      probe.advance()
    }
    return nil
  }

  // Blocks that follow each other lie side by side in the table, which makes a fetch by ascending ids walk
  // through it; what would then collide goes its own way by the higher bits of its number.
  private struct Probe {
    private let mask: UInt64
    private var rest: UInt64
    private var place: UInt64

    @inline(__always) init(_ first: Int64, _ capacity: Int) {
      mask = UInt64(capacity) &- 1
      rest = UInt64(bitPattern: first) >> 3
      place = rest & mask
    }

    var index: Int { Int(truncatingIfNeeded: place) }

    mutating func advance() {
      rest >>= 5
      place = (place &* 5 &+ rest &+ 1) & mask
    }
  }

  private var blocks: [Pointer] {
    (0..<table.pointee.capacity).compactMap { index in
      table.pointee.blocks[index].flatMap { $0 == table.pointee.removed ? nil : $0 }
    }
  }

  private func addBlock(of key: Int64) -> Pointer {
    if (table.pointee.used &+ 1) &* 4 > table.pointee.capacity &* 3 { makeRoom() }
    let block = table.pointee.spare ?? .allocate(capacity: 1)
    table.pointee.spare = nil
    block.initialize(to: Block(first: key & ~7))
    place(block)
    table.pointee.last = block
    return block
  }

  private func place(_ block: Pointer) {
    var probe = Probe(block.pointee.first, table.pointee.capacity)
    while let other = table.pointee.blocks[probe.index], other != table.pointee.removed { probe.advance() }
    if table.pointee.blocks[probe.index] == nil { table.pointee.used &+= 1 }
    table.pointee.blocks[probe.index] = block
  }

  private func removeBlock(_ block: Pointer) {
    var probe = Probe(block.pointee.first, table.pointee.capacity)
    while table.pointee.blocks[probe.index] != block { probe.advance() }
    table.pointee.blocks[probe.index] = table.pointee.removed
    if table.pointee.last == block { table.pointee.last = nil }
    if table.pointee.spare == nil { table.pointee.spare = block } else { block.deallocate() }
  }

  /// Places all blocks anew, in a larger table unless half of it is places of removed ones.
  private func makeRoom() {
    let (old, kept) = (table.pointee.blocks, blocks)
    let capacity = table.pointee.capacity * (kept.count * 8 > table.pointee.capacity * 3 ? 2 : 1)
    table.pointee.blocks = Self.allocate(capacity)
    table.pointee.capacity = capacity
    table.pointee.used = 0
    for block in kept { place(block) }
    old.deallocate()
  }
}
