// Row id -> address of a live object: the table of one IdentityMap, which knows what the addresses are of.
//
// Rows mostly come in the order of their ids, so it is a hash table of blocks, each for eight ids that
// follow each other: ten bytes an object where a table of entries takes some fifty, no table to be copied as it
// grows but one of pointers to blocks, and a look-up next to the last one that hashes nothing.
// Where there are as many objects as a quarter of the ids from 0 on, as in most tables that are fetched whole, those ids have
// their addresses side by side instead (DenseObjects): mostly eight bytes an object, and 64 at most.
// What must hold of it at every moment is in ObjectTable+Invariants.

/// The addresses of the live objects of some ids. It looks at none of them.
@safe package struct ObjectTable: ~Copyable {
  package typealias Address = UnsafeMutableRawPointer

  /// The objects of eight ids; in the table only while it has one at least.
  @safe struct Block {
    /// The first of its ids, always a multiple of eight, and in the three bits below it how many of them have
    /// an object, less one.
    var header: Int64
    var slots: (Address?, Address?, Address?, Address?, Address?, Address?, Address?, Address?)

    /// A block that counts one object already, which the caller fills in.
    init(first: Int64) {
      header = first
      unsafe slots = (nil, nil, nil, nil, nil, nil, nil, nil)
    }

    var first: Int64 { header & ~7 }
  }
  typealias Pointer = UnsafeMutablePointer<Block>

  /// Open addressing. The capacity is a power of two, three quarters of it at most in use.
  @safe struct Table {
    /// The ids from 0 on, when they are mostly taken: no block has one of them then.
    var dense = DenseObjects()
    /// How many objects there are in all.
    var count = 0
    var blocks: UnsafeMutablePointer<Pointer?>
    var capacity: Int
    /// How many places are not free: those of the blocks, and of blocks that were removed.
    var used = 0
    /// Stands in the place of a block that was removed: no search ends with it.
    let removed: Pointer
    /// The block of the last look-up; nil when that one is gone.
    var last: Pointer?
    /// The first id of the block that the last search did not find, so that who puts an object in behind a look-up in vain need
    /// not search once more; while there is none, a number that is no multiple of eight.
    var missed: Int64 = 1
    /// An empty block that the next insertion takes, so that objects that come and go one by one cost no
    /// allocation.
    var spare: Pointer?
  }
  // Behind pointers, so that the hot loop of a fetch is free of checks for overlapping access. Blocks are
  // allocated in insert, freed in remove and deinit; the table in init and makeRoom, freed there and in deinit.
  // Nothing else has a pointer to them, and like its context the table is used by one task at a time.
  let table: UnsafeMutablePointer<Table>
  /// Whether another one allocated it.
  private let isLent: Bool

  package init() {
    isLent = false
    unsafe table = .allocate(capacity: 1)
    let removed = Pointer.allocate(capacity: 1)
    unsafe removed.initialize(to: Block(first: Int64.min))
    unsafe table.initialize(to: Table(blocks: Self.allocate(8), capacity: 8, removed: removed))
  }

  /// The same table once more. It is not kept alive: whoever makes this sees to it that the other one lives longer.
  init(lentBy other: borrowing ObjectTable) {
    isLent = true
    unsafe table = unsafe other.table
  }

  deinit {
    guard !isLent else { return }
    unsafe table.pointee.dense.free()
    unsafe blocks.forEach { unsafe $0.deallocate() }
    unsafe table.pointee.removed.deallocate()
    unsafe table.pointee.spare?.deallocate()
    unsafe table.pointee.blocks.deallocate()
    unsafe table.deallocate()
  }

  private static func allocate(_ capacity: Int) -> UnsafeMutablePointer<Pointer?> {
    let blocks = UnsafeMutablePointer<Pointer?>.allocate(capacity: capacity)
    unsafe blocks.initialize(repeating: nil, count: capacity)
    return unsafe blocks
  }

  // MARK: Use

  /// The address of `key`.
  @inline(__always) package func find(_ key: Int64) -> Address? {
    if unsafe table.pointee.dense.covers(key) { return unsafe table.pointee.dense.find(key) }
    return unsafe block(of: key).flatMap { unsafe slot($0, key).pointee }
  }

  /// Where the addresses of ids are that are mostly taken, for as long as the table is: for who looks many up.
  var dense: UnsafeMutablePointer<DenseObjects> {
    // The table's first property.
    unsafe UnsafeMutableRawPointer(table).assumingMemoryBound(to: DenseObjects.self)
  }

  /// Puts an address in.
  /// - Returns: The one that the key had, if any.
  @inline(__always) package func insert(_ address: Address, for key: Int64) -> Address? {
    if unsafe table.pointee.dense.covers(key) {
      let former = unsafe table.pointee.dense.put(address, key)
      if unsafe former == nil { unsafe table.pointee.count &+= 1 }
      return unsafe former
    }
    guard let block = unsafe block(of: key) else {
      unsafe insertApart(address, for: key)
      return nil
    }
    let slot = unsafe slot(block, key)
    let former = unsafe slot.pointee
    if unsafe former == nil {
      unsafe block.pointee.header &+= 1
      unsafe table.pointee.count &+= 1
    }
    unsafe slot.pointee = unsafe address
    return unsafe former
  }

  /// The same for a key that has no block.
  private func insertApart(_ address: Address, for key: Int64) {
    unsafe table.pointee.count &+= 1
    if becomesDense(for: key) {
      _ = unsafe table.pointee.dense.put(address, key)
    } else {
      unsafe slot(addBlock(of: key), key).pointee = unsafe address
    }
  }

  /// Removes `key` if it leads to `address`.
  package func remove(_ key: Int64, _ address: Address) {
    if unsafe table.pointee.dense.covers(key) {
      guard unsafe table.pointee.dense.find(key) == address else { return }
      _ = unsafe table.pointee.dense.put(nil, key)
      unsafe table.pointee.count &-= 1
      endDenseIfEmptied()
      return
    }
    guard let block = unsafe block(of: key) else { return }
    let slot = unsafe slot(block, key)
    guard unsafe slot.pointee == address else { return }
    unsafe slot.pointee = nil
    unsafe table.pointee.count &-= 1
    defer { endDenseIfEmptied() }
    if unsafe block.pointee.header & 7 == 0 {
      unsafe removeBlock(block)
    } else {
      unsafe block.pointee.header &-= 1
    }
  }

  /// All addresses, in no order.
  package var all: [Address] {
    let dense = unsafe table.pointee.dense
    let first = unsafe (0..<Int64(dense.capacity)).compactMap { unsafe dense.find($0) }
    return unsafe first
      + blocks.flatMap { block in unsafe (0..<8).compactMap { unsafe slot(block, $0).pointee } }
  }

  /// Whether there are none.
  package var isEmpty: Bool { unsafe table.pointee.count == 0 }

  // MARK: Ids that are mostly taken

  /// Gives all ids up to `key` their own places, where there are a quarter as many objects at least, whatever their ids are.
  /// - Returns: Whether it did.
  private func becomesDense(for key: Int64) -> Bool {
    guard let places = DenseObjects.places(for: key),
      unsafe places <= UInt64(clamping: table.pointee.count) &* 4
    else { return false }
    let old = unsafe Int64(table.pointee.dense.capacity)
    unsafe table.pointee.dense.grow(to: places)
    for first in stride(from: old, to: Int64(places), by: 8) {
      guard let block = unsafe search(first) else { continue }
      for key in first..<first + 8 {
        if let address = unsafe slot(block, key).pointee { _ = unsafe table.pointee.dense.put(address, key) }
      }
      unsafe removeBlock(block)
    }
    return true
  }

  /// Takes the places away where there is one object to eight of them, no more: half of those have gone then that there were
  /// at least when they were made, so that who looks rows up one by one beside many others makes them once, and not each time.
  @inline(__always) private func endDenseIfEmptied() {
    if unsafe table.pointee.dense.capacity > UInt64(clamping: table.pointee.count) &* 8 { endDense() }
  }

  private func endDense() {
    var dense = unsafe table.pointee.dense
    unsafe table.pointee.dense = DenseObjects()
    for key in 0..<Int64(dense.capacity) {
      guard let address = unsafe dense.find(key) else { continue }
      if let block = unsafe block(of: key) {
        unsafe block.pointee.header &+= 1
        unsafe slot(block, key).pointee = unsafe address
      } else {
        unsafe slot(addBlock(of: key), key).pointee = unsafe address
      }
    }
    dense.free()
  }

  // MARK: Blocks

  @inline(__always) func slot(_ block: Pointer, _ key: Int64) -> UnsafeMutablePointer<Address?> {
    // A tuple's elements of one type lie in a row.
    let slots =
      unsafe UnsafeMutableRawPointer(block) + MemoryLayout.offset(of: \Block.slots).unsafelyUnwrapped
    return unsafe slots.assumingMemoryBound(to: Address?.self) + Int(truncatingIfNeeded: key & 7)
  }

  @inline(__always) private func block(of key: Int64) -> Pointer? {
    let first = key & ~7
    if let last = unsafe table.pointee.last, unsafe last.pointee.first == first { return unsafe last }
    return unsafe table.pointee.missed == first ? nil : search(first)
  }

  func search(_ first: Int64) -> Pointer? {
    var probe = unsafe Probe(first, table.pointee.capacity)
    while let block = unsafe table.pointee.blocks[probe.index] {
      // The lowest ids have the number of the block that stands for removed ones.
      if unsafe block.pointee.first == first, unsafe block != table.pointee.removed {
        unsafe table.pointee.last = unsafe block
        return unsafe block
      }
      probe.advance()
    }
    unsafe table.pointee.missed = first
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
    unsafe (0..<table.pointee.capacity).compactMap { index in
      unsafe table.pointee.blocks[index].flatMap { unsafe $0 == table.pointee.removed ? nil : $0 }
    }
  }

  private func addBlock(of key: Int64) -> Pointer {
    if unsafe (table.pointee.used &+ 1) &* 4 > table.pointee.capacity &* 3 { makeRoom() }
    let block = unsafe table.pointee.spare ?? .allocate(capacity: 1)
    unsafe table.pointee.spare = nil
    unsafe block.initialize(to: Block(first: key & ~7))
    unsafe place(block)
    unsafe table.pointee.last = unsafe block
    unsafe table.pointee.missed = 1
    return unsafe block
  }

  private func place(_ block: Pointer) {
    var probe = unsafe Probe(block.pointee.first, table.pointee.capacity)
    while let other = unsafe table.pointee.blocks[probe.index], unsafe other != table.pointee.removed {
      probe.advance()
    }
    if unsafe table.pointee.blocks[probe.index] == nil { unsafe table.pointee.used &+= 1 }
    unsafe table.pointee.blocks[probe.index] = unsafe block
  }

  private func removeBlock(_ block: Pointer) {
    var probe = unsafe Probe(block.pointee.first, table.pointee.capacity)
    while unsafe table.pointee.blocks[probe.index] != block { probe.advance() }
    unsafe table.pointee.blocks[probe.index] = unsafe table.pointee.removed
    if unsafe table.pointee.last == block { unsafe table.pointee.last = nil }
    if unsafe table.pointee.spare == nil {
      unsafe table.pointee.spare = unsafe block
    } else {
      unsafe block.deallocate()
    }
  }

  /// Places all blocks anew, in a larger table unless half of it is places of removed ones.
  private func makeRoom() {
    let (old, oldCapacity, removed) = unsafe (
      table.pointee.blocks, table.pointee.capacity, table.pointee.removed
    )
    var kept = 0
    for index in 0..<oldCapacity {
      if let block = unsafe old[index], unsafe block != removed { kept &+= 1 }
    }
    let capacity = oldCapacity * (kept * 8 > oldCapacity * 3 ? 2 : 1)
    unsafe table.pointee.blocks = unsafe Self.allocate(capacity)
    unsafe table.pointee.capacity = capacity
    unsafe table.pointee.used = 0
    for index in 0..<oldCapacity {
      if let block = unsafe old[index], unsafe block != removed { unsafe place(block) }
    }
    unsafe old.deallocate()
  }
}
