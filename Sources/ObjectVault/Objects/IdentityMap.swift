// Row id -> live object, one map per entity and context. Open addressing on one integer: a look-up costs a
// few nanoseconds, where Swift's seeded hashing takes tens.

struct IdentityMap {
  private var keys: [Int64] = []
  private var objects: [Unmanaged<ManagedObject>?] = []
  private(set) var count = 0
  // Never a row id: SQLite's go up from 1, temporary ones down from -1.
  private static let empty = Int64.min

  // Fibonacci hashing: consecutive ids spread over the table.
  @inline(__always) private func slot(_ key: Int64) -> Int {
    Int(truncatingIfNeeded: (UInt64(bitPattern: key) &* 0x9E37_79B9_7F4A_7C15) >> 20) & (keys.count - 1)
  }

  func find(_ key: Int64) -> ManagedObject? {
    guard count > 0 else { return nil }
    var index = slot(key)
    while keys[index] != Self.empty {
      // Unretained: an object removes itself here in deinit, so what is found is alive.
      if keys[index] == key { return objects[index]?.takeUnretainedValue() }
      index = (index + 1) & (keys.count - 1)
    }
    return nil
  }

  mutating func reserve(_ more: Int) {
    var capacity = max(16, keys.count)
    while capacity * 3 / 4 < count + more { capacity *= 2 }
    if capacity > keys.count { resize(capacity) }
  }

  mutating func insert(_ object: ManagedObject, for key: Int64) {
    if (count + 1) * 4 > keys.count * 3 { resize(max(16, keys.count * 2)) }
    var index = slot(key)
    while keys[index] != Self.empty && keys[index] != key { index = (index + 1) & (keys.count - 1) }
    if keys[index] == Self.empty { count += 1 }
    keys[index] = key
    objects[index] = Unmanaged.passUnretained(object)
  }

  /// Removes `key` if it leads to `object`.
  mutating func remove(_ key: Int64, object: Unmanaged<ManagedObject>) {
    guard count > 0 else { return }
    var hole = slot(key)
    while keys[hole] != key {
      if keys[hole] == Self.empty { return }
      hole = (hole + 1) & (keys.count - 1)
    }
    guard objects[hole]?.toOpaque() == object.toOpaque() else { return }
    count -= 1
    // Move back what the hole would cut off from its place.
    var next = (hole + 1) & (keys.count - 1)
    while keys[next] != Self.empty {
      let home = slot(keys[next])
      if (next &- home) & (keys.count - 1) >= (next &- hole) & (keys.count - 1) {
        keys[hole] = keys[next]
        objects[hole] = objects[next]
        hole = next
      }
      next = (next + 1) & (keys.count - 1)
    }
    keys[hole] = Self.empty
    objects[hole] = nil
  }

  /// All live objects.
  var all: [ManagedObject] { objects.compactMap { $0?.takeUnretainedValue() } }

  private mutating func resize(_ capacity: Int) {
    let (oldKeys, oldObjects) = (keys, objects)
    keys = [Int64](repeating: Self.empty, count: capacity)
    objects = [Unmanaged<ManagedObject>?](repeating: nil, count: capacity)
    for (key, object) in zip(oldKeys, oldObjects) where key != Self.empty {
      var index = slot(key)
      while keys[index] != Self.empty { index = (index + 1) & (capacity - 1) }
      keys[index] = key
      objects[index] = object
    }
  }
}
