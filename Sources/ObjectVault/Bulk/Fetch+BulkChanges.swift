// Changing and deleting all objects that a fetch finds, by statements where the rules of the model allow it.

internal import CipherSQLite

/// A new value of one property for all objects that ``Fetch/update(_:)`` finds.
public struct BulkChange<Object: ManagedObject> {
  fileprivate enum Value {
    case attribute((AttributeDescription) throws -> SQLValue)
    case increment(Result<SQLValue, any Error>, fits: (SQLValue) -> Bool)
    case target(ManagedObject?)
  }

  fileprivate let path: Result<[String], StoreError>
  fileprivate let value: Value

  private init(_ path: PartialKeyPath<Object>, _ value: Value) {
    self.path = Result { () throws(StoreError) in try path.propertyNames }
    self.value = value
  }

  /// Sets an attribute to a value.
  public static func set<Value: AttributeValue>(
    _ path: KeyPath<Object, Value>, to value: Value
  ) -> BulkChange {
    BulkChange(path, .attribute { _ in try value.stored() })
  }

  /// Sets a to-one to an object, or to nil. The objects are then changed one by one.
  public static func set<Target: ManagedObject>(
    _ path: KeyPath<Object, Target?>, to target: Target?
  ) -> BulkChange {
    BulkChange(path, .target(target))
  }

  /// Adds a number to an attribute; a negative one subtracts.
  public static func increment<Value: AttributeValue & Numeric>(
    _ path: KeyPath<Object, Value>, by amount: Value
  ) -> BulkChange {
    BulkChange(path, .increment(Result { try amount.stored() }, fits: { Value(stored: $0) != nil }))
  }

  /// Adds a number to an attribute where it is not nil.
  public static func increment<Value: AttributeValue & Numeric>(
    _ path: KeyPath<Object, Value?>, by amount: Value
  ) -> BulkChange {
    BulkChange(path, .increment(Result { try amount.stored() }, fits: { Value(stored: $0) != nil }))
  }

  /// Sets an attribute by its name, as ``ManagedObject/set(_:to:)`` does: for objects without a class.
  public static func set(named name: String, to value: (any AttributeValue)?) -> BulkChange {
    BulkChange(name) { attribute in
      try value.map { try attribute.type.stored(of: $0) } ?? .null
    }
  }

  private init(_ name: String, _ form: @escaping (AttributeDescription) throws -> SQLValue) {
    (path, value) = (.success([name]), .attribute(form))
  }
}

extension Fetch {
  /// Changes all objects that the fetch finds, in one transaction.
  ///
  /// ```swift
  /// let unread = try context.fetch(Message.self).where("isRead == NO")
  /// let count = try unread.update(.set(\.isRead, to: true))
  /// ```
  ///
  /// One statement changes all rows, and no object is made. While there are listeners
  /// (``Store/changes(bufferingUpTo:)``, live results, contexts that merge), the former values are read for
  /// them before. Objects of this context that are in memory are read again when they are next needed; other
  /// contexts, listeners and live results learn of each changed object. Objects that have the values already
  /// stay as they are: their rows get no new version.
  ///
  /// The objects are read, changed and saved one by one instead if a class has a hook for it (`willSave`,
  /// `didSave`, `validateForUpdate`), the context has an ``ObjectContext/undoManager`` or an
  /// ``ObjectContext/onWillSave``, the table has triggers, or a changed property is a to-one, unique, or is
  /// incremented and a `Decimal`, a `Float` or a number with a check. That takes memory for all of them.
  ///
  /// In ``Store/write(_:)`` the change is part of the transaction, and pending changes are saved before it.
  /// In another context it is a transaction of its own. ``ObjectContext/rollback()`` does not undo it.
  /// - Parameter changes: The new values. If two name one property, the last one wins.
  /// - Returns: The number of objects that were changed.
  /// - Throws: ``StoreError/unsavedChanges`` outside of a write, if the context has pending changes;
  ///   ``StoreError/validation(_:)`` for a value that breaks a rule;
  ///   ``StoreError/propertyMisused(entity:property:reason:)``; the errors of ``all()`` and of
  ///   ``ObjectContext/save()``. Nothing is changed then.
  @discardableResult
  public func update(_ changes: BulkChange<Object>...) throws -> Int { try update(all: changes) }

  fileprivate func update(all changes: [BulkChange<Object>]) throws -> Int {
    let entity = try known()
    let values = try changes.map { try BulkValue($0, of: entity) }
    guard !values.isEmpty else { return 0 }
    let last = Dictionary(values.map { ($0.slot, $0) }, uniquingKeysWith: { $1 }).values.sorted {
      $0.slot < $1.slot
    }
    if try context.changesOneByOne(.updating, in: entity.branch) || last.contains(where: \.needsObjects)
      || context.firesTriggers(entity)
    {
      return try changeOneByOne { object in for value in last { try value.apply(to: object) } }
    }
    let failures = last.flatMap { $0.failures(entity) }
    let updates = last.compactMap(\.update)
    guard !updates.isEmpty || !failures.isEmpty else { return 0 }
    guard failures.isEmpty else {
      guard try exists() else { return 0 }
      throw StoreError.validation(failures)
    }
    let fetch = includingPending(false)
    return try context.savingFirst {
      let compiled = try fetch.compiled(.ids, entity)
      return try context.updateRows(
        BulkUpdate(
          entity: entity, values: updates, ids: compiled.text, bindings: compiled.bindings))
    }
  }

  /// Deletes all objects that the fetch finds, with what their delete rules say, in one transaction.
  ///
  /// ```swift
  /// let old = try context.fetch(Message.self).where("isRead == YES")
  /// let count = try old.delete()
  /// ```
  ///
  /// No object is read: delete rules are applied to rows, as by the save of a deleted object. Objects of this
  /// context that are in memory and are deleted become ``ManagedObject/State/invalid``.
  ///
  /// The objects are read and deleted one by one instead if a class has a hook for it
  /// (`prepareForDeletion`, `validateForDelete`), or if the context has an ``ObjectContext/undoManager`` or
  /// an ``ObjectContext/onWillSave``. Transactions are those of ``update(_:)``.
  /// - Returns: The number of objects that the fetch found, without those that delete rules deleted.
  /// - Throws: ``StoreError/unsavedChanges`` outside of a write, if the context has pending changes;
  ///   ``StoreError/deleteDenied(entity:rowID:property:count:)``; the errors of ``all()`` and of
  ///   ``ObjectContext/save()``. Nothing is deleted then.
  @discardableResult
  public func delete() throws -> Int {
    let entity = try known()
    if context.changesOneByOne(.deleting, in: context.reachedByDeletions(of: entity)) {
      return try changeOneByOne { context.delete($0) }
    }
    let fetch = includingPending(false)
    return try context.savingFirst {
      let compiled = try fetch.compiled(.ids, entity)
      return try context.deleteRows(of: entity) { connection in
        try connection.query(sql: compiled.text, compiled.bindings) { $0.int64(0) }
      }
    }
  }

  /// Reads the objects, changes each, and saves them.
  private func changeOneByOne(_ change: (Object) throws -> Void) throws -> Int {
    try context.savingFirst {
      let objects = try all()
      var count = 0
      do {
        try context.oneUndo {
          for object in objects {
            try change(object)
            if object.isUpdated || object.isDeleted { count += 1 }
          }
        }
        try context.save()
      } catch {
        context.rollback()
        throw error
      }
      return count
    }
  }
}

extension ObjectContext {
  /// Changes all objects that a request finds: see ``Fetch/update(_:)``.
  ///
  /// ```swift
  /// let unread = try Message.request.where("isRead == NO")
  /// let marked = try context.update(unread, .set(\.isRead, to: true))
  /// ```
  /// - Parameters:
  ///   - request: What to change.
  ///   - changes: The new values.
  /// - Returns: The number of objects that were changed.
  /// - Throws: As ``Fetch/update(_:)``.
  @discardableResult
  public func update<Object>(
    _ request: ObjectRequest<Object>, _ changes: BulkChange<Object>...
  ) throws -> Int {
    try fetch(request).update(all: changes)
  }

  /// Deletes all objects that a request finds: see ``Fetch/delete()``.
  /// - Parameter request: What to delete.
  /// - Returns: The number of objects that the request found.
  /// - Throws: As ``Fetch/delete()``.
  @discardableResult
  public func delete<Object>(_ request: ObjectRequest<Object>) throws -> Int {
    try fetch(request).delete()
  }
}

/// A new value of a property, in its stored form.
private struct BulkValue<Object: ManagedObject> {
  let slot: Int
  let name: String
  let change: BulkChange<Object>
  private let form: Result<SQLValue, any Error>
  let needsObjects: Bool

  init(_ change: BulkChange<Object>, of entity: EntityMapping) throws {
    let names = try change.path.get()
    name = names.shownPath
    self.change = change
    guard names.count == 1, let slot = entity.slot(named: names[0]) else {
      throw names.count == 1
        ? StoreError.noProperty(
          entity: entity.name, property: name, similar: nearest(name, among: entity.slots.map(\.name)))
        : Self.misused(
          name, in: entity, reason: "is not a property of the object itself; update the related objects")
    }
    self.slot = slot
    let info = entity.slots[slot]
    let isUnique =
      entity.uniqueKeys.contains { $0.contains(slot) } || entity.rawUniqueSlots.contains(slot)
    switch (change.value, info.attribute) {
    case (.attribute(let make), let attribute?):
      form = Result { try Self.readable(try make(attribute), info) }
      needsObjects = isUnique
    case (.increment(let amount, _), let attribute?):
      if case .failure(let error) = amount {
        throw StoreError.validation([
          ValidationFailure(
            entity: entity.name, property: name, rowID: 0, reason: "cannot be incremented: \(error)")
        ])
      }
      form = amount
      // A sum of two floats is rounded to a float, which SQL does not do.
      needsObjects =
        isUnique || !info.checks.isEmpty || attribute.type == .float || (try? form.get())?.double == nil
    case (.target, nil) where info.relationship?.isToMany == false:
      (form, needsObjects) = (.success(.null), true)
    case (.target, _): throw Self.misused(name, in: entity, reason: "is not a to-one")
    case (.attribute, nil), (.increment, nil):
      throw Self.misused(name, in: entity, reason: "is a relationship and has no value to set")
    }
  }

  private static func misused(
    _ name: String, in entity: EntityMapping, reason: String
  ) -> StoreError {
    .propertyMisused(entity: entity.name, property: name, reason: reason)
  }

  /// Returns a stored form, if the property of the class can represent it.
  private static func readable(_ value: SQLValue, _ info: PropertyMapping) throws -> SQLValue {
    guard !value.isNull, let reader = info.reader, !reader.reads(value) else { return value }
    throw UnstorableValue(description: "the property of the class has no such value")
  }

  /// The rules that a constant breaks.
  func failures(_ entity: EntityMapping) -> [ValidationFailure] {
    guard case .attribute = change.value else { return [] }
    var (value, refused): (SQLValue, (any Error)?) = (.null, nil)
    do { value = try form.get() } catch { refused = error }
    return entity.brokenRules(slot, value, refused: refused).map {
      ValidationFailure(entity: entity.name, property: name, rowID: 0, reason: $0)
    }
  }

  /// The change for a statement.
  var update: (slot: Int, value: BulkUpdate.Value)? {
    guard let value = try? form.get() else { return nil }
    if case .increment(_, let fits) = change.value {
      return value.double == 0 ? nil : (slot, .sum(value, fits: fits))
    }
    return (slot, .constant(value))
  }

  func apply(to object: ManagedObject) throws {
    switch change.value {
    case .attribute: try object.set(name, toStored: form.get())
    case .target(let target):
      try object.requireChangeable(name)
      object.writeToOne(target, UInt16(slot))
    case .increment(_, let fits):
      let (present, amount) = (try object.value(name), try form.get())
      if present.isNull { return }
      let sum = ValueArithmetic.calculate(present, .add, with: amount)
      guard !sum.isNull, fits(sum) else {
        throw StoreError.sumOutOfRange(object.nameOfEntity, property: name, rowID: object.rowID)
      }
      try object.set(name, toStored: sum)
    }
  }
}
