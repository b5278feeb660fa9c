// What a scratch context was made of.

/// The context that a scratch context was made of, and its pending changes then.
struct ScratchOrigin {
  /// A new object of that context, and its copy in the scratch context.
  struct Original {
    let copy: ManagedObject
    let object: ManagedObject
  }
  /// A pending link of that context, and the copies of its ends.
  struct Link {
    let sourceCopy: ManagedObject
    let targetCopy: ManagedObject
    let join: JoinTable
    let isAdded: Bool
    let source: ManagedObject
    let target: ManagedObject
  }
  /// The context.
  weak var parent: AnyObject?
  /// The new objects, by their copies.
  var originals: [ObjectIdentifier: Original]
  var links: [Link]
}
