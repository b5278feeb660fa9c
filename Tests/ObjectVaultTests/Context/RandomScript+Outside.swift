// Disturbances from outside of the random script's context: reads fail for a while, and rows are deleted
// and restored. None of them changes what the context must find afterwards.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport

extension RandomScript {
  func disturb(_ store: Store) throws {
    let known = objects.filter { !isNew($0.key) && $0.value.state == .loaded && !$0.value.hasChanges }
    guard let key = outsideDice.pick(known.keys.sorted()), let object = known[key] else { return }
    if outsideDice.isOne(in: 2) || !(object is Paper) {
      try failReads(of: object, key, store)
    } else {
      try takeAway(object, key: key, from: store)
    }
    guard let found = try find(object, key) else { throw Mismatch("\(key) is not found again") }
    if found !== object { throw Mismatch("\(key) is another object") }
    if found.state != .loaded || name(found) != key { throw Mismatch("\(key) is empty") }
    if let error = context.faultErrors.first { throw Mismatch("after a disturbance: \(error)") }
  }

  private func failReads(of object: ManagedObject, _ key: Int, _ store: Store) throws {
    log("reads of \(key) fail")
    context.refresh(object)
    try store.whileReadsFail {
      if name(object) == key { throw Mismatch("\(key) was read") }
      // Reads of other objects, which may be in memory.
      for other in objects.values.prefix(3) { _ = name(other) }
      (object as? Maker)?.size = 7
      if let maker = object as? Maker { _ = (maker.parts.count, maker.labels.count, maker.boss?.key) }
    }
    try forgetErrors()
  }

  /// Deletes the row of a paper and restores it, as another process could delete it and undo that.
  private func takeAway(_ object: ManagedObject, key: Int, from store: Store) throws {
    guard let row = rows[key] else { return }
    log("paper \(key) goes and comes back")
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    try StoreInfo.prepare(connection)
    let owner = try connection.value("SELECT owner_id FROM Paper WHERE id = \(row)") ?? .null
    try connection.execute("DELETE FROM Paper WHERE id = \(row)")
    context.refresh(object)
    // Values that were read before can still be read.
    if name(object) != key || object.state != .invalid { throw Mismatch("\(key) is not gone") }
    try forgetErrors()
    try connection.execute(
      "INSERT INTO Paper (id, _version, key, owner_id) VALUES (\(row), \(77), \(key), \(owner))")
  }

  /// Saves: the save throws the first noted error and discards them all.
  private func forgetErrors() throws {
    guard !context.faultErrors.isEmpty else { throw Mismatch("no error was noted") }
    if (try? context.save()) != nil { throw Mismatch("the save told no error") }
  }

  private func find(_ object: ManagedObject, _ key: Int) throws -> ManagedObject? {
    switch (object, outsideDice.next(3)) {
    case (let object, 0):
      try object.load()
      return object
    case (_, 1): context.refresh(object)
    default: break
    }
    switch object {
    case is Maker: return try found(Maker.self, key)
    case is Part: return try found(Part.self, key)
    case is Paper: return try found(Paper.self, key)
    case is Label: return try found(Label.self, key)
    case is Badge: return try found(Badge.self, key)
    case is Group: return try found(Group.self, key)
    default: return nil
    }
  }

  private func found<Object: ManagedObject>(_ type: Object.Type, _ key: Int) throws -> ManagedObject? {
    outsideDice.isOne(in: 2)
      ? try context.existing(ObjectID<Object>(rowID: rows[key] ?? 0))
      : try context.fetch(type).where("key == %@", key).first()
  }

  private func name(_ object: ManagedObject) -> Int {
    switch object {
    case let object as Maker: object.key
    case let object as Part: object.key
    case let object as Paper: object.key
    case let object as Label: object.key
    case let object as Badge: object.key
    case let object as Group: object.key
    default: -2
    }
  }
}
