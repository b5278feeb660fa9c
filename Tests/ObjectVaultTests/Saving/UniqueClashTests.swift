// The errors of a save that cannot write unique values: all of them, the object that should get each
// value, and the one that has it.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct UniqueClashes {
  typealias Holder = ValidationFailure.Holder
  let temporary: TemporaryStore
  let context: ObjectContext
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(clashModel)
    context = temporary.store.makeContext()
  }

  private func account(_ name: String, mail: String? = nil) -> Account {
    context.insert(Account.self) { ($0.name, $0.mail) = (name, mail) }
  }

  /// The failures that a save reports.
  private func failures(of context: ObjectContext) -> [ValidationFailure] {
    do { try context.save() } catch StoreError.validation(let failures) { return failures } catch {
      Issue.record("another error: \(error)")
    }
    return []
  }

  private func failure(_ object: Account, _ property: String, holder: Holder) -> ValidationFailure {
    ValidationFailure(
      entity: "Account", property: property, rowID: object.id.rowID, reason: "must be unique", holder: holder)
  }

  @Test(arguments: [3, 50])
  func `all values that stored rows have are reported, each with its row`(_ count: Int) throws {
    let stored = (0..<count).map { account("\($0)") }
    try context.save()
    let new = (0..<count).map { account("\($0)") }
    let expected = zip(new, stored).map { new, stored in
      failure(new, "name", holder: Holder(entity: "Account", rowID: stored.id.rowID, isPending: false))
    }
    #expect(failures(of: context) == expected)
    #expect(new.allSatisfy { $0.isInserted && $0.id.rowID < 0 })
    for (number, object) in new.enumerated() { object.name = "new \(number)" }
    try context.save()
    #expect(try context.fetch(Account.self).count() == 2 * count)
  }

  @Test(arguments: [2, 50])
  func `of new objects with one value all but the first are reported, with the first as holder`(_ count: Int)
    throws
  {
    let new = (0..<count).map { _ in account("same") }
    let holder = Holder(entity: "Account", rowID: new[0].id.rowID, isPending: true)
    let found = failures(of: context)
    #expect(found == new.dropFirst().map { failure($0, "name", holder: holder) })
    #expect(
      found.first?.description
        == "Account.name of new object -2 must be unique, and new Account -1 has the same value")
  }

  @Test(arguments: [1, 60])
  func `clashes of changed objects are reported like those of new ones`(_ count: Int) throws {
    let kept = (0..<count).map { account("kept \($0)") }
    let changed = (0..<count).map { account("changed \($0)") }
    let gone = account("gone")
    try context.save()
    // A deletion in the same save, so that values may move between rows.
    context.delete(gone)
    for (number, object) in changed.enumerated() { object.name = "kept \(number)" }
    let expected = zip(changed, kept).map { object, holder in
      failure(object, "name", holder: Holder(entity: "Account", rowID: holder.id.rowID, isPending: false))
    }
    #expect(failures(of: context) == expected)
    #expect(changed.allSatisfy(\.hasChanges) && gone.isDeleted)
    #expect("\(expected[0])".hasSuffix("must be unique, and Account 1 has the same value"))
    // The holders change their values in the same save.
    for object in kept { object.name += " no more" }
    try context.save()
    #expect(try context.fetch(Account.self).where("name BEGINSWITH 'kept'").count() == 2 * count)
  }

  @Test func `an object is reported once for each of its values, and can be a holder as well`() throws {
    let (ann, bob) = (account("Ann", mail: "a@x"), account("Bob", mail: "b@x"))
    try context.save()
    let both = account("Ann", mail: "b@x")
    // The holder of c@x is refused itself.
    let third = account("Ann", mail: "c@x")
    let fourth = account("Dan", mail: "c@x")
    let rows = (
      Holder(entity: "Account", rowID: ann.id.rowID, isPending: false),
      Holder(entity: "Account", rowID: bob.id.rowID, isPending: false),
      Holder(entity: "Account", rowID: third.id.rowID, isPending: true)
    )
    #expect(
      failures(of: context) == [
        failure(both, "name", holder: rows.0), failure(both, "mail", holder: rows.1),
        failure(third, "name", holder: rows.0),
        failure(fourth, "mail", holder: rows.2),
      ])
  }

  @Test func `a rule of several properties compares them together, and nil is equal to nothing`() throws {
    let (one, two) = (account("1"), account("2"))
    (one.first, one.second) = (1, 1)
    (two.first, two.second, two.owner) = (1, 2, one)
    try context.save()
    let (third, fourth, fifth) = (account("3"), account("4"), account("5"))
    (third.first, third.second) = (1, 1)
    (fourth.first, fourth.second) = (1, nil)
    (fifth.first, fifth.second) = (1, nil)
    two.second = 1
    fifth.owner = one
    let holder = Holder(entity: "Account", rowID: one.id.rowID, isPending: false)
    let found = failures(of: context)
    // The to-one is unique, too, and both have the same owner.
    #expect(
      Set(found) == [
        failure(third, "first, second", holder: holder), failure(two, "first, second", holder: holder),
        failure(fifth, "owner", holder: Holder(entity: "Account", rowID: two.id.rowID, isPending: true)),
      ])
    #expect("\(found[0])".hasSuffix("has the same values"))
  }

  @Test func `the holder of a value is named with its own entity`() throws {
    let thing = context.insert(Device.self) { $0.serial = 7 }
    try context.save()
    let phone = context.insert(Phone.self) { $0.serial = 7 }
    let other = store.makeContext()
    other.insert(Phone.self) { $0.serial = 8 }
    try other.save()
    let device = context.insert(Device.self) { $0.serial = 8 }
    #expect(
      Set(failures(of: context)) == [
        ValidationFailure(
          entity: "Phone", property: "serial", rowID: phone.id.rowID, reason: "must be unique",
          holder: Holder(entity: "Device", rowID: thing.id.rowID, isPending: false)),
        ValidationFailure(
          entity: "Device", property: "serial", rowID: device.id.rowID, reason: "must be unique",
          holder: Holder(entity: "Phone", rowID: 2, isPending: false)),
      ])
  }

  @Test func `failures inside a write name new objects by their assigned ids`() async throws {
    try await store.write { context in
      context.insert(Account.self) { $0.name = "first" }
      try context.save()
      let new = (0..<3).map { _ in context.insert(Account.self) { $0.name = "same" } }
      let half = context.insert(Account.self)
      do { try context.save() } catch StoreError.validation(let failures) {
        #expect(failures.map(\.rowID) == [half.id.rowID])
      }
      half.name = "whole"
      do { try context.save() } catch StoreError.validation(let failures) {
        #expect(failures.map(\.rowID) == new.dropFirst().map(\.id.rowID))
        #expect(failures.allSatisfy { $0.holder?.rowID == new[0].id.rowID && $0.rowID > 0 })
      }
      for (number, object) in new.enumerated() { object.name = "\(number)" }
      let ids = new.map(\.id)
      try context.save()
      #expect(new.map(\.id) == ids)
    }
    #expect(try context.fetch(Account.self).count() == 5)
  }

  @Test(arguments: [false, true], [false, true])
  func `all clashes are reported with a trigger, and with a listener`(_ hasTrigger: Bool, _ isHeard: Bool)
    async throws
  {
    if hasTrigger {
      let connection = try Connection.open(store.url.path, key: testKey)
      try connection.execute("CREATE TABLE log(id INTEGER PRIMARY KEY, what TEXT)")
      try connection.execute(
        "CREATE TRIGGER own AFTER INSERT ON Account BEGIN INSERT INTO log(what) VALUES (new.name); END")
      connection.close()
    }
    for number in 0..<3 { _ = account("\(number)") }
    try context.save()
    let changes = isHeard ? store.changes() : nil
    let new = (0..<5).map { account("\($0)") }
    #expect(failures(of: context).map(\.rowID) == new.prefix(3).map(\.id.rowID))
    for (number, object) in new.prefix(3).enumerated() { object.name = "new \(number)" }
    try context.save()
    let names = try context.fetch(Account.self).sorted(by: \.name).all().map(\.name)
    #expect(names == ["0", "1", "2", "3", "4", "new 0", "new 1", "new 2"])
    if let changes {
      var iterator = changes.makeAsyncIterator()
      // The trigger was made by another connection.
      if hasTrigger { #expect(await iterator.next() == .changedElsewhere) }
      guard case .committed(let set)? = await iterator.next() else {
        Issue.record("the save was not delivered")
        return
      }
      #expect(set.inserted.compactMap { $0.values["name"] } == ["new 0", "new 1", "new 2", "3", "4"])
    }
    if hasTrigger {
      let connection = try Connection.open(store.url.path, key: testKey)
      #expect(try connection.value("SELECT count(*) FROM log") == 8)
    }
  }

  @Test func `a unique index that is not part of the model is reported without a holder`() throws {
    let connection = try Connection.open(store.url.path, key: testKey)
    try connection.execute("CREATE UNIQUE INDEX own ON Account (note) WHERE name > 'm'")
    connection.close()
    let free = account("a")
    (free.note) = "same"
    for name in ["n", "o", "p"] { account(name).note = "same" }
    let found = failures(of: context)
    #expect(found.map(\.property) == ["note", "note"] && found.map(\.rowID) == [-3, -4])
  }

  @Test func `a conflict does not hide a unique clash in the same save`() async throws {
    try await store.write { context in
      for name in ["a", "b"] { context.insert(Account.self) { $0.name = name } }
    }
    let changed = try context.fetch(Account.self).where("name == 'a'").one()
    let other = store.makeContext()
    try other.fetch(Account.self).where("name == 'a'").one().note = "changed elsewhere"
    try other.save()
    changed.note = "changed here"
    let new = account("b")
    let found = failures(of: context)
    #expect(found.map(\.rowID) == [new.id.rowID])
    new.name = "c"
    #expect {
      try context.save()
    } throws: { error in
      if case StoreError.conflicts(let all) = error { all.first?.rowID == changed.id.rowID } else { false }
    }
  }
}

final class Account: ManagedObject {
  @Attribute(.unique) var name: String
  @Attribute(.unique) var mail: String?
  @Attribute var first: Int?
  @Attribute var second: Int?
  @Attribute var note: String?
  @ToOne var owner: Account?
}
class Device: ManagedObject {
  @Attribute(.unique) var serial: Int
}
final class Phone: Device {
  @Attribute var number: String?
}

private let clashModel = Schema {
  Entity(Account.self).unique(\.first, \.second).unique(\.owner)
  Entity(Device.self)
  Entity(Phone.self)
}
