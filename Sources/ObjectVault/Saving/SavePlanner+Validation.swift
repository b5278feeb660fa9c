// Checks the rules of the schema before anything is written, and reports every rule that is broken.

internal import CipherSQLite

extension SavePlanner {
  /// Chooses the new and changed objects that are written, and checks their values.
  mutating func validate() throws {
    plan.inserted = newObjectsOfOneEntity ?? grouped(those(of: pending.inserted) { $0.state == .inserted })
    for (entity, objects) in plan.inserted where entity.hasToOne { releaseDeletedNewTargets(objects, entity) }
    plan.updated = changed
    for (entity, objects) in plan.updated where entity.hasToOne { releaseDeletedNewTargets(objects, entity) }
    var failures = failures
    for (entity, objects) in plan.inserted + plan.updated { check(objects, of: entity, failures: &failures) }
    guard failures.isEmpty else { throw StoreError.validation(failures) }
  }

  /// All new objects, if they are of one entity and nothing is deleted; otherwise nil. This is the usual
  /// case for many objects, and takes one pass.
  private var newObjectsOfOneEntity: [EntityObjects]? {
    let objects = pending.inserted
    guard plan.deletion.isEmpty, let map = objects.first?.map,
      objects.allSatisfyUnretained({ $0.state == .inserted && $0.isIn(map) })
    else { return nil }
    return [(map.entity, objects)]
  }

  private var changed: [EntityObjects] {
    let objects =
      plan.newlyChanged.isEmpty
      ? pending.updated : pending.updated + plan.newlyChanged.filter { $0.state == .loaded }
    return grouped(those(of: objects) { $0.state == .loaded && plan.hasOverlay($0) })
  }

  /// Returns the objects that are not deleted and for which `belongs` is true. Mostly these are all
  /// objects, and no new array is needed.
  private func those(of objects: [ManagedObject], _ belongs: (ManagedObject) -> Bool) -> [ManagedObject] {
    if !plan.deletion.isEmpty { return objects.filter { belongs($0) && !plan.deletes($0) } }
    return objects.allSatisfyUnretained(belongs) ? objects : objects.filter(belongs)
  }

  /// If the new target of a to-one was deleted before it was saved, sets the to-one to nil.
  private mutating func releaseDeletedNewTargets(_ objects: [ManagedObject], _ entity: EntityMapping) {
    guard pending.mayReferToDiscarded || !plan.deletion.isEmpty else { return }
    for object in objects {
      guard let overlay = plan.overlay(of: object) else { continue }
      for slot in entity.storedSlots where entity.isToOne[slot] {
        guard let id = overlay.int64(slot), id < 0, overlay.changed.contains(slot),
          let destination = entity.slots[slot].relationship?.destination
        else { continue }
        let target = maps[destination.index].find(id)
        if target?.state != .inserted || target.map(plan.deletes) == true { setToNil(object, slot) }
      }
    }
  }

  private mutating func check(
    _ objects: [ManagedObject], of entity: EntityMapping, failures: inout [ValidationFailure]
  ) {
    let required = entity.storedSlots.filter { entity.isRequired[$0] }
    let hasRules = !entity.checkedSlots.isEmpty
    // Read once: each access to the plan copies it with all its references.
    let plan = plan
    // The changed slots of the last object, mostly equal to those of the next one. First all stored
    // slots, as on new objects.
    var (changed, asked) = (entity.allStored, required)
    objects.forEachUnretained { object in
      // Most objects have all required values and no rules to check.
      let isSound = plan.withOverlay(of: object) { overlay in
        if overlay.changed != changed {
          changed = overlay.changed
          asked = required.filter(changed.contains)
        }
        return !hasRules && overlay.refused == nil && !overlay.values.holdsNull(asked)
      }
      if isSound == false { check(object, of: entity, failures: &failures) }
    }
  }

  private mutating func check(
    _ object: ManagedObject, of entity: EntityMapping, failures: inout [ValidationFailure]
  ) {
    guard let overlay = plan.overlay(of: object) else { return }
    for slot in entity.storedSlots where overlay.changed.contains(slot) {
      failures += entity.brokenRules(slot, overlay[slot], refused: overlay.refused?[slot]).map {
        ValidationFailure(
          entity: entity.name, property: entity.slots[slot].name, rowID: object.rowID, reason: $0)
      }
    }
  }
}

extension EntityMapping {
  /// Returns the rules of the model that a value breaks, as reasons of failures.
  /// - Parameter refused: Why the value that was written cannot be stored; nil if it can.
  func brokenRules(_ slot: Int, _ value: SQLValue, refused: (any Error)?) -> [String] {
    guard value.isNull else { return slots[slot].checks.filter { !$0.holds(value) }.map(\.text) }
    if let refused { return ["cannot be stored: \(refused)"] }
    return isRequired[slot] ? ["is required"] : []
  }
}
