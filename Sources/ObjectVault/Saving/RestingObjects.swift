// Objects that flushes skip until something about them changes. Each fetch inside of a write would else look at all of them.

/// A row, by the index of the entity at the root of its table.
struct RowPlace: Hashable {
  let table: Int
  let id: Int64
}

/// Objects that a flush has left out, and that nothing can put right but a change of them, or of a row that has their unique
/// values.
struct RestingObjects {
  private(set) var all: Set<ManagedObject> = []
  /// The indexes of their entities.
  private(set) var entities: Set<Int> = []
  /// The rows that have unique values which an object wants; none of one that breaks a rule by itself.
  private var holders: [ManagedObject: Set<RowPlace>] = [:]
  /// The objects that want a unique value of a row.
  private var wanting: [RowPlace: Set<ManagedObject>] = [:]
  private var objects: [RowPlace: ManagedObject] = [:]

  var isEmpty: Bool { all.isEmpty }
  var count: Int { all.count }
  /// Whether rows are in the way of any.
  var hasWanting: Bool { !wanting.isEmpty }

  /// The new ones, in the order in which they got their ids.
  var inserted: [ManagedObject] { sorted { $0.state == .inserted } }
  /// The others.
  var updated: [ManagedObject] { sorted { $0.state != .inserted } }

  private func sorted(_ belongs: (ManagedObject) -> Bool) -> [ManagedObject] {
    all.filter(belongs).sorted { left, right in
      (left.entity?.index ?? 0, left.rowID) < (right.entity?.index ?? 0, right.rowID)
    }
  }

  func contains(_ object: ManagedObject) -> Bool { all.contains(object) }

  /// - Parameter rows: Those that have unique values which the object wants.
  mutating func insert(_ object: ManagedObject, waitingFor rows: Set<RowPlace>) {
    all.insert(object)
    if let index = object.entity?.index { entities.insert(index) }
    if let place = object.place { objects[place] = object }
    guard !rows.isEmpty else { return }
    holders[object] = rows
    for row in rows { wanting[row, default: []].insert(object) }
  }

  /// - Returns: Whether it was among them.
  mutating func remove(_ object: ManagedObject) -> Bool {
    guard all.remove(object) != nil else { return false }
    if let place = object.place { objects[place] = nil }
    for row in holders.removeValue(forKey: object) ?? [] {
      wanting[row]?.remove(object)
      if wanting[row]?.isEmpty == true { wanting[row] = nil }
    }
    return true
  }

  /// The objects that want a value of a row.
  func wanting(_ row: RowPlace) -> Set<ManagedObject> { wanting[row] ?? [] }

  /// The objects that an object waits for, if one of these waits for it: together they can be written, as values change hands.
  func circle(of object: ManagedObject) -> Set<ManagedObject> {
    // Asked first: a line of objects, each of which waits for the next one, need not be followed for each.
    guard let place = object.place, wanting[place] != nil else { return [] }
    var seen: Set<ManagedObject> = []
    var isCircle = false
    var waiting = [object]
    while let next = waiting.popLast() {
      for holder in (holders[next] ?? []).compactMap({ objects[$0] }) {
        if holder === object { isCircle = true }
        if seen.insert(holder).inserted { waiting.append(holder) }
      }
    }
    return isCircle ? seen : []
  }
}

extension ManagedObject {
  /// Where its row is; nil in no context.
  fileprivate var place: RowPlace? { withMap { RowPlace(table: $0.table, id: rowID) } }
}
