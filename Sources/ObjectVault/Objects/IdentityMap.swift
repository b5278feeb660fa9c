// Row id -> live object, one map per entity and context. Open addressing on one integer: a look-up costs a
// few nanoseconds, where Swift's seeded hashing takes tens.

/// A map that does not keep its objects alive: each removes itself in deinit.
final class IdentityMap {
  private struct Entry {
    var key: Int64
    var object: Unmanaged<ManagedObject>?
  }
  // Behind pointers, so that the hot loop of a fetch is free of checks for overlapping access. Allocated in
  // init and resize, freed in resize and deinit.
  private struct Table {
    var entries: UnsafeMutablePointer<Entry>
    var capacity: Int
    var count: Int
  }
  private let table: UnsafeMutablePointer<Table>
  // Never a row id: SQLite's go up from 1, temporary ones down from -1.
  private static let empty = Int64.min

  init() {
    table = .allocate(capacity: 1)
    table.initialize(to: Table(entries: Self.allocate(16), capacity: 16, count: 0))
  }

  deinit {
    table.pointee.entries.deallocate()
    table.deallocate()
  }

  private static func allocate(_ capacity: Int) -> UnsafeMutablePointer<Entry> {
    let entries = UnsafeMutablePointer<Entry>.allocate(capacity: capacity)
    entries.initialize(repeating: Entry(key: empty, object: nil), count: capacity)
    return entries
  }

  // Blocks of 64 consecutive ids are spread by Fibonacci hashing and lie together inside: rows mostly come in
  // the order of their ids, and then the table is walked through and not jumped about in.
  @inline(__always) private func home(_ key: Int64, _ mask: Int) -> Int {
    let block = (UInt64(bitPattern: key) >> 6) &* 0x9E37_79B9_7F4A_7C15
    return (Int(truncatingIfNeeded: block >> 26) << 6 | Int(truncatingIfNeeded: key & 63)) & mask
  }

  @inline(__always) func find(_ key: Int64) -> ManagedObject? {
    let (entries, mask) = (table.pointee.entries, table.pointee.capacity &- 1)
    var index = home(key, mask)
    while true {
      let entry = entries[index]
      // Unretained: an object removes itself here in deinit, so what is found is alive.
      if entry.key == key { return entry.object?.takeUnretainedValue() }
      if entry.key == Self.empty { return nil }
      index = (index &+ 1) & mask
    }
  }

  /// The object of `key`, or the place that ``fill(_:_:_:)`` takes for it: one walk for both.
  @inline(__always) func findOrPlace(_ key: Int64) -> (object: ManagedObject?, place: Int) {
    if (table.pointee.count &+ 1) &* 4 > table.pointee.capacity &* 3 { resize(table.pointee.capacity * 2) }
    let (entries, mask) = (table.pointee.entries, table.pointee.capacity &- 1)
    var index = home(key, mask)
    while true {
      let entry = entries[index]
      if entry.key == key { return (entry.object?.takeUnretainedValue(), index) }
      if entry.key == Self.empty { return (nil, index) }
      index = (index &+ 1) & mask
    }
  }

  /// Puts an object at the place that ``findOrPlace(_:)`` gave last.
  @inline(__always) func fill(_ place: Int, _ key: Int64, _ object: ManagedObject) {
    if table.pointee.entries[place].key == Self.empty { table.pointee.count &+= 1 }
    table.pointee.entries[place] = Entry(key: key, object: .passUnretained(object))
  }

  func insert(_ object: ManagedObject, for key: Int64) { fill(findOrPlace(key).place, key, object) }

  /// Removes `key` if it leads to `object`.
  func remove(_ key: Int64, object: Unmanaged<ManagedObject>) {
    let (entries, mask) = (table.pointee.entries, table.pointee.capacity &- 1)
    var hole = home(key, mask)
    while entries[hole].key != key {
      if entries[hole].key == Self.empty { return }
      hole = (hole &+ 1) & mask
    }
    guard entries[hole].object?.toOpaque() == object.toOpaque() else { return }
    table.pointee.count &-= 1
    // Move back what the hole would cut off from its place.
    var next = (hole &+ 1) & mask
    while entries[next].key != Self.empty {
      let start = home(entries[next].key, mask)
      if (next &- start) & mask >= (next &- hole) & mask {
        entries[hole] = entries[next]
        hole = next
      }
      next = (next &+ 1) & mask
    }
    entries[hole] = Entry(key: Self.empty, object: nil)
  }

  /// All live objects.
  var all: [ManagedObject] {
    (0..<table.pointee.capacity).compactMap { table.pointee.entries[$0].object?.takeUnretainedValue() }
  }

  private func resize(_ capacity: Int) {
    let old = table.pointee
    let entries = Self.allocate(capacity)
    for index in 0..<old.capacity where old.entries[index].key != Self.empty {
      var place = home(old.entries[index].key, capacity - 1)
      while entries[place].key != Self.empty { place = (place &+ 1) & (capacity - 1) }
      entries[place] = old.entries[index]
    }
    old.entries.deallocate()
    table.pointee.entries = entries
    table.pointee.capacity = capacity
  }
}
