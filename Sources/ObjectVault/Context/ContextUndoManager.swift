// Undo and redo of a context's changes.

internal import CipherSQLite

/// Records the changes of an ``ObjectContext``, to undo and redo them.
///
/// ```swift
/// context.undoManager = ContextUndoManager(levels: 100)
/// context.undoManager?.group(named: "Rename") { user.name = "Bea" }
/// try context.undo()
/// try context.redo()
/// ```
///
/// It records attributes, relationships with their order, insertions, and deletions with what their delete
/// rules change. An undo works across saves: what was saved is changed back and is pending, to be saved
/// again; a deleted object is the same object again, with its id. An undo manager belongs to one context,
/// and like the context it is used by one task at a time.
///
/// While a context has an undo manager, a deletion applies its delete rules at once and reads the objects
/// that they concern, and each setter records the former value. Without one, nothing of this costs anything.
/// Not recorded are changes by SQL and by triggers. See <doc:undo>.
public final class ContextUndoManager {
  /// How changes are grouped that are made outside of ``group(named:_:)``.
  public enum Grouping: Sendable, Hashable {
    /// Each call is a group: a setter, an insertion with its closure, a deletion with its cascades.
    case byCall
    /// All changes until the next save, undo or named group are one group.
    case bySave
  }

  /// How changes outside of ``group(named:_:)`` are grouped.
  public let grouping: Grouping
  /// The number of groups that are kept to be undone; the oldest are dropped.
  public let levels: Int
  /// The memory for the groups that are kept, in bytes, about: the oldest groups are dropped beyond it. The
  /// latest group is always kept.
  public let byteLimit: Int

  // Groups are only removed while `former` retains them, and released when nothing is being changed: the
  // deinit of a user's class may make changes.
  /// The groups to be undone and redone, the latest last.
  private(set) var groups = Stacks()
  /// The groups at the last save, to which a rollback returns.
  private var saved = Stacks()
  /// The number of saves so far: an order of members is only known to be that of the file until a save.
  private(set) var saveCount = 0
  /// The number of times that all groups were replaced, by a rollback or a reset.
  private var replacements = 0
  /// The group that records; nil if the next change begins one.
  private(set) var open: UndoGroup?
  /// The depth of groups that are not ended by the end of a call.
  private var depth = 0
  /// The depth of calls that change several properties.
  private var callDepth = 0
  /// Whether changes are recorded.
  private(set) var isRecording = true
  // Safe: the context sets it, and sets it to nil in its deinit and when it gets another undo manager. An
  // undo manager is used where its context is used.
  /// The present context.
  @safe unowned(unsafe) var context: ObjectContext?

  struct Stacks {
    private(set) var undo: [UndoGroup] = []
    private(set) var redo: [UndoGroup] = []
    /// The memory of the groups to be undone, about.
    private var byteCount = 0

    mutating func push(_ group: UndoGroup) {
      undo.append(group)
      byteCount += group.byteCount
    }

    mutating func pop() -> UndoGroup? {
      let group = undo.popLast()
      byteCount -= group?.byteCount ?? 0
      return group
    }

    mutating func pushRedo(_ group: UndoGroup) { redo.append(group) }
    mutating func popRedo() -> UndoGroup? { redo.popLast() }
    mutating func dropRedo() { redo = [] }

    /// Drops the oldest groups beyond the limits, but not the latest one.
    mutating func drop(beyond levels: Int, byteLimit: Int) {
      var count = 0
      while undo.count - count > max(1, levels) || (undo.count - count > 1 && byteCount > byteLimit) {
        byteCount -= undo[count].byteCount
        count += 1
      }
      if count > 0 { undo.removeFirst(count) }
    }
  }

  /// Creates an undo manager without changes.
  /// - Parameters:
  ///   - levels: How many groups are kept to be undone.
  ///   - byteLimit: The memory for them, in bytes.
  ///   - grouping: How changes outside of ``group(named:_:)`` are grouped.
  public init(levels: Int = .max, byteLimit: Int = 64 << 20, grouping: Grouping = .byCall) {
    (self.levels, self.byteLimit, self.grouping) = (max(1, levels), max(0, byteLimit), grouping)
  }

  // MARK: Groups

  /// Makes all changes of a closure one group. Groups inside of it belong to it.
  /// - Parameters:
  ///   - name: The name for ``undoName``, such as the title of a menu item; nil for none.
  ///   - body: Makes the changes. If it throws, the changes that it has made stay, as one group.
  /// - Returns: The result of `body`.
  /// - Throws: What `body` throws.
  public func group<Result>(named name: String? = nil, _ body: () throws -> Result) rethrows -> Result {
    beginGroup(named: name)
    defer { endGroup() }
    return try body()
  }

  /// Begins a group that ends with ``endGroup()``; groups may be nested, and the outermost one counts.
  /// - Parameter name: The name of the group; that of an inner group counts if the outer one has none.
  public func beginGroup(named name: String? = nil) {
    if depth == 0, callDepth == 0 { closeGroup() }
    depth += 1
    let group = openGroup()
    group.name = group.name ?? name
  }

  /// Ends the group that was begun last. A call without a beginning has no effect.
  public func endGroup() {
    guard depth > 0 else { return }
    depth -= 1
    if depth == 0, callDepth == 0 { closeGroup() }
  }

  /// Whether there is something to undo.
  public var canUndo: Bool { !groups.undo.isEmpty || open?.isEmpty == false }
  /// Whether there is something to redo: after an undo, until the next change.
  public var canRedo: Bool { !groups.redo.isEmpty && open?.isEmpty != false }
  /// The name of the group that the next undo undoes; nil if it has none or there is none.
  public var undoName: String? { open?.isEmpty == false ? open?.name : groups.undo.last?.name }
  /// The name of the group that the next redo makes again; nil if it has none or there is none.
  public var redoName: String? { canRedo ? groups.redo.last?.name : nil }
  /// A title for a menu item, such as `Undo Rename`, in English.
  public var undoMenuTitle: String { undoName.map { "Undo \($0)" } ?? "Undo" }
  /// A title for a menu item, such as `Redo Rename`, in English.
  public var redoMenuTitle: String { redoName.map { "Redo \($0)" } ?? "Redo" }

  /// Forgets all groups: nothing can be undone or redone any more. The changes stay.
  public func removeAll() {
    let former = (groups, saved, open)
    (groups, saved) = (Stacks(), Stacks())
    open = depth > 0 ? UndoGroup() : nil
    replacements += 1
    withExtendedLifetime(former) {}
  }

  /// The number of groups that can be undone, for tests.
  package var undoCountForTests: Int { groups.undo.count }

  // MARK: Recording

  /// Whether an explicit group is open.
  var isInGroup: Bool { depth > 0 }

  /// The group that a change belongs to; nil if changes are not recorded.
  var recorder: UndoGroup? { isRecording ? openGroup() : nil }

  private func openGroup() -> UndoGroup {
    if let open { return open }
    let group = UndoGroup()
    open = group
    return group
  }

  /// Runs a call that makes several changes, which are one group.
  func call<Result>(_ body: () throws -> Result) rethrows -> Result {
    callDepth += 1
    defer {
      callDepth -= 1
      didChange()
    }
    return try body()
  }

  /// Forgets the insertion of an object whose configuration failed.
  func didDismiss(_ object: ManagedObject) { open?.didDismiss(object) }

  /// Notes the end of a change. Changes of a call of their own are a group.
  func didChange() {
    if isRecording, depth == 0, callDepth == 0, grouping == .byCall { closeGroup() }
  }

  /// Runs `body`, whose changes are not recorded.
  func unrecorded<Result>(_ body: () throws -> Result) rethrows -> Result {
    let former = isRecording
    isRecording = false
    defer { isRecording = former }
    return try body()
  }

  /// Ends the open group, and drops the oldest ones beyond the limits.
  func closeGroup() {
    guard let group = open, depth == 0 else { return }
    open = nil
    guard !group.isEmpty else { return }
    close(group)
    guard !group.isEmpty else { return }
    let former = groups
    groups.push(group)
    groups.dropRedo()
    groups.drop(beyond: levels, byteLimit: byteLimit)
    withExtendedLifetime(former) {}
  }

  private func close(_ group: UndoGroup) {
    guard let context else { return }
    group.close { context.formerValue(of: $0, $1) }
  }

  /// Runs the hooks of a save: their changes belong to the latest group. Without a group they are not
  /// recorded, because the change before them cannot be undone either.
  func joiningLatest<Result>(_ body: () throws -> Result) rethrows -> Result {
    closeGroup()
    if depth > 0 { return try call(body) }
    guard let latest = groups.undo.last else { return try unrecorded(body) }
    // A copy, because a rollback may return to the group as it is.
    let joined = UndoGroup(copy: latest)
    let count = replacements
    open = joined
    depth += 1
    defer {
      depth -= 1
      open = nil
      if replacements == count {
        close(joined)
        let former = groups
        _ = groups.pop()
        groups.push(joined)
        withExtendedLifetime(former) {}
      }
    }
    return try body()
  }

  // MARK: Undo

  /// Takes the next group to undo or redo.
  func take(redoing: Bool) -> UndoGroup? {
    closeGroup()
    return redoing ? groups.popRedo() : groups.pop()
  }

  /// Puts back a group that was not undone.
  func putBack(_ group: UndoGroup, redoing: Bool) {
    if redoing { groups.pushRedo(group) } else { groups.push(group) }
  }

  /// Runs `body`, which changes a group back, and records how to change it again.
  func reversing(_ group: UndoGroup, redoing: Bool, _ body: () -> Void) {
    let reverse = UndoGroup(reversing: group)
    open = reverse
    depth += 1
    body()
    depth -= 1
    open = nil
    close(reverse)
    if redoing { groups.push(reverse) } else { groups.pushRedo(reverse) }
  }

  // MARK: Saves

  func didSave() {
    closeGroup()
    saveCount += 1
    let former = saved
    saved = groups
    withExtendedLifetime(former) {}
  }

  /// Returns to the groups of the last save. Changes since then are discarded.
  func didRollBack() {
    let former = (groups, open)
    groups = saved
    open = depth > 0 ? UndoGroup() : nil
    replacements += 1
    withExtendedLifetime(former) {}
  }
}
