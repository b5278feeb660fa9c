// The members of a relationship in the form that its getter returns.
//
// Of any objects: it knows nothing of them but who they are.

/// What a getter returns, kept up to date member by member: making it anew at each change would make
/// `parent.children.insert(child)` in a loop quadratic twice over.
class TypedMembers {
  func insert(_ object: AnyObject) {}
  /// - Parameter place: Where a member stands in the order of all; nil in a relationship without one.
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
  /// nil when it has to be made anew.
  private(set) var list: [Target]?
  init(_ list: [Target]) { self.list = list }

  override func insert(_ object: AnyObject) {
    if let object = object as? Target { list?.append(object) }
  }
  // Halving the list finds the object: making the list anew after each would be quadratic.
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
