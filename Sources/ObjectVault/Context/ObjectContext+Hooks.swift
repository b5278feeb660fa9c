// Calls the hooks of objects, which classes override in ManagedObject. ClassHooks knows which classes
// override which; the others cost nothing.

/// The hooks that one save calls.
final class HookRun {
  /// How often the objects of a save may change each other.
  static let limit = 100
  /// The hook that runs, and its object.
  private(set) var hook = ""
  private(set) var object: ManagedObject?
  /// The objects whose `willSave` was called, and those of them that other code has changed since.
  private var called: Set<ManagedObject> = []
  private var changed: Set<ManagedObject> = []
  /// The objects that the save deletes because of delete rules, as far as their classes have hooks.
  var cascaded: [ManagedObject] = []

  func call<Result>(_ hook: String, of object: ManagedObject?, _ body: () throws -> Result) rethrows
    -> Result
  {
    let former = (self.hook, self.object)
    (self.hook, self.object) = (hook, object)
    defer { (self.hook, self.object) = former }
    return try body()
  }

  func isWaiting(_ object: ManagedObject) -> Bool { !called.contains(object) || changed.contains(object) }

  func callWillSave(of object: ManagedObject) {
    called.insert(object)
    changed.remove(object)
    call("willSave", of: object) { object.willSave() }
    changed.remove(object)
    // Otherwise a setter would only store the value, and the context would not learn of the change.
    object.overlay?.notifiesNextWrite = true
  }

  func didChange(_ object: ManagedObject) { if called.contains(object) { changed.insert(object) } }

  /// Returns the error of the hook that runs.
  func error(_ reason: String) -> StoreError {
    .hookFailed(
      entity: object?.nameOfEntity ?? "", rowID: object?.visibleRowID ?? 0, hook: hook, reason: reason)
  }
}

extension ObjectContext {
  /// Calls the hooks of the objects that the save writes, until they change no further object.
  /// - Returns: What the validating hooks have found.
  func callHooksBeforeSave() throws -> [ValidationFailure] {
    let listener = onWillSave
    guard listener != nil || !core.hooks.isDisjoint(with: .beforeSave) else { return [] }
    return try withHookRun { run in
      try callUntilQuiet(run)
      if let listener {
        try run.call("onWillSave", of: nil) { try listener(pendingChanges, self) }
        try callUntilQuiet(run)
      }
      let counts = (pending.inserted.count, pending.updated.count, pending.deleted.count)
      let failures = try failures(run)
      guard counts == (pending.inserted.count, pending.updated.count, pending.deleted.count) else {
        throw run.call("A validating hook", of: nil) {
          run.error("has changed objects, which were not validated; change them in willSave")
        }
      }
      return failures
    }
  }

  /// Calls the hook of the objects that a save has written.
  func callHooksAfterSave(_ plan: SavePlan) {
    guard core.hooks.contains(.didSave) else { return }
    withHookRun { run in
      for (entity, objects) in plan.inserted + plan.updated
      where maps[entity.index].hooks.contains(.didSave) {
        for object in objects { run.call("didSave", of: object) { object.didSave() } }
      }
    }
  }

  /// Calls the hooks of deletions and of saves until they delete nothing more.
  private func callUntilQuiet(_ run: HookRun) throws {
    var count: Int
    repeat {
      count = pending.deleted.count
      try prepareCascades(run)
      try callWillSave(run)
    } while pending.deleted.count != count
  }

  private func withHookRun<Result>(_ body: (HookRun) throws -> Result) rethrows -> Result {
    let run = HookRun()
    hookRun = run
    defer { hookRun = nil }
    return try body(run)
  }

  /// Calls `willSave` of all objects of the save, and again of those that other calls have changed.
  private func callWillSave(_ run: HookRun) throws {
    guard core.hooks.contains(.willSave) else { return }
    var last: ManagedObject?
    for _ in 0..<HookRun.limit {
      let waiting = (insertedObjects + updatedObjects).filter {
        hooks(of: $0).contains(.willSave) && run.isWaiting($0)
      }
      if waiting.isEmpty { return }
      // An earlier call may have removed a later object.
      for object in waiting where object.isPending && object.isInContext { run.callWillSave(of: object) }
      last = waiting.last
    }
    throw run.call("willSave", of: last) {
      run.error(
        "was called \(HookRun.limit) times, and still changed or made objects. Let it change another object "
          + "only if the value differs")
    }
  }

  // MARK: Deletions

  /// Calls `prepareForDeletion` of the objects that the save deletes because of delete rules, and keeps
  /// these objects in memory until its end.
  private func prepareCascades(_ run: HookRun) throws {
    let wanted: ClassHooks = [.prepareForDeletion, .validateForDelete]
    guard !core.hooks.isDisjoint(with: wanted) else { return }
    var known = Set(run.cascaded)
    for _ in 0..<HookRun.limit {
      let entities = entitiesInCascades.sorted().map { core.mapping.entities[$0] }
        .filter { !maps[$0.index].hooks.isDisjoint(with: wanted) }
      guard !entities.isEmpty, !pending.deleted.isEmpty else { return }
      let deletion = try cascades()
      var new: [ManagedObject] = []
      for entity in entities {
        let going = deletion.going(entity)
        new += going.filter { $0 < 0 }.compactMap(maps[entity.index].find)
        new += try scan(entity).rows(Array(going.rows))
      }
      new = new.filter { $0.state != .deleted && known.insert($0).inserted }
      guard !new.isEmpty else { return }
      run.cascaded += new
      for object in new where hooks(of: object).contains(.prepareForDeletion) {
        run.call("prepareForDeletion", of: object) { object.prepareForDeletion() }
      }
    }
  }

  /// Calls `prepareForDeletion` of an object that is about to be deleted.
  func prepareForDeletion(_ object: ManagedObject) {
    guard hooks(of: object).contains(.prepareForDeletion), object.state != .deleted,
      // The hook may delete its object itself.
      objectsBeingDeleted.insert(object).inserted
    else { return }
    defer { objectsBeingDeleted.remove(object) }
    if let hookRun {
      hookRun.call("prepareForDeletion", of: object) { object.prepareForDeletion() }
    } else {
      withHookRun { run in run.call("prepareForDeletion", of: object) { object.prepareForDeletion() } }
    }
  }

  // MARK: Validation

  private func failures(_ run: HookRun) throws -> [ValidationFailure] {
    guard !core.hooks.isDisjoint(with: .validating) else { return [] }
    var failures: [ValidationFailure] = []
    // Objects that delete rules delete are not written, and those that hooks have kept are not deleted.
    let deletion = pending.deleted.isEmpty ? nil : try cascades()
    let isGoing = { (object: ManagedObject) in
      object.entity.flatMap { deletion?.contains(object.rowID, $0) } == true
    }
    func check(
      _ objects: [ManagedObject], hook: ClassHooks, name: String, _ body: (ManagedObject) throws -> Void
    ) {
      guard core.hooks.contains(hook) else { return }
      for object in objects where hooks(of: object).contains(hook) {
        do { try run.call(name, of: object) { try body(object) } } catch {
          failures += object.failures(for: error)
        }
      }
    }
    check(insertedObjects.filter { !isGoing($0) }, hook: .validateForInsert, name: "validateForInsert") {
      try $0.validateForInsert()
    }
    check(updatedObjects.filter { !isGoing($0) }, hook: .validateForUpdate, name: "validateForUpdate") {
      try $0.validateForUpdate()
    }
    check(
      deletedObjects + run.cascaded.filter { $0.state != .deleted && isGoing($0) }, hook: .validateForDelete,
      name: "validateForDelete"
    ) { try $0.validateForDelete() }
    return failures
  }

  private func hooks(of object: ManagedObject) -> ClassHooks { object.map?.hooks ?? [] }

  // MARK: Fetches

  func didFetch(_ object: ManagedObject) { awakening.append(object) }

  /// Calls `awakeFromFetch` of the objects whose rows were read. Called outside of the read, whose
  /// connection the hooks may need.
  @inline(__always) func awake() {
    if !awakening.isEmpty, snapshot == nil { awakeAll() }
    if observers != nil, snapshot == nil { notifyObservers() }
  }

  @inline(never) private func awakeAll() {
    // A hook may read further rows. The outermost call wakes all: otherwise a chain would be a recursion.
    guard !isAwaking else { return }
    isAwaking = true
    defer { isAwaking = false }
    while !awakening.isEmpty {
      let objects = awakening
      awakening = []
      for object in objects where object.state == .loaded { object.awakeFromFetch() }
    }
  }
}

extension ManagedObject {
  /// Returns the failures that an error of a validating hook stands for.
  fileprivate final func failures(for error: any Error) -> [ValidationFailure] {
    switch error {
    case let failure as ValidationFailure: [failure]
    case StoreError.validation(let failures): failures
    default:
      [
        ValidationFailure(
          entity: nameOfEntity, property: "", rowID: rowID, reason: "is not accepted by its class: \(error)")
      ]
    }
  }
}
