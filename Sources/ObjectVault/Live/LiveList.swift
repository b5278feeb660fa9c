// The list of a live request: what was read of each object, and the changes of some objects in it.

internal import CipherSQLite

/// The objects that a request has found, in its order. Each has an id, a version, sort keys and a value.
struct LiveList<Value: Sendable>: Sendable {
  struct Entry: Sendable {
    let id: Int64
    let version: Int64
    /// The values that it is sorted by; empty if the list is never changed in parts.
    let keys: [SQLValue]
    let value: Value
  }

  private(set) var ids: [Int64] = []
  private(set) var versions: [Int64] = []
  private(set) var keys: [[SQLValue]] = []
  private(set) var values: [Value] = []

  /// Whether only the rows of the objects themselves were read. If other rows were read, an object may
  /// differ although its own row is unchanged.
  var isAlone = true

  var count: Int { ids.count }

  init() {}

  private init(capacity: Int) {
    ids.reserveCapacity(capacity)
    versions.reserveCapacity(capacity)
    keys.reserveCapacity(capacity)
    values.reserveCapacity(capacity)
  }

  init(_ entries: [Entry], isAlone: Bool) {
    self.init(capacity: entries.count)
    self.isAlone = isAlone
    for entry in entries { append(entry) }
  }

  /// Returns how this list differs from a former one.
  /// - Parameter versionsTell: Whether an unchanged version of a row proves that the value is unchanged.
  func difference(from former: LiveList, versionsTell: Bool) -> LiveDifference {
    LiveDifference(from: former.ids, to: ids) { old, new in
      areEqual(former.values[old], and: values[new]).map { !$0 }
        ?? (!versionsTell || former.versions[old] != versions[new])
    }
  }

  /// Returns the list with other entries for some objects, and the difference from this one.
  /// - Parameters:
  ///   - changed: The ids of the objects, ascending.
  ///   - found: The new entries of those objects that the request still finds, in its order.
  ///   - limit: The highest number of objects.
  /// - Returns: nil if objects that are not in the list may have moved into its window.
  func replacing(
    _ changed: [Int64], by found: [Entry], limit: Int?, in order: EvaluatedOrder
  ) -> (LiveList, LiveDifference)? {
    let removed = positions(of: changed)
    let places = found.map { place(of: $0.keys, in: order) }
    var list = LiveList(capacity: count + found.count)
    list.isAlone = isAlone
    var (next, nextRemoved) = (0, 0)
    var added: [Int] = []
    for index in 0...count {
      while next < found.count, places[next] == index {
        added.append(list.count)
        list.append(found[next])
        next += 1
      }
      guard index < count else { break }
      if nextRemoved < removed.count, removed[nextRemoved] == index {
        nextRemoved += 1
      } else {
        list.append(self, at: index)
      }
    }
    guard let limit else { return (list, list.difference(from: self, removed: removed, added: added)) }
    if count == limit, let last = keys.last {
      // The former list was full, and the objects after its end are unknown. Such an object may come before
      // an entry that is now after the former end, so these entries are removed.
      while let keys = list.keys.last, order.compare(keys, with: last) > 0 { list.removeLast() }
      guard list.count >= limit else { return nil }
    }
    while list.count > limit { list.removeLast() }
    return (list, list.difference(from: self, versionsTell: true))
  }

  /// Returns the difference from a list in which objects were removed and added.
  private func difference(from former: LiveList, removed: [Int], added: [Int]) -> LiveDifference {
    var difference = LiveDifference()
    let old = Dictionary(
      removed.enumerated().map { (former.ids[$1], (rank: $1 - $0, index: $1)) },
      uniquingKeysWith: { first, _ in first })
    var kept: [(from: Int, to: Int)] = []
    var staying: [Int] = []
    for (before, index) in added.enumerated() {
      guard let (rank, from) = old[ids[index]] else {
        difference.insertions.append(index)
        continue
      }
      if rank == index - before { staying.append(kept.count) }
      kept.append((from, index))
    }
    let run = LiveDifference.longestRun(staying.map { kept[$0].from })
    let stays = Set(run.map { staying[$0] })
    let isKept = Set(kept.map(\.from))
    difference.deletions = removed.filter { !isKept.contains($0) }
    for (number, pair) in kept.enumerated() {
      if !stays.contains(number) { difference.moves.append(.init(from: pair.from, to: pair.to)) }
      let isEqual =
        areEqual(former.values[pair.from], and: values[pair.to])
        ?? (former.versions[pair.from] == versions[pair.to])
      if !isEqual { difference.updates.append(pair.to) }
    }
    return difference
  }

  /// Returns the positions of objects, ascending.
  /// - Parameter changed: Their ids, ascending.
  private func positions(of changed: [Int64]) -> [Int] {
    guard let first = changed.first, let last = changed.last else { return [] }
    let set = Set(changed)
    return ids.indices.filter { (first...last).contains(ids[$0]) && set.contains(ids[$0]) }
  }

  /// Returns the position at which an object with these keys belongs.
  private func place(of wanted: [SQLValue], in order: EvaluatedOrder) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if order.compare(keys[middle], with: wanted) < 0 { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private mutating func removeLast() {
    ids.removeLast()
    versions.removeLast()
    keys.removeLast()
    values.removeLast()
  }

  private mutating func append(_ entry: Entry) {
    ids.append(entry.id)
    versions.append(entry.version)
    keys.append(entry.keys)
    values.append(entry.value)
  }

  private mutating func append(_ other: LiveList, at index: Int) {
    ids.append(other.ids[index])
    versions.append(other.versions[index])
    keys.append(other.keys[index])
    values.append(other.values[index])
  }
}
