// The members of a relationship in the form that its getter returns. The types are generic over the class
// of the members, of which they use only `===`, `==` and `hash`; for a ManagedObject, all of these mean its
// identity.

/// The value that a getter returns, updated member by member. Creating it again after each change would
/// make a loop of `parent.children.insert(child)` quadratic.
class TypedMembers {
  func insert(_ object: AnyObject) {}
  /// Removes an object.
  /// - Parameter place: Returns the position of a member in the order of all members; nil in a
  ///   relationship without an order.
  func remove(_ object: AnyObject, _ place: (AnyObject) -> Int?) {}
}

final class Members<Target: AnyObject & Hashable>: TypedMembers {
  var set: Set<Target>
  init(_ set: Set<Target>) { self.set = set }

  override func insert(_ object: AnyObject) {
    if let object = object as? Target { set.insert(object) }
  }
  override func remove(_ object: AnyObject, _ place: (AnyObject) -> Int?) {
    if let object = object as? Target { set.remove(object) }
  }
}

final class MemberList<Target: AnyObject & Hashable>: TypedMembers {
  /// nil if the list must be created again.
  private(set) var list: [Target]?
  init(_ list: [Target]) { self.list = list }

  override func insert(_ object: AnyObject) {
    if let object = object as? Target { list?.append(object) }
  }
  // Finds the object by binary search: creating the list again after each removal would be quadratic.
  override func remove(_ object: AnyObject, _ place: (AnyObject) -> Int?) {
    guard let count = list?.count, let wanted = place(object) else { return }
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      guard let found = list.flatMap({ place($0[middle]) }) else { return list = nil }
      if found < wanted { low = middle + 1 } else { high = middle }
    }
    if low < count, list?[low] === object { list?.remove(at: low) }
  }
}
