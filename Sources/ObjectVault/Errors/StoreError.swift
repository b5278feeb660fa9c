// Errors of the object layer. Errors of files, keys and SQL are in SQLError.

private import CipherSQLite

/// An error of schemas, objects, fetches or migrations.
///
/// Each case carries what a person needs to act on it; `description` states what happened and what to do.
/// No case contains a key or values of objects.
public enum StoreError: Error, Sendable, Equatable {
  /// The schema has faults; all of them are listed.
  case invalidSchema([SchemaFault])
  /// An entity of the schema was not declared with a Swift class: use `Entity(User.self)`.
  case entityWithoutClass(entity: String)
  /// A class, or an entity that a change set names, is not in the store's schema.
  case unknownEntity(name: String)
  /// The store's model has no entity with this name; `similar` are entities with similar names.
  case noEntity(name: String, similar: [String])
  /// An entity has no property with this name; `similar` are properties with similar names.
  case noProperty(entity: String, property: String, similar: [String])
  /// A property was accessed by name with the wrong type: an attribute as a relationship, a string as a
  /// number.
  case propertyMisused(entity: String, property: String, reason: String)
  /// A renaming that was passed is not possible: another renaming contradicts it, or the new name is
  /// taken. The first text is the renaming, as ``MigrationRenaming/init(_:)`` reads it.
  case renamingRefused(String, reason: String)
  /// An object was accessed by the name of its entity, in a store that was opened with classes.
  case openedWithClasses(entity: String)
  /// The row of an object does not exist, or the object belongs to no context.
  case objectGone(entity: String, rowID: Int64)
  /// A property was used on an object that belongs to no context: it was made by its own initializer, or
  /// its context was released. For a deletion, `property` is `delete`; for ``ManagedObject/load()``
  /// it is `load`.
  case noContext(entity: String, property: String)
  /// No higher id is left for new objects of an entity, or a row has an id that is too high: the highest
  /// is 2^62 - 1.
  case idsExhausted(entity: String)
  /// A column has a value that its attribute's type cannot read.
  case unreadableValue(entity: String, property: String, rowID: Int64, expected: String)
  /// An object was deleted in another context than its own.
  case foreignDeletion(entity: String, rowID: Int64)
  /// An object that was created before cannot be inserted into the context, for this reason.
  case cannotInsert(entity: String, reason: String)
  /// A relationship was set to an object of another context, or to a deleted one.
  case foreignObject(entity: String, property: String)
  /// An id belongs to an object of another store.
  case idOfAnotherStore(entity: String, rowID: Int64)
  /// A look-up was given the temporary id of a new object of another context. The save gives the object its
  /// final id. An encoder throws `EncodingError.invalidValue` with the text of this error.
  case temporaryID(entity: String)
  /// A URI does not name an object: it has another form than ``ObjectID/uri``, or names another entity.
  case uriRefused(uri: String, reason: String)
  /// A value of ``ObjectContext/metadata`` was set as another type than it was read as; `expected` is the
  /// type that was requested.
  case metadataUnreadable(name: String, expected: String)
  /// Objects break the schema's rules; nothing was saved.
  case validation([ValidationFailure])
  /// Another writer has changed or deleted a row that is changed here, or has changed a row that is
  /// deleted here, since the row was fetched; nothing was saved.
  /// All such rows are listed; at the end of ``Store/write(_:)`` only the first one. See
  /// ``ObjectContext/mergePolicy`` and ``ObjectContext/conflicts()``.
  case conflicts([Conflict])
  /// The store, or an entity of it, has no history: declare it with ``Entity/history(_:)``, and write the
  /// migration step. `entity` is nil for the store.
  case noHistory(entity: String?)
  /// A token of the history is older than what is kept: transactions up to this number were purged.
  case historyPurged(file: String, through: Int64)
  /// A token of the history belongs to another store, or to a transaction that this store does not have: it
  /// was restored from an older copy.
  case historyDiffers(file: String)
  /// The history does not contain the state of an object at a transaction, for this reason.
  case stateUnknown(entity: String, rowID: Int64, reason: String)
  /// A transaction of the history cannot be undone, for this reason.
  case notReversible(transaction: Int64, reason: String)
  /// A change set cannot be applied: an object does not have the old values of the set, or cannot get the
  /// new ones; nothing was written.
  case changesDoNotFit(entity: String, rowID: Int64, properties: [String])
  /// A change set cannot be applied: ``ObjectContext/execute(_:)`` has changed these entities, and what it
  /// changed is not part of the set; nothing was written.
  case changesNotRecorded(entities: [String])
  /// SQL was to read or change rows while the context has changes that are not saved, which SQL cannot
  /// see.
  case unsavedChanges
  /// A context does not run this SQL, for this reason; nothing was changed.
  case sqlRefused(sql: String, reason: String)
  /// A delete rule denies the deletion of an object; nothing was saved. `count` is the number of objects
  /// that are still related to it. If there are several denials, one is reported.
  case deleteDenied(entity: String, rowID: Int64, property: String, count: Int)
  /// A hook of a class, or ``ObjectContext/onWillSave``, does what no hook may, for this reason; nothing was
  /// saved. `entity` is empty and `rowID` is 0 for `onWillSave`.
  case hookFailed(entity: String, rowID: Int64, hook: String, reason: String)
  /// An undo or a redo was not made, for this reason; nothing was changed. `conflicts`: the objects that
  /// other writers have changed, with the properties; see ``ObjectContext/undo(overwriting:)``.
  case undoRefused(reason: String, conflicts: [Conflict])
  /// The context may only read.
  case readOnlyContext
  /// The call is not available: a scratch context does not write, and ``ObjectContext/makeScratch()`` is not
  /// available inside of a read or a write.
  case scratchNotSaved
  /// ``ObjectContext/takeChanges(of:)`` was called on another context than the one that made the scratch
  /// context.
  case scratchOfAnother
  /// A predicate cannot be parsed or run.
  case predicate(PredicateError)
  /// The regular expression of a `MATCHES` took longer for one text than the number of seconds that
  /// ``Store/Configuration/matchLimit`` allows.
  case matchTooSlow(seconds: Double)
  /// Objects were to be found by attributes whose values do not identify an object. `keys` are the unique
  /// attributes of the entity; of several that are unique together, the names are joined by commas.
  case notUnique(entity: String, properties: [String], keys: [String])
  /// A value by which an object was to be found is nil, or cannot be a value of its attribute. `row` is the
  /// position of the row that has it, counted from 0; nil where there are no rows.
  case keyRefused(entity: String, property: String, row: Int?, reason: String)
  /// An object was to be found or inserted by a key that an object of another entity of the inheritance
  /// hierarchy has: `holder` is that entity, and `rowID` its row.
  case keyTaken(entity: String, properties: [String], holder: String, rowID: Int64)
  /// JSON cannot be imported. `place` is the place in the JSON, such as `[3].user.age`, counted from 0; empty
  /// for the whole of it. The reason contains no values.
  case jsonRefused(place: String, reason: String)
  /// A fetch of one object found none.
  case noResult(entity: String)
  /// A fetch of one object found several.
  case severalResults(entity: String)
  /// The sum of the values of a property is beyond the range of the sum's type: 64 bits for integers, 38
  /// digits for decimals.
  case sumTooLarge(entity: String, property: String)
  /// A migration file cannot be read.
  case migrationSyntax(MigrationSyntaxError)
  /// A migration step failed; the store is unchanged.
  case migrationFailed(step: Int, name: String, operation: String, reason: String)
  /// A unique index, a required property or a narrower type rejects existing rows in a migration step;
  /// the store is unchanged. A plan reports such rows in advance (``MigrationPlan/refusals``), as far as
  /// it can check them.
  case rowsRefused(step: Int, name: String, operation: String, reason: String)
  /// A pending step loses data, and its file does not allow it; nothing was changed. `emptied`: the
  /// to-manys that a loss leaves without members, as in ``MigrationPlan/Step/emptied``.
  case lossNotAllowed(step: Int, name: String, losses: [String], emptied: [String: [String]] = [:])
  /// A step calls a function of the app that this program does not have; nothing was changed. The app's
  /// own tool has it: see ``MigrationTransform``.
  case transformMissing(step: Int, name: String, transform: String)
  /// A run stopped after some of its steps were committed separately
  /// (``Store/Configuration/commitsEachStep``). The store is at this version, or was when the run last
  /// read it. After committed steps every error except `CancellationError` is wrapped in this case.
  case stopped(atVersion: Int, by: Cause)
  /// Between two separately committed steps, another process migrated the store in the other direction;
  /// the run stopped.
  case steppedBack(file: String, left: Int, found: Int)
  /// The disk is full; the store is unchanged.
  case diskFull(file: String)
  /// The program's steps contradict the store's history.
  case historyConflict(HistoryConflict)
  /// The store has a later version than these steps make. `canDowngrade`: whether the store carries the
  /// rollback to the last of these steps, which `Store.downgrade` runs.
  case storeIsNewer(file: String, found: Int, supported: Int, migratedBy: String?, canDowngrade: Bool)
  /// A step cannot be undone, for this reason; nothing was changed.
  case cannotRollBack(step: Int, name: String, reason: String)
  /// Undoing a step loses data that was entered since, which was not allowed; nothing was changed.
  /// `emptied`: as in ``lossNotAllowed(step:name:losses:emptied:)``.
  case rollbackLoses(step: Int, name: String, losses: [String], emptied: [String: [String]] = [:])
  /// The record of a step cannot be repaired, for this reason; nothing was changed.
  case repairRefused(file: String, step: Int, reason: String)
  /// A file of another program cannot become a store, for this reason; nothing was changed. `takesRows`:
  /// whether its rows can be imported into a new store (`Store.adopt` of `VaultAuthoring`).
  case adoptionRefused(file: String, reason: String, takesRows: Bool = false)
  /// A file of another program cannot be imported completely, and the losses were not allowed; nothing
  /// was changed.
  case adoptionLoses(file: String, losses: [AdoptionLoss])
  /// Steps cannot be folded into one, for this reason.
  case foldRefused(through: Int, reason: String)
  /// The store needs a longer migration than this opening may run; nothing was changed.
  case migrationNeeded(MigrationNeed)
  /// The change from the store's model to the classes is more than ``Store/Migrations/automatic`` does;
  /// nothing was changed. `lines` are the operations of the step to write. They are empty where a class
  /// declares `.renamed(from:)` with a former name that is in use as well, so that the model of the store
  /// would be ambiguous.
  case notAutomatic(file: String, reasons: [String], lines: [String])
  /// The store was created by ``Store/Migrations/creatingSchema`` from classes that have changed since;
  /// nothing was changed. `lines` are the operations of the step to write.
  case madeOfOtherClasses(file: String, differences: [String], lines: [String])
  /// The Swift schema differs from the model that the steps make; `lines` are operations that would make
  /// them equal.
  case schemaMismatch(differences: [String], lines: [String])
  /// The file's tables differ from those of the model that the file records.
  case schemaDrift(file: String, differences: [String])
  /// Objects that another program added to the file obstruct the steps; nothing was changed. They are: a
  /// trigger that would be dropped with its table; an object with a name that a step needs; a view,
  /// trigger or reference that uses what a step removes; a view or trigger that works before the steps
  /// but not after them. A plan reports all but the last kind.
  case stepsObstructed(file: String, obstacles: [String])
  /// The file is an encrypted database, but no store of this library.
  case notAStore(file: String)
  /// The file has a format that this release does not read: that of a later release, or a lower number
  /// than any release has written.
  case otherFormat(file: String, found: Int, supported: Int)
  /// A bookkeeping table, such as `vault_meta`, is missing, has other columns, or contains an invalid
  /// entry.
  case bookkeepingDamaged(file: String, place: String, reason: String)
  /// Another process migrated the store while it was open here; open it again.
  case storeMigratedElsewhere(file: String)
  /// The disk has not enough free space for the operation.
  case notEnoughSpace(file: String, neededBytes: Int, freeBytes: Int)
  /// The copy before a migration could not be made; no step ran.
  case backupFailed(file: String, backup: String, reason: String)
}

/// A conflict between two versions of one row.
public struct Conflict: Sendable, Hashable {
  /// The entity of the row.
  public let entity: String
  /// The id of the row.
  public let rowID: Int64
  /// The version that was fetched.
  public let fetchedVersion: Int64
  /// The version in the store, or nil when the row does not exist.
  public let storedVersion: Int64?
  /// The properties with changes to save.
  public let properties: [String]

  /// Creates a conflict.
  public init(
    entity: String, rowID: Int64, fetchedVersion: Int64, storedVersion: Int64?, properties: [String]
  ) {
    self.entity = entity
    self.rowID = rowID
    self.fetchedVersion = fetchedVersion
    self.storedVersion = storedVersion
    self.properties = properties
  }
}

extension Conflict {
  /// What happened and what to do.
  fileprivate var sentences: String {
    let changed = properties.joined(separator: ", ")
    if storedVersion == nil, !properties.isEmpty {
      return "\(entity) \(rowID) was deleted by another writer since it was fetched (changed here: "
        + "\(changed)). Refresh the object (this discards its changes) and save, or roll back. If the object "
        + "is still needed, resolve the conflict keeping .mine: it is inserted again."
    }
    return "\(entity) \(rowID) was \(storedVersion == nil ? "deleted" : "changed") by another writer since "
      + "it was fetched "
      + (properties.isEmpty
        ? "and is deleted here. Roll back, fetch it again, delete it and save; or set a merge policy."
        : "(changed here: \(changed)). Refresh the object, apply the change again and save; or set a merge "
          + "policy.")
  }
}

extension StoreError: CustomStringConvertible {
  /// States what happened and what to do.
  public var description: String {
    switch self {
    case .invalidSchema(let faults):
      "The schema has \(faults.count == 1 ? "a fault" : "\(faults.count) faults"): "
        + faults.map { "\($0)" }.joined(separator: " ")
    case .entityWithoutClass(let entity):
      "The entity \(entity) of the schema was not declared with a Swift class. Declare it with "
        + "Entity(\(entity).self)."
    case .noEntity(let name, let similar):
      ended(
        "The model has no entity \"\(shortened(name))\"\(didYouMean(similar).map { "; \($0)" } ?? "")"
      )
    case .noProperty(let entity, let property, let similar):
      ended(
        "\(entity) has no property \"\(shortened(property))\"\(didYouMean(similar).map { "; \($0)" } ?? "")")
    case .propertyMisused(let entity, let property, let reason): ended("\(entity).\(property) \(reason)")
    case .renamingRefused(let renaming, let reason): "\(renaming): \(ended(reason))"
    case .openedWithClasses(let entity):
      "\(entity) was accessed by its name, but the store was opened with Swift classes. Use the class, or "
        + "open the store without a schema."
    case .unknownEntity("DynamicObject"):
      "A DynamicObject can be of any entity. Name the entity: fetch(entity:), insert(entity:)."
    case .unknownEntity(let name):
      "\(name) is not in the store's schema. Add Entity(\(name).self) to it."
    case .objectGone(let entity, let rowID):
      "\(entity) \(rowID < 0 ? "(new)" : "\(rowID)") no longer exists: its row was deleted, or its context "
        + "was released. If it still exists, fetch it again."
    case .noContext(let entity, "delete"):
      "An object of \(entity) was to be deleted, but it belongs to no context: it was not inserted, or its "
        + "context was released. Delete an object in the context that it was fetched in."
    case .noContext(let entity, "load"):
      "An object of \(entity) was to be read, but it belongs to no context: it was not inserted, or its context "
        + "was released. Fetch it in a context that lives as long as the object is in use."
    case .noContext(let entity, let property):
      "\(entity).\(property) was used, but the object belongs to no context and has no values. Create "
        + "objects with context.insert, and keep their context alive as long as they are in use."
    case .idsExhausted(let entity):
      "\(entity) has no id left for new objects: a row has, or had, an id so high that none is left above "
        + "it. Ids end at \(Int64.max >> 1). Close the store in every program. If the row still exists, give "
        + "it, and the references to it, a lower id with the sqlcipher shell. Then set last in vault_ids, "
        + "where entity is '\(entity)', to the highest id that is still in use, or to 0. In another "
        + "program's file, set seq in sqlite_sequence instead."
    case .unreadableValue(let entity, let property, let rowID, let expected):
      "\(entity).\(property) of row \(rowID) has a value that is not a valid \(expected). Correct it with a "
        + "migration step."
    case .foreignDeletion(let entity, let rowID):
      "\(entity) \(rowID < 0 ? "(new)" : "\(rowID)") belongs to another context and cannot be deleted in "
        + "this one. Delete it in its own context, or fetch it in this one by its id."
    case .cannotInsert(let entity, let reason):
      "An object of \(entity) cannot be inserted: \(ended(reason))"
    case .foreignObject(let entity, let property):
      "\(entity).\(property) was set to an object of another context, or to a deleted one. Fetch an object "
        + "of another context in this one, by its id; a deleted object cannot be used."
    case .idOfAnotherStore(let entity, let rowID):
      "\(entity) \(rowID < 0 ? "(new)" : "\(rowID)") is an id of another store, and refers to another object "
        + "here. Find the object in this store by its values."
    case .temporaryID(let entity):
      "The id of a new \(entity) is temporary: only the object's own context knows it. Save the object first, "
        + "or insert it in store.write, where its id is final at once."
    case .uriRefused(let uri, let reason): ended("The URI \(legible(shortened(uri))) \(reason)")
    case .metadataUnreadable(let name, let expected):
      "The metadata \"\(legible(shortened(name)))\" has a value that is not a valid \(expected). Read it as "
        + "the type that it was set as, or set it again."
    case .validation(let failures):
      "Nothing was saved: "
        + failures.prefix(8).map { "\($0)" }.joined(separator: "; ")
        + (failures.count > 8 ? "; and \(failures.count - 8) more" : "")
        + ". Correct the objects and save again."
    case .conflicts(let conflicts):
      conflicts.prefix(8).map(\.sentences).joined(separator: " ")
        + (conflicts.count > 8 ? " And \(conflicts.count - 8) more." : "")
    case .changesDoNotFit(let entity, let rowID, let properties):
      "Nothing was applied: the changes do not fit \(entity) \(rowID)"
        + (properties.isEmpty ? "" : " (\(properties.joined(separator: ", ")))")
        + ". Apply change sets in commit order, to a store in the state before the first of them. A set "
        + "made by hand may contain each object once, only values of the right types, and no two objects "
        + "that use the same target of a one-to-one."
    case .changesNotRecorded(let entities):
      "Nothing was applied: execute(_:) has changed \(entities.joined(separator: ", ")), and a change set does "
        + "not contain changes by SQL. Run the same SQL on this store, or copy the file."
    case .unsavedChanges:
      "The context has changes that are not saved, and a statement of SQL cannot see them. Save first. "
        + "To read the stored rows without saving, pass includingPending: false to rows(_:)."
    case .sqlRefused(let sql, let reason): "\(ended("This SQL \(reason)")) It was not run: \(shortened(sql))"
    case .hookFailed(let entity, let rowID, let hook, let reason):
      "Nothing was saved: \(entity.isEmpty ? "" : "\(entity) \(rowID < 0 ? "(new)" : "\(rowID)"), ")"
        + ended("\(hook) \(reason)")
    case .undoRefused(let reason, let conflicts) where !conflicts.isEmpty:
      "Nothing was changed. \(reason): "
        + conflicts.prefix(8).map {
          "\($0.entity) \($0.rowID) (\($0.properties.joined(separator: ", ")))"
        }.joined(separator: ", ") + ". To replace them, pass overwriting: true."
    case .undoRefused(let reason, _): "Nothing was changed. \(ended(reason))"
    case .deleteDenied(let entity, let rowID, let property, let count):
      "Nothing was saved: \(entity).\(property) of \(rowID < 0 ? "new object" : "row") \(rowID) still has "
        + "\(counted(count, "object")), and its delete rule is deny. Delete them too, or end their "
        + "relationship to it: set a to-one to nil, or use remove(_:from:) for a to-many."
    case .scratchNotSaved:
      "A scratch context does not write to the store, and is made of a context from store.makeContext() or "
        + "store.mainContext. Take its changes over there: context.takeChanges(of:). Nothing was saved."
    case .scratchOfAnother:
      "Only the context of which a scratch context was made takes its changes over. Call takeChanges(of:) of that "
        + "context. Nothing was changed."
    case .readOnlyContext: "This context is read-only. Use store.write, or store.makeContext()."
    case .predicate(let error): error.description
    case .matchTooSlow(let seconds):
      "The regular expression of a MATCHES took longer than \(seconds) s for one text. A repetition within a "
        + "repetition, such as (a+)+, takes exponential time: write the expression without it, or raise "
        + "matchLimit in the store's configuration."
    case .notUnique(let entity, let properties, let keys): Self.notUnique(entity, properties, keys: keys)
    case .keyRefused(let entity, let property, let row, let reason):
      (row.map { "Row \($0) (counted from 0) has no usable key: " } ?? "") + "\(entity).\(property) "
        + ended(reason) + " A key is a value that the attribute can have, and not nil."
        + (row == nil ? "" : " Leave out rows without such a value, or insert them by insert(contentsOf:).")
    case .keyTaken(let entity, let properties, let holder, let rowID):
      "An object of \(entity) was to be found or inserted by its value of "
        + "\(properties.joined(separator: ", ")), but \(holder) \(rowID < 0 ? "(new)" : "\(rowID)") already has "
        + "that value. The value is unique among all "
        + "entities of the inheritance hierarchy. Use another value, delete that object, or name its entity."
    case .jsonRefused(let place, let reason):
      "The JSON\(place.isEmpty ? "" : " at \(place)") cannot be imported: \(ended(reason)) Nothing was changed."
    case .noResult(let entity):
      "No \(entity) was found. Correct the predicate, or use first(), which returns nil."
    case .sumTooLarge(let entity, let property):
      "The sum of \(entity).\(property) is beyond the range of its type. Add the fetched values in a type "
        + "with a larger range, such as Double."
    case .severalResults(let entity):
      "More than one \(entity) was found. Narrow the predicate, or use first() or all()."
    case .migrationSyntax(let error): error.description
    case .migrationFailed(let step, let name, let operation, let reason),
      .rowsRefused(let step, let name, let operation, let reason):
      "Step \(numbered(step)) \(name) failed at \(legible(operation)): "
        + "\(ended(legible(reason)))\(Self.unchanged)"
    case .stopped(let version, let cause): Self.stopped(version, cause)
    case .steppedBack(let file, let left, let found):
      "\(file): another process migrated this store in the other direction. This run had reached version "
        + "\(left), and the store is at version \(found) now. Run only one of the two processes at a time."
    case .lossNotAllowed(let step, let name, let losses, let emptied):
      "Step \(numbered(step)) \(name) permanently loses \(lossText(losses, emptied)), which its file does "
        + "not allow. If that is intended, add this line to the head of its file: allow: "
        + losses.map { "lossy:\($0)" }.joined(separator: ", ") + ". Nothing was changed."
    case .transformMissing(let step, let name, let transform):
      "Step \(numbered(step)) \(name) calls the Swift function \"\(transform)\", which this program does not "
        + "have. Use the app's own tool, or pass the function with the steps (see MigrationTransform). "
        + "Nothing was changed."
    case .diskFull(let file):
      "\(file): the disk is full, or a quota or size limit is reached. Make room and try again."
        + "\(Self.unchanged)"
    case .historyConflict(let conflict): conflict.description
    case .storeIsNewer(let file, let found, let supported, let migratedBy, let canDowngrade):
      "\(file) is at version \(found); these migrations end at \(supported)."
        + (migratedBy.map { " It was last migrated by \($0)." } ?? "") + " Update the program"
        + (canDowngrade
          ? ", or roll the store back to \(supported) with the rollback that it carries (Store.downgrade)."
          : ".")
    case .cannotRollBack(let step, let name, let reason):
      "Step \(numbered(step)) \(name) cannot be rolled back: \(ended(legible(reason))) Nothing was changed."
    case .rollbackLoses(let step, let name, let losses, let emptied):
      "Rolling back step \(numbered(step)) \(name) permanently loses the data in "
        + "\(lossText(losses, emptied)), which was not allowed. If that is intended, allow these names: "
        + losses.joined(separator: ", ") + ". Nothing was changed."
    case .repairRefused(let file, let step, let reason):
      "\(file): the record of step \(numbered(step)) cannot be repaired: \(ended(reason)) Nothing was "
        + "changed."
    case .adoptionRefused(let file, let reason, let takesRows):
      "\(file) cannot \(takesRows ? "become a store in place" : "be imported"): \(ended(reason)) "
        + (takesRows ? "Its rows can be imported into a new store. " : "") + "Nothing was changed."
    case .adoptionLoses(let file, let losses):
      "\(file): some of its content has no place in a store. Nothing was changed."
        + losses.map { "\n  \($0)" }.joined()
        + "\nTo import the file without it, allow these names: \(losses.map(\.name).joined(separator: ", "))."
    case .foldRefused(let number, let reason):
      "The steps up to \(numbered(number)) cannot be folded into one: \(ended(reason))"
    case .migrationNeeded(let need): need.description
    case .notAutomatic(let file, let reasons, let lines):
      "\(file): "
        + (lines.isEmpty
          ? "the former name in .renamed(from:) is still in use, so the classes do not determine which model an "
            + "existing store has: "
          : "the classes differ from the store's model, and this change cannot be made automatically: ")
        + reasons.map(ended).joined(separator: " ")
        + (lines.isEmpty
          ? " Use step files: the steps of the store, if it exists (Store.carriedSteps), followed by the new "
            + "step."
          : " From now on, write the steps yourself: those of the store (Store.carriedSteps), and one with "
            + "these lines, "
            + "once you have reviewed them:\n" + lines.joined(separator: "\n"))
    case .madeOfOtherClasses(let file, let differences, let lines):
      "\(file) has a model that differs from the classes, and .creatingSchema cannot change the model of a "
        + "store: \(differences.joined(separator: "; ")). Changes need step files: write "
        + "Store.carriedSteps(at:key:).steps[0].text to Migrations/0001_initial.migration, write the change "
        + "to a second file, and open the store with both"
        + (lines.isEmpty ? "." : ". If nothing was renamed, the change is:\n" + lines.joined(separator: "\n"))
    case .schemaMismatch(let differences, let lines):
      "The Swift schema differs from the model that the migration steps make: "
        + "\(differences.joined(separator: "; ")). Correct the classes, or write the missing step"
        + (lines.isEmpty ? "." : ". If nothing was renamed, the step is:\n" + lines.joined(separator: "\n"))
    case .schemaDrift(let file, let differences):
      "\(file): the tables differ from the store's model: \(differences.joined(separator: "; ")). "
        + "Undo what was changed by hand, or restore the file from a backup."
    case .stepsObstructed(let file, let obstacles):
      "\(file): objects that another program added to the file obstruct the steps: "
        + "\(obstacles.map(ended).joined(separator: " ")) Remove or rename them. Nothing was changed."
    case .noHistory(let entity?):
      "\(entity) has no history. Declare Entity(\(entity).self).history(), and write the migration step."
    case .noHistory(nil):
      "This store has no history. Declare that of an entity, such as Entity(Note.self).history(), and write the "
        + "migration step."
    case .historyPurged(let file, let number):
      "\(file): the transactions up to \(number) were purged from the history, and the token is older. Read "
        + "all objects again, and continue from Store.historyToken()."
    case .historyDiffers(let file):
      "\(file): the token is not one of this history: it belongs to another store, or the store was restored "
        + "from an older copy. Read all objects again, and continue from Store.historyToken()."
    case .stateUnknown(let entity, let id, let reason):
      "The history does not contain the earlier state of \(entity) \(id): \(ended(reason))"
    case .notReversible(let number, let reason):
      "Transaction \(number) cannot be undone: \(ended(reason)) Nothing was changed."
    case .notAStore(let file):
      "\(file): the key is right, but this is not a store of ObjectVault (it has no vault_meta table). Check "
        + "the path."
    case .otherFormat(let file, let found, let supported) where found < supported:
      "\(file) has format \(found), which no release has written; this release reads format \(supported). "
        + "Export the rows with the program that made the file, and import them into a new store."
    case .otherFormat(let file, let found, let supported):
      "\(file) has format \(found) of a later release; this release reads format \(supported). Update the "
        + "program."
    case .bookkeepingDamaged(let file, let place, let reason):
      "\(file): \(place) \(ended(reason)) Only the store itself may write this table, but another program "
        + "has changed it. Undo that with the sqlcipher shell, or restore the file from a backup."
    case .storeMigratedElsewhere(let file):
      "\(file): another process has migrated the store since it was opened here. Open it again."
    case .notEnoughSpace(let file, let needed, let free):
      "\(file): about \(diskSize(needed, up: true)) are needed, but only \(diskSize(free, up: false)) are "
        + "free. Make room and try again."
    case .backupFailed(let file, let backup, let reason):
      "\(file): no step ran, because the backup \(backup) could not be written: "
        + "\(ended(reason))"
    }
  }
}
