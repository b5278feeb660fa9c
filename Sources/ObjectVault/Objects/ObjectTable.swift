// Row id -> address of a live object: the table of one IdentityMap, which knows what the addresses are of.
//
// Rows mostly come in the order of their ids, so it is a hash table of blocks, each for eight ids that
// follow each other: ten bytes an object where a table of entries takes some fifty, no table to be copied as it
// grows but one of pointers to blocks, and a look-up next to the last one that hashes nothing.
// What must hold of it at every moment is in ObjectTable+Invariants.

/// The addresses of the live objects of some ids. It looks at none of them.
package struct ObjectTable: ~Copyable {
  package typealias Address = UnsafeMutableRawPointer

  /// The objects of eight ids; in the table only while it has one at least.
  struct Block {
    /// The first of its ids, always a multiple of eight, and in the three bits below it how many of them have
    /// an object, less one.
    var header: Int64
    var slots: (Address?, Address?, Address?, Address?, Address?, Address?, Address?, Address?)

    /// A block that counts one object already, which the caller fills in.
    init(first: Int64) {
      header = first
      slots = (nil, nil, nil, nil, nil, nil, nil, nil)
    }

    var first: Int64 { header & ~7 }
  }
  typealias Pointer = UnsafeMutablePointer<Block>

  /// Open addressing. The capacity is a power of two, three quarters of it at most in use.
  struct Table {
    var blocks: UnsafeMutablePointer<Pointer?>
    var capacity: Int
    /// How many places are not free: those of the blocks, and of blocks that were removed.
    var used = 0
    /// Stands in the place of a block that was removed: no search ends with it.
    let removed: Pointer
    /// The block of the last look-up; nil when that one is gone.
    var last: Pointer?
    /// An empty block that the next insertion takes, so that objects that come and go one by one cost no
    /// allocation.
    var spare: Pointer?
  }
  // Behind pointers, so that the hot loop of a fetch is free of checks for overlapping access. Blocks are
  // allocated in insert, freed in remove and deinit; the table in init and makeRoom, freed there and in deinit.
  // Nothing else has a pointer to them, and like its context the table is used by one task at a time.
  let table: UnsafeMutablePointer<Table>

  package init() {
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

  /// The address of `key`.
  @inline(__always) package func find(_ key: Int64) -> Address? {
    block(of: key).flatMap { slot($0, key).pointee }
  }

  /// Puts an address in.
  /// - Returns: The one that the key had, if any.
  @inline(__always) package func insert(_ address: Address, for key: Int64) -> Address? {
    guard let block = block(of: key) else {
      slot(addBlock(of: key), key).pointee = address
      return nil
    }
    let slot = slot(block, key)
    let former = slot.pointee
    if former == nil { block.pointee.header &+= 1 }
    slot.pointee = address
    return former
  }

  /// Removes `key` if it leads to `address`.
  package func remove(_ key: Int64, _ address: Address) {
    guard let block = block(of: key) else { return }
    let slot = slot(block, key)
    guard slot.pointee == address else { return }
    slot.pointee = nil
    if block.pointee.header & 7 == 0 { removeBlock(block) } else { block.pointee.header &-= 1 }
  }

  /// All addresses, in no order.
  package var all: [Address] {
    blocks.flatMap { block in (0..<8).compactMap { slot(block, $0).pointee } }
  }

  // MARK: Blocks

  @inline(__always) func slot(_ block: Pointer, _ key: Int64) -> UnsafeMutablePointer<Address?> {
    // A tuple's elements of one type lie in a row.
    let slots = UnsafeMutableRawPointer(block) + MemoryLayout.offset(of: \Block.slots).unsafelyUnwrapped
    return slots.assumingMemoryBound(to: Address?.self) + Int(truncatingIfNeeded: key & 7)
  }

  @inline(__always) private func block(of key: Int64) -> Pointer? {
    if let last = table.pointee.last, last.pointee.first == key & ~7 { return last }
    return search(key & ~7)
  }

  func search(_ first: Int64) -> Pointer? {
    var probe = Probe(first, table.pointee.capacity)
    while let block = table.pointee.blocks[probe.index] {
      // The lowest ids have the number of the block that stands for removed ones.
      if block.pointee.first == first, block != table.pointee.removed {
        table.pointee.last = block
        return block
      }
      probe.advance()
    }
    return nil
  }

  // Blocks that follow each other lie side by side in the table, which makes a fetch by ascending ids walk
  // through it; what would then collide goes its own way by the higher bits of its number.
  struct Probe {
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

  var blocks: [Pointer] {
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
