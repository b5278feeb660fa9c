// Objects in an order, from which any of them is taken out in a time that does not depend on how many there are.

/// The members of a to-many in their order, each once.
struct MemberOrder<Object: AnyObject & Hashable> {
  /// Nobody in the place of who was taken out.
  private var places: [Object?]
  /// The places by object; made when one is first taken out, as few lists lose any.
  private var indexes: [ObjectIdentifier: Int]?
  private var gaps = 0
  /// How long the first part is that has no waiting member, in places and in objects.
  private var settled = (places: 0, objects: 0)
  /// Whether it is another order than the file's with the new members at its end.
  private(set) var isRearranged = false
  /// Whether the order was changed since the last save or flush.
  private(set) var wasArranged = false

  init(_ objects: [Object] = []) { places = objects }

  var objects: [Object] { places.compactMap { $0 } }

  /// A number that rises along the list, and may have gaps; nil for an object that is not in it.
  mutating func place(of object: AnyObject) -> Int? {
    let known = indexes ?? indexesByObject
    indexes = known
    return known[ObjectIdentifier(object)]
  }

  /// It is another order than the file's from now on.
  mutating func didArrange() { (isRearranged, wasArranged) = (true, true) }

  /// A member was added that is in the list: it may wait now in the part that had none.
  mutating func didAddAgain() { settled = (0, 0) }

  /// The file holds the order, but for some members that wait: these go to its end when they are saved.
  mutating func didSave(but waiting: Set<Object>) {
    isRearranged = !waiting.isEmpty && (isRearranged || !ends(with: waiting))
    wasArranged = false
  }

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
      if index < settled.places { settled.objects -= 1 }
    }
    indexes = known
    guard gaps > 16, gaps * 2 > places.count else { return }
    places.removeAll { $0 == nil }
    (indexes, gaps, settled) = (nil, 0, (0, 0))
  }

  /// Whether all members that wait stand after all others. Each place is looked at once, however often this is asked: who
  /// waits no more does not wait again, and new members come to the end.
  private mutating func ends(with waiting: Set<Object>) -> Bool {
    while settled.places < places.count {
      if let object = places[settled.places] {
        guard !waiting.contains(object) else { break }
        settled.objects += 1
      }
      settled.places += 1
    }
    return places.count - gaps - settled.objects == waiting.count
  }

  /// Some of the objects, in their order.
  mutating func sorted(_ some: [Object]) -> [Object] {
    guard some.count > 1 else { return some }
    let known = indexes ?? indexesByObject
    indexes = known
    return some.sorted { left, right in
      (known[ObjectIdentifier(left)] ?? 0) < (known[ObjectIdentifier(right)] ?? 0)
    }
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
