// Objects in an order, from which any of them is taken out in a time that does not depend on how many there are.

/// The members of a to-many in their order, each once.
struct MemberOrder<Object: AnyObject & Hashable> {
  /// Nobody in the place of who was taken out.
  private var places: [Object?]
  /// The places by object; made when one is first taken out, as few lists lose any.
  private var indexes: [ObjectIdentifier: Int]?
  private var gaps = 0
  /// Whether it is another order than the file's with the new members at its end.
  private(set) var isRearranged = false

  init(_ objects: [Object] = []) { places = objects }

  var objects: [Object] { places.compactMap { $0 } }

  /// A number that rises along the list, and may have gaps; nil for an object that is not in it.
  mutating func place(of object: AnyObject) -> Int? {
    let known = indexes ?? indexesByObject
    indexes = known
    return known[ObjectIdentifier(object)]
  }

  /// It is another order than the file's from now on.
  mutating func didArrange() { isRearranged = true }

  /// The file holds the order.
  mutating func didSave() { isRearranged = false }

  /// Puts an object, which is not in it, at the end.
  mutating func append(_ object: Object) {
    indexes?[ObjectIdentifier(object)] = places.count
    places.append(object)
  }

  /// Takes an object out, if it is in it.
  mutating func remove(_ object: Object) {
    var known = indexes.take() ?? indexesByObject
    if let index = known.removeValue(forKey: ObjectIdentifier(object)) {
      places[index] = nil
      gaps += 1
    }
    indexes = known
    guard gaps > 16, gaps * 2 > places.count else { return }
    places.removeAll { $0 == nil }
    (indexes, gaps) = (nil, 0)
  }

  /// Those of some objects that stand last, one after the other; all of them where the order was not rearranged and these
  /// are the new ones.
  func last(_ some: Set<Object>) -> [Object] {
    var found: [Object] = []
    for object in places.reversed() {
      guard found.count < some.count else { break }
      if let object, some.contains(object) { found.append(object) }
    }
    return found.reversed()
  }

  private var indexesByObject: [ObjectIdentifier: Int] {
    var indexes: [ObjectIdentifier: Int] = [:]
    for (index, object) in places.enumerated() {
      if let object { indexes[ObjectIdentifier(object)] = index }
    }
    return indexes
  }
}
