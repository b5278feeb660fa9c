// Maps row ids to the addresses of live objects. The type of the objects is that of the IdentityMap that
// uses the table.
//
// Rows mostly come in the order of their ids, so this is a hash table of blocks, each for eight
// consecutive ids. That takes ten bytes per object, where a table of single entries takes about fifty;
// growing copies only the pointers to the blocks, and a look-up in the block of the last look-up hashes
// nothing. The addresses of the ids from 0 on are in a plain array instead (DenseObjects), if the table
// has at least one object for every four places of that array. Most tables that are fetched whole have
// one. It takes 8 to 16 bytes per object while hardly any id is missing, and 64 at most, because it is
// freed when there is less than one object per eight places. The invariants are in
// ObjectTable+Invariants.

/// The addresses of live objects by id. It reads none of the objects.
@safe package struct ObjectTable: ~Copyable {
  package typealias Address = UnsafeMutableRawPointer

  /// The objects of eight ids. A block is in the table only while it has at least one object.
  @safe struct Block {
    /// The first of its ids, always a multiple of eight. The three lowest bits are the number of its ids
    /// that have an object, minus one.
    var header: Int64
    var slots: (Address?, Address?, Address?, Address?, Address?, Address?, Address?, Address?)

    /// Creates a block that already counts one object, which the caller stores.
    init(first: Int64) {
      header = first
      unsafe slots = (nil, nil, nil, nil, nil, nil, nil, nil)
    }

    var first: Int64 { header & ~7 }
  }
  typealias Pointer = UnsafeMutablePointer<Block>

  /// The state of the table. It uses open addressing. The capacity is a power of two, and at most three
  /// quarters of the places are in use.
  @safe struct Table {
    /// The array for the ids from 0 on; empty while the table has too few objects for one. No block has
    /// an id that has a place in the array.
    var dense = DenseObjects()
    /// The number of all objects.
    var count = 0
    var blocks: UnsafeMutablePointer<Pointer?>
    var capacity: Int
    /// The number of places that are not free: places of blocks and of removed blocks.
    var used = 0
    /// Marks the place of a removed block. A search continues after it.
    let removed: Pointer
    /// The block of the last look-up; nil if it was removed.
    var last: Pointer?
    /// The first id of the block that the last failed search was for, so that an insertion after a failed
    /// look-up need not search again. 1, which is the first id of no block, if there was no such search
    /// since a block was last added.
    var missed: Int64 = 1
    /// An empty block that the next insertion uses, so that objects that are created and released one by
    /// one cost no allocation.
    var spare: Pointer?
  }
  // Allocated separately, so that the hot loop of a fetch has no exclusivity checks of Swift. The Table
  // is allocated in init and freed in deinit. Its array of pointers is allocated in init and makeRoom,
  // and freed in makeRoom and deinit. Blocks are allocated in addBlock, and freed in removeBlock and
  // deinit. Only tables with `isLent` and the users of `dense` have pointers to these, and this table
  // outlives both. Like its context, the table is used by one task at a time.
  let table: UnsafeMutablePointer<Table>
  /// Whether another ObjectTable allocated and frees the table.
  private let isLent: Bool

  package init() {
    isLent = false
    unsafe table = .allocate(capacity: 1)
    let removed = Pointer.allocate(capacity: 1)
    unsafe removed.initialize(to: Block(first: Int64.min))
    unsafe table.initialize(to: Table(blocks: Self.allocate(8), capacity: 8, removed: removed))
  }

  /// Creates a second reference to the same table. It does not keep the table alive: the caller must make
  /// sure that `other` lives longer.
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

  /// Returns the address of an id; nil if the id has no object.
  @inline(__always) package func find(_ key: Int64) -> Address? {
    if unsafe table.pointee.dense.covers(key) { return unsafe table.pointee.dense.find(key) }
    return unsafe block(of: key).flatMap { unsafe slot($0, key).pointee }
  }

  /// A pointer to the part of the table with densely used ids, valid as long as the table: for callers
  /// that make many look-ups.
  var dense: UnsafeMutablePointer<DenseObjects> {
    // `dense` is the first property of Table.
    unsafe UnsafeMutableRawPointer(table).assumingMemoryBound(to: DenseObjects.self)
  }

  /// Stores an address for an id.
  /// - Returns: The former address of the id, if any.
  @inline(__always) package func insert(_ address: Address, for key: Int64) -> Address? {
    if unsafe table.pointee.dense.covers(key) {
      let former = unsafe table.pointee.dense.put(address, key)
      if unsafe former == nil { unsafe table.pointee.count &+= 1 }
      return unsafe former
    }
    guard let block = unsafe block(of: key) else {
      unsafe insertWithoutBlock(address, for: key)
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

  /// Stores an address for an id that has no block.
  private func insertWithoutBlock(_ address: Address, for key: Int64) {
    unsafe table.pointee.count &+= 1
    if growsDensePart(for: key) {
      _ = unsafe table.pointee.dense.put(address, key)
    } else {
      unsafe slot(addBlock(of: key), key).pointee = unsafe address
    }
  }

  /// Removes an id if it belongs to `address`.
  package func remove(_ key: Int64, _ address: Address) {
    if unsafe table.pointee.dense.covers(key) {
      guard unsafe table.pointee.dense.find(key) == address else { return }
      _ = unsafe table.pointee.dense.put(nil, key)
      unsafe table.pointee.count &-= 1
      endDenseIfSparse()
      return
    }
    guard let block = unsafe block(of: key) else { return }
    let slot = unsafe slot(block, key)
    guard unsafe slot.pointee == address else { return }
    unsafe slot.pointee = nil
    unsafe table.pointee.count &-= 1
    defer { endDenseIfSparse() }
    if unsafe block.pointee.header & 7 == 0 {
      unsafe removeBlock(block)
    } else {
      unsafe block.pointee.header &-= 1
    }
  }

  /// All addresses, in no particular order.
  package var all: [Address] {
    let dense = unsafe table.pointee.dense
    let first = unsafe (0..<Int64(dense.capacity)).compactMap { unsafe dense.find($0) }
    return unsafe first
      + blocks.flatMap { block in unsafe (0..<8).compactMap { unsafe slot(block, $0).pointee } }
  }

  /// Whether there are no objects.
  package var isEmpty: Bool { unsafe table.pointee.count == 0 }

  // MARK: Dense ids

  /// Enlarges the dense part so that it has a place for `key`, if the number of all objects is at least a
  /// quarter of the new capacity, and moves the objects of all ids below that capacity into it.
  /// - Returns: Whether the dense part was enlarged.
  private func growsDensePart(for key: Int64) -> Bool {
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

  /// Ends the dense part when there are fewer objects than one per eight places. It began with at least
  /// one per four places, so at least half of those objects were removed meanwhile. Thus inserting and
  /// removing single objects does not create and end it again and again.
  @inline(__always) private func endDenseIfSparse() {
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
    // The elements of a tuple of one type are contiguous in memory.
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
      // The lowest possible ids have the same first id as the marker of removed blocks.
      if unsafe block.pointee.first == first, unsafe block != table.pointee.removed {
        unsafe table.pointee.last = unsafe block
        return unsafe block
      }
      probe.advance()
    }
    unsafe table.pointee.missed = first
    return nil
  }

  // The places that a search for a block visits, in order. The number of a block is its first id / 8.
  // Blocks with consecutive numbers begin at adjacent places, so that a fetch by ascending ids walks
  // through the table. Blocks that collide continue at different places, by the higher bits of their
  // numbers.
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

  /// Inserts all blocks again, without the places of removed blocks. If at least half of the used places
  /// are of removed blocks, the capacity stays; otherwise it doubles.
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
