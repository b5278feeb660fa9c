// An ordered list of objects. When many of them are removed one by one, each removal takes a time that on
// average does not depend on their number.

/// The members of a to-many in their order, each once.
struct MemberOrder<Object: AnyObject & Hashable> {
  /// The objects in their order; nil in place of a removed object.
  private var places: [Object?]
  /// The index in `places` of each object. Built when it is first needed, because few lists need it.
  private var indexes: [ObjectIdentifier: Int]?
  private var gaps = 0
  /// Whether the order differs from the saved order with the new members appended.
  private(set) var isRearranged = false

  init(_ objects: [Object] = []) { places = objects }

  var objects: [Object] { places.compactMap { $0 } }

  /// Returns the number of an object; nil if it is not in the list. The numbers rise along the list, with
  /// gaps where objects were removed.
  mutating func place(of object: AnyObject) -> Int? {
    let known = indexes ?? indexesByObject
    indexes = known
    return known[ObjectIdentifier(object)]
  }

  /// Notes that the order differs from the file's.
  mutating func didArrange() { isRearranged = true }

  /// Notes that the order was saved.
  mutating func didSave() { isRearranged = false }

  /// Appends an object, which must not be in the list.
  mutating func append(_ object: Object) {
    indexes?[ObjectIdentifier(object)] = places.count
    places.append(object)
  }

  /// Removes an object, if it is in the list.
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

  /// Returns those of the given objects that are in the list, in order. Scans from the end, where new
  /// members are unless the order was changed.
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
