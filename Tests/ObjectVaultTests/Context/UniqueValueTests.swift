// Unique values that move between rows in one save, also from rows that are deleted without being read.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct UniqueValues {
  let temporary: TemporaryStore
  let context: ObjectContext
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
  }

  @discardableResult
  private func author(_ name: String) -> Author { context.insert(Author.self) { $0.name = name } }

  @Test func `one save can delete and insert a unique value again, swap two, or pass one on`() throws {
    let (ann, bob) = (author("Ann"), author("Bob"))
    try context.save()
    context.delete(ann)
    let again = author("Ann")
    try context.save()
    (again.name, bob.name) = ("Bob", "Ann")
    try context.save()
    bob.name = "Cid"
    let third = author("Ann")
    try context.save()
    #expect([again.name, bob.name, third.name] == ["Bob", "Cid", "Ann"])
    #expect(
      try store.makeContext().fetch(Author.self).sorted(by: \.name).all().map(\.name) == [
        "Ann", "Bob", "Cid",
      ])
    #expect(try store.makeContext().fetch(Author.self).where("name == 'Cid'").one().id == bob.id)
  }

  @Test func `a unique value of a row that a cascade deletes unread is free`() async throws {
    let temporary = try await TemporaryStore(
      Schema {
        Entity(Crate.self)
        Entity(Ware.self)
      })
    try await temporary.store.write { context in
      let crate = context.insert(Crate.self) { $0.label = "a" }
      for code in 1...3 {
        context.insert(Ware.self) {
          $0.code = code
          $0.crate = crate
        }
      }
    }
    let context = temporary.store.makeContext()
    let moved = try context.fetch(Ware.self).where("code == 3").one()
    context.delete(try context.fetch(Crate.self).one())
    moved.crate = context.insert(Crate.self) { $0.label = "b" }
    context.insert(Ware.self) { $0.code = 1 }
    try context.save()
    #expect(
      try temporary.store.makeContext().fetch(Ware.self).sorted(by: \.code).all().map(\.code) == [1, 3])
  }

  @Test func `unique values of unread rows deleted through a to-one, a link or a unique to-one are free`()
    async throws
  {
    let temporary = try await TemporaryStore(
      Schema {
        Entity(Holder.self)
        Entity(Pass.self)
        Entity(Stamp.self).unique(\.pass)
      })
    try await temporary.store.write { context in
      for number in 1...2 {
        let pass = context.insert(Pass.self) { $0.number = number }
        context.insert(Holder.self) {
          $0.name = "holder \(number)"
          $0.pass = pass
          $0.marks = [context.insert(Stamp.self) { $0.code = number * 10 }]
        }
        context.insert(Stamp.self) {
          $0.code = number
          $0.pass = pass
        }
      }
    }
    let context = temporary.store.makeContext()
    context.delete(try context.fetch(Holder.self).where("name == 'holder 1'").one())
    let second = try context.fetch(Pass.self).where("number == 2").one()
    let pass = context.insert(Pass.self) { $0.number = 1 }
    context.insert(Stamp.self) {
      $0.code = 1
      $0.pass = pass
    }
    context.insert(Stamp.self) { $0.code = 10 }
    try context.save()
    let other = temporary.store.makeContext()
    #expect(try other.fetch(Stamp.self).all().map(\.code).sorted() == [1, 2, 10, 20])
    #expect(try other.fetch(Pass.self).all().map(\.number).sorted() == [1, 2] && second.stamps.count == 1)
    #expect(try await temporary.store.verify().isEmpty)
  }

  @Test func `a cascade deletes objects linked just before, and their unique values are free`() async throws {
    let temporary = try await TemporaryStore(
      Schema {
        Entity(Holder.self)
        Entity(Pass.self)
        Entity(Stamp.self)
      })
    let context = temporary.store.makeContext()
    let old = context.insert(Stamp.self) { $0.code = 1 }
    let holders = (1...2).map { number in context.insert(Holder.self) { $0.name = "\(number)" } }
    try context.save()
    holders[0].add(old, to: \.marks)
    holders[0].add(context.insert(Stamp.self), to: \.marks)
    context.delete(holders[0])
    let again = context.insert(Stamp.self) { $0.code = 1 }
    try context.save()
    #expect(try temporary.store.makeContext().fetch(Stamp.self).ids() == [again.id])
    try await temporary.store.write { context in
      let holder = try context.fetch(Holder.self).one()
      let half = context.insert(Stamp.self)
      holder.add(half, to: \.marks)
      #expect(try context.fetch(Stamp.self).count() == 2)
      context.delete(holder)
      #expect(try context.fetch(Stamp.self).count() == 1)
      try context.save()
      #expect(half.state == .invalid)
    }
    #expect(try await temporary.store.verify().isEmpty)
  }

  @Test func `the error about a taken unique value names the object that should get it`() throws {
    author("Ann")
    try context.save()
    let bob = author("Bob")
    try context.save()
    bob.name = "Ann"
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.validation(let failures) = error else { return false }
      return failures.map(\.rowID) == [bob.id.rowID]
        && "\(error)".contains("Author.name of row 2 must be unique")
    }
    #expect(bob.hasChanges && bob.name == "Ann")
  }
}

extension UniqueValues {
  @Test func `a unique failure in another program's table is not reported as a rule of the schema`() throws {
    let connection = try Connection.open(store.url.path, key: testKey)
    try connection.executeScript(
      """
      CREATE TABLE book_log(tax_id TEXT UNIQUE);
      CREATE TRIGGER log_author AFTER INSERT ON Author BEGIN INSERT INTO book_log VALUES (new.nick); END;
      """)
    connection.close()
    author("Ann").nick = "A"
    try context.save()
    let bob = author("Bob")
    (bob.nick, bob.age) = ("A", 40)
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.validation(let failures) = error else { return false }
      // The failure names the object whose insertion fired the trigger, and none of its properties.
      return failures.map(\.property) == ["id"] && failures.map(\.rowID) == [bob.id.rowID]
        && "\(error)".contains(
          "Author of new object -2 is rejected by the file: UNIQUE constraint failed: book_log.tax_id")
    }
    bob.nick = "B"
    try context.save()
  }

  @Test func `the error of a unique rule of several properties names each of them, also a to-one`()
    async throws
  {
    let temporary = try await TemporaryStore(
      Schema {
        Entity(Crate.self)
        Entity(Ware.self).unique(\.crate, \.label)
      })
    let context = temporary.store.makeContext()
    let crate = context.insert(Crate.self) { $0.label = "c" }
    for code in 1...2 {
      context.insert(Ware.self) { ($0.code, $0.label, $0.crate) = (code, "same", crate) }
    }
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.validation(let failures) = error else { return false }
      return failures.map(\.property) == ["crate, label"] && failures.map(\.entity) == ["Ware"]
    }
  }
}

final class Holder: ManagedObject {
  @Attribute var name: String
  @ToOne(inverse: \Pass.holder, onDelete: .cascade) var pass: Pass?
  @ToMany(inverse: \Stamp.marked, onDelete: .cascade) var marks: Set<Stamp>
}
final class Pass: ManagedObject {
  @Attribute(.unique) var number: Int
  @ToOne var holder: Holder?
  @ToMany(inverse: \Stamp.pass, onDelete: .cascade) var stamps: Set<Stamp>
}
final class Stamp: ManagedObject {
  @Attribute(.unique) var code: Int
  @ToOne var pass: Pass?
  @ToMany var marked: Set<Holder>
}
final class Crate: ManagedObject {
  @Attribute(.unique) var label: String
  @ToMany(inverse: \Ware.crate, onDelete: .cascade) var wares: Set<Ware>
}
final class Ware: ManagedObject {
  @Attribute(.unique) var code: Int
  @Attribute var label: String?
  @ToOne var crate: Crate?
}
