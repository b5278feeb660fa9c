// Unique values that the properties of the model do not show: raw indexes on expressions, and triggers
// that write to other rows.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct RawClashes {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(rawClashModel)
    try await temporary.store.write { context in
      for number in 0..<3 {
        context.insert(Member.self) { ($0.name, $0.mail) = ("\(number)", "\(number)@b") }
        context.insert(Seat.self) { $0.number = number }
      }
    }
  }

  private func members(_ context: ObjectContext) throws -> [Member] {
    try context.fetch(Member.self).sorted(by: \.name).all()
  }

  private func failures(of context: ObjectContext) -> [String] {
    do { try context.save() } catch StoreError.validation(let failures) {
      return failures.map { "\($0)" }
    } catch {
      Issue.record("another error: \(error)")
    }
    return []
  }

  @Test func `values of a raw unique index can be exchanged in one save`() throws {
    let context = store.makeContext()
    let all = try members(context)
    (all[0].mail, all[1].mail, all[2].mail) = ("1@B", "2@B", "0@B")
    try context.save()
    #expect(try members(store.makeContext()).map(\.mail) == ["1@B", "2@B", "0@B"])
    context.delete(all[0])
    context.insert(Member.self) { ($0.name, $0.mail) = ("new", "1@b") }
    try context.save()
    #expect(try members(store.makeContext()).map(\.mail) == ["2@B", "0@B", "1@b"])
  }

  @Test func `a clash in a raw index names the object, and does not hide other clashes`() throws {
    let context = store.makeContext()
    func member(_ name: String, mail: String) -> Member {
      context.insert(Member.self) { ($0.name, $0.mail) = (name, mail) }
    }
    let new = [
      member("x", mail: "x@b"), member("y", mail: "0@B"), member("x", mail: "z@b"), member("1", mail: "q@b"),
    ]
    let found = failures(of: context)
    #expect(found.count == 3, "\(found)")
    #expect(
      found.first
        == "Member.mail of new object -2 is rejected by the file: UNIQUE constraint failed: index 'lowermail'"
    )
    #expect(found.dropFirst().map { $0.contains("Member.name of new object") } == [true, true])
    for (number, object) in new.enumerated() {
      (object.name, object.mail) = ("new \(number)", "n\(number)@b")
    }
    try context.save()
    #expect(try store.makeContext().fetch(Member.self).count() == 7)
    // The other values of a changed object stay pending, too: a save writes all or nothing.
    let all = try members(context)
    (all[0].mail, all[0].age) = ("1@b", 5)
    #expect(failures(of: context).count == 1)
    context.rollback()
    #expect(all[0].mail == "0@b" && all[0].age == 0)
  }

  @Test func `a clash in a raw index does not prevent fetches in a write, and can be corrected`() async throws
  {
    try await store.write { context in
      let new = context.insert(Member.self) { ($0.name, $0.mail) = ("new", "1@B") }
      let old = try context.fetch(Member.self).where("name == '0'").one()
      #expect(try context.fetch(Member.self).count() == 4 && new.isInserted)
      (old.mail, old.age) = ("2@B", 7)
      #expect(try context.fetch(Member.self).where("mail == '2@B'").one() === old)
      #expect(throws: StoreError.self) { try context.save() }
      new.mail = "new@b"
      #expect(try context.fetch(Member.self).where("mail == 'new@b'").one() === new)
      old.mail = "old@b"
      #expect(try context.fetch(Member.self).where("mail == 'old@b' AND age == 7").one() === old)
    }
    #expect(try store.makeContext().fetch(Member.self).count() == 4)
  }

  @Test(arguments: [false, true])
  func `a clash that a trigger causes in another row is reported for the object that fired it`(
    _ isWrite: Bool
  ) async throws {
    let reason = "Member of row 1 is rejected by the file: UNIQUE constraint failed: Seat.number"
    if isWrite {
      try await store.write { context in
        let member = try context.fetch(Member.self).where("name == '0'").one()
        member.age = 1
        #expect(try context.fetch(Member.self).where("age == 1").one() === member)
        #expect(failures(of: context) == [reason])
        member.age = 2
        #expect(try context.fetch(Member.self).where("age == 2").one() === member)
      }
    } else {
      let context = store.makeContext()
      let member = try context.fetch(Member.self).where("name == '0'").one()
      member.age = 1
      #expect(failures(of: context) == [reason])
      member.age = 2
      try context.save()
    }
    #expect(try store.makeContext().fetch(Member.self).where("age == 2").count() == 1)
    #expect(try store.makeContext().fetch(Seat.self).where("number == 1").count() == 1)
  }
}

private final class Member: ManagedObject {
  @Attribute(.unique) var name: String
  @Attribute var mail: String?
  @Attribute var age: Int = 0
}
private final class Seat: ManagedObject {
  @Attribute(.unique) var number: Int = 0
}

private let rawClashModel = Schema {
  Entity(Member.self)
  Entity(Seat.self)
  RawObject.index("lowermail", unique: true, sql: "ON $Member (lower($Member.mail)) WHERE $Member.mail <> ''")
  RawObject.trigger(
    "taken", sql: "AFTER UPDATE OF age ON $Member WHEN new.age = 1 BEGIN UPDATE $Seat SET number = 1; END")
}
