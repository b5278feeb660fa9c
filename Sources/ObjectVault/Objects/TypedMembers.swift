// The members of a relationship in the form that its getter returns.
//
// Of any objects: it knows nothing of them but who they are.

/// What a getter returns, kept up to date member by member: making it anew at each change would make
/// `parent.children.insert(child)` in a loop quadratic twice over.
class TypedMembers {
  func insert(_ object: AnyObject) {}
  func remove(_ object: AnyObject) {}
}

final class Members<Target: AnyObject & Hashable>: TypedMembers {
  var set: Set<Target>
  init(_ set: Set<Target>) { self.set = set }

  override func insert(_ object: AnyObject) {
    if let object = object as? Target { set.insert(object) }
  }
  override func remove(_ object: AnyObject) {
    if let object = object as? Target { set.remove(object) }
  }
}

final class MemberList<Target: AnyObject & Hashable>: TypedMembers {
  /// nil when it has to be made anew: looking for each object that goes would take as long.
  private(set) var list: [Target]?
  init(_ list: [Target]) { self.list = list }

  override func insert(_ object: AnyObject) {
    if let object = object as? Target { list?.append(object) }
  }
  override func remove(_ object: AnyObject) { list = nil }
}
