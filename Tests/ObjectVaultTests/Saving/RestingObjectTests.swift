// What a flush has left out, and need not look at again until it changes.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct RestingObjects {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws { temporary = try await TemporaryStore(library) }

  @Test func `a half-filled object is found as soon as it is whole`() async throws {
    try await store.write { context in
      let open = (0..<100).map { _ in context.insert(Book.self) }
      let none = try context.fetch(Book.self).count()
      #expect(none == 0)
      for (number, book) in open.enumerated().reversed() where number % 10 == 0 {
        book.title = "\(number)"
        #expect(try context.fetch(Book.self).where("title == %@", "\(number)").first() === book)
        book.title = ""
        #expect(try context.fetch(Book.self).where("title == %@", "\(number)").first() === book)
        book.title = "\(number) again"
        #expect(try context.fetch(Book.self).where("title ENDSWITH 'again'").all().contains(book))
        #expect(book.id.rowID == open[0].id.rowID + Int64(number))
      }
      #expect(context.hasChanges && open[1].hasChanges)
      for (number, book) in open.enumerated() where number % 10 > 0 {
        if number % 2 == 0 { context.delete(book) } else { book.title = "late" }
      }
      #expect(try context.fetch(Book.self).count() == 60)
    }
    let context = store.makeContext()
    #expect(try context.fetch(Book.self).where("title == 'late'").count() == 50)
    #expect(try context.fetch(Book.self).where("title ENDSWITH 'again'").count() == 10)
    #expect(try await store.verify().isEmpty)
  }

  @Test func `a changed object keeps its former value in the file until it is right, refreshed or deleted`()
    async throws
  {
    try await store.write { context in
      for number in 0..<4 { context.insert(Author.self) { ($0.name, $0.age) = ("\(number)", number) } }
    }
    try await store.write { context in
      let all = try context.fetch(Author.self).sorted(by: \.age).all()
      for author in all { (author.age, author.nick) = (author.age + 1000, "changed") }
      let changed = try context.fetch(Author.self).where("nick == 'changed' AND age < 10")
      for _ in 0..<3 { #expect(try changed.count() == 4) }
      all[0].age = 20
      #expect(try context.fetch(Author.self).where("age == 20").first() === all[0])
      context.refresh(all[1])
      #expect(all[1].age == 1 && all[1].nick == "changed")
      context.delete(all[2])
      #expect(try changed.count() == 2)
      // One that refers to what rests.
      let book = context.insert(Book.self) { ($0.title, $0.author) = ("x", all[3]) }
      #expect(try context.fetch(Book.self).where("author.nick == 'changed'").all() == [book])
      #expect(throws: StoreError.self) { try context.save() }
      all[3].age = 30
    }
    let context = store.makeContext()
    #expect(try context.fetch(Author.self).sorted(by: \.age).all().map(\.age) == [1, 20, 30])
  }

  @Test(arguments: [false, true])
  func `unique values that move along a line are found as soon as the last is free`(_ isBackward: Bool)
    async throws
  {
    let temporary = try await TemporaryStore(
      Schema {
        Entity(Crate.self)
        Entity(Ware.self)
      })
    try await temporary.store.write { context in
      for code in 0..<40 { context.insert(Ware.self) { $0.code = code } }
    }
    try await temporary.store.write { context in
      let all = try context.fetch(Ware.self).sorted(by: \.code).all()
      for (number, ware) in (isBackward ? all.reversed() : all).enumerated() {
        ware.code += 1
        let codes = try context.fetch(Ware.self).where("code >= 0").all().map(\.code)
        #expect(codes.count == 40)
        // What waits for another is not found by its new value before that is free.
        let found = try context.fetch(Ware.self).where("code == %@", ware.code).one()
        #expect((found === ware) == (isBackward || number == 39), "\(number)")
      }
      for ware in all { #expect(try context.fetch(Ware.self).where("code == %@", ware.code).one() === ware) }
    }
    let codes = try temporary.store.makeContext().fetch(Ware.self).sorted(by: \.code).all().map(\.code)
    #expect(codes == Array(1...40))
  }

  @Test func `unique values that go round are found when the round is closed`() async throws {
    try await store.write { context in
      for name in ["a", "b", "c"] { context.insert(Genre.self) { $0.name = name } }
      context.insert(Genre.self) { $0.name = "d" }
    }
    try await store.write { context in
      let all = try context.fetch(Genre.self).sorted(by: \.name).all()
      let next = ["b", "c", "a"]
      for (genre, name) in zip(all, next) {
        genre.name = name
        #expect(try context.fetch(Genre.self).where("name == 'd'").one() === all[3])
      }
      for (genre, name) in zip(all, next) {
        #expect(try context.fetch(Genre.self).where("name == %@", name).one() === genre)
      }
      // One that wants a value of the round, and gets it when that is given up.
      all[3].name = "a"
      let new = context.insert(Genre.self) { $0.name = "b" }
      #expect(try context.fetch(Genre.self).where("name == 'd'").one() === all[3])
      all[2].name = "e"
      #expect(try context.fetch(Genre.self).where("name == 'a'").one() === all[3])
      #expect(try context.fetch(Genre.self).where("name == 'b'").one() === all[0] && new.isInserted)
      all[0].name = "f"
      #expect(try context.fetch(Genre.self).where("name == 'b'").one() === new)
    }
    let names = try store.makeContext().fetch(Genre.self).sorted(by: \.name).all().map(\.name)
    #expect(names == ["a", "b", "c", "e", "f"])
  }

  enum Ending: CaseIterable { case deletes, renames, nothing, saves }

  @Test(arguments: Ending.allCases)
  func `a write ends in order whatever becomes of what a new object waits for`(_ ending: Ending) async throws
  {
    try await store.write { context in
      context.insert(Genre.self) { $0.name = "x" }
      context.insert(Club.self) { $0.name = "C" }
    }
    func write() async throws {
      try await store.write { context in
        let old = try context.fetch(Genre.self).one()
        let new = context.insert(Genre.self) { $0.name = "x" }
        #expect(try context.fetch(Genre.self).all() == [old] && new.isInserted)
        switch ending {
        case .deletes: context.delete(old)
        case .renames: old.name = "y"
        case .nothing: break
        case .saves:
          #expect(throws: StoreError.self) { try context.save() }
          context.delete(new)
        }
        context.insert(Club.self) { $0.name = "D" }
      }
    }
    if ending == .nothing {
      let error = await #expect(throws: StoreError.self) { try await write() }
      guard case .validation(let failures)? = error else {
        Issue.record("another error, or none")
        return
      }
      #expect(failures.map(\.holder?.rowID) == [1], "\(failures)")
    } else {
      try await write()
    }
    let context = store.makeContext()
    let names = try context.fetch(Genre.self).sorted(by: \.name).all().map(\.name)
    #expect(names == (ending == .renames ? ["x", "y"] : ["x"]))
    #expect(
      try context.fetch(Genre.self).where("name == 'x'").one().id.rowID
        == (ending == .deletes || ending == .renames ? 2 : 1))
    #expect(try context.fetch(Club.self).count() == (ending == .nothing ? 1 : 2))
  }

  @Test(arguments: [false, true])
  func `what wants a value that is given up by the same flush is found, beside what stays behind`(
    _ isDeleted: Bool
  ) async throws {
    try await store.write { context in
      for name in ["a", "b"] { context.insert(Genre.self) { $0.name = name } }
    }
    try await store.write { context in
      let (a, b) = (
        try context.fetch(Genre.self).where("name == 'a'").one(),
        try context.fetch(Genre.self).where("name == 'b'").one()
      )
      if isDeleted { context.delete(a) } else { a.name = "x" }
      let new = context.insert(Genre.self) { $0.name = "a" }
      let wrong = context.insert(Genre.self) { $0.name = "b" }
      #expect(try context.fetch(Genre.self).where("name == 'a'").all() == [new])
      #expect(try context.fetch(Genre.self).where("name == 'b'").all() == [b])
      wrong.name = "c"
      #expect(try context.fetch(Genre.self).where("name == 'a'").all() == [new])
      #expect(try context.fetch(Genre.self).where("name == 'c'").all() == [wrong])
    }
    let names = try store.makeContext().fetch(Genre.self).sorted(by: \.name).all().map(\.name)
    #expect(names == (isDeleted ? ["a", "b", "c"] : ["a", "b", "c", "x"]))
  }

  @Test func `a line of values moves on beside one that stays behind`() async throws {
    try await store.write { context in
      for name in ["a", "b", "c", "q"] { context.insert(Genre.self) { $0.name = name } }
    }
    try await store.write { context in
      let all = try context.fetch(Genre.self).sorted(by: \.name).all()
      for (genre, name) in zip(all, ["b", "c", "z"]) { genre.name = name }
      let wrong = context.insert(Genre.self) { $0.name = "q" }
      for (genre, name) in zip(all, ["b", "c", "z"]) {
        #expect(try context.fetch(Genre.self).where("name == %@", name).all() == [genre])
      }
      wrong.name = "w"
    }
    let names = try store.makeContext().fetch(Genre.self).sorted(by: \.name).all().map(\.name)
    #expect(names == ["b", "c", "q", "w", "z"])
  }

  @Test func `members of what rests stay with it`() async throws {
    try await store.write { context in
      let open = context.insert(Book.self)
      let genres = (0..<3).map { number in context.insert(Genre.self) { $0.name = "\(number)" } }
      for genre in genres {
        genre.books = [open]
        _ = try context.fetch(Genre.self).where("books.@count == 1").count()
      }
      #expect(open.genres.count == 3 && genres.allSatisfy { $0.books == [open] })
      open.remove(genres[0], from: \.genres)
      #expect(try context.fetch(Genre.self).where("books.@count == 1").count() == 2)
      #expect(genres[0].books.isEmpty && open.genres.count == 2)
      context.delete(genres[1])
      #expect(try context.fetch(Genre.self).count() == 2)
      open.title = "At last"
    }
    let context = store.makeContext()
    #expect(try context.fetch(Book.self).one().genres.map(\.name) == ["2"])
  }

  @Test func `a rollback takes back what rests`() async throws {
    try await store.write { context in
      let kept = context.insert(Author.self) { $0.name = "kept" }
      try context.save()
      let open = context.insert(Book.self)
      kept.age = -1
      _ = try (context.fetch(Book.self).count(), context.fetch(Author.self).where("age > 0").count())
      context.rollback()
      #expect(open.state == .invalid && kept.age == 30 && context.pendingChanges.updated.isEmpty)
      try context.save()
    }
    #expect(try store.makeContext().fetch(Book.self).count() == 0)
  }

  @Test func `fetches of entities that nothing pending concerns write nothing`() async throws {
    try await store.write { context in
      for number in 0..<100 { context.insert(Genre.self) { $0.name = "\(number)" } }
      for number in 0..<2 {
        let book = context.insert(Book.self) { $0.title = "\(number)" }
        context.insert(Loan.self) { ($0.reader, $0.book) = ("r", book) }
      }
      try context.save()
      for number in 100..<200 { context.insert(Genre.self) { $0.name = "\(number)" } }
      #expect(try context.fetch(Club.self).where("ANY members.age > 3").count() == 0)
      #expect(try context.fetch(Club.self).sorted(by: \.name).all().isEmpty)
      #expect(context.pending.count == 100)
      // By the link, the sort, what is read along.
      #expect(try context.fetch(Book.self).where("ANY genres.name == '150'").count() == 0)
      #expect(context.pending.count == 0)
      for number in 200..<300 { context.insert(Genre.self) { $0.name = "\(number)" } }
      #expect(try context.fetch(Book.self).prefetch(\.genres).all().count == 2)
      #expect(context.pending.count == 0)
    }
  }

  @Test func `what a deletion takes along is gone for those fetches that could find it`() async throws {
    try await store.write { context in
      let ann = context.insert(Author.self) { $0.name = "Ann" }
      let club = context.insert(Club.self) { $0.name = "C" }
      ann.club = club
      context.insert(Book.self) { ($0.title, $0.author) = ("One", ann) }
      context.insert(Genre.self) { $0.name = "g" }
      try context.save()
      context.delete(ann)
      #expect(try context.fetch(Genre.self).count() == 1)
      #expect(ann.state == .deleted)
      #expect(try context.fetch(Club.self).where("members.@count == 0").count() == 1)
      #expect(try context.fetch(Book.self).count() == 0 && ann.state == .invalid)
      let bob = context.insert(Author.self) { ($0.name, $0.club) = ("Bob", club) }
      try context.save()
      context.delete(club)
      #expect(try context.fetch(Author.self).where("club == nil").all() == [bob])
    }
  }

  @Test func `a denied deletion names a new object by the id that it was given`() async throws {
    let temporary = try await TemporaryStore(
      Schema {
        Entity(Binder.self)
        Entity(Leaf.self)
        Entity(Tack.self)
      })
    try await temporary.store.write { context in
      let binder = context.insert(Binder.self)
      try context.save()
      let leaf = context.insert(Leaf.self) { $0.binder = binder }
      let tack = context.insert(Tack.self) { $0.leaf = leaf }
      let id = leaf.id.rowID
      context.delete(binder)
      #expect(throws: StoreError.deleteDenied(entity: "Leaf", rowID: id, property: "tacks", count: 1)) {
        try context.save()
      }
      context.delete(tack)
    }
    #expect(try temporary.store.makeContext().fetch(Binder.self).count() == 0)
  }

  @Test func `deletions that one object denies are carried out when it does no more`() async throws {
    try await store.write { context in
      for number in 0..<3 {
        let book = context.insert(Book.self) { $0.title = "\(number)" }
        context.insert(Loan.self) { ($0.reader, $0.book) = ("\(number)", book) }
      }
      try context.save()
      let books = try context.fetch(Book.self).sorted(by: \.title).all()
      let loans = try context.fetch(Loan.self).sorted(by: \.reader).all()
      for book in books.prefix(2) {
        context.delete(book)
        #expect(try context.fetch(Book.self).where("title != ''").count() > 0)
        #expect(books[0].state == .deleted)
      }
      // By another owner, and by a deletion.
      loans[0].book = books[2]
      #expect(try context.fetch(Book.self).all() == [books[2]] && books[0].state == .deleted)
      context.delete(loans[1])
      #expect(try context.fetch(Book.self).all() == [books[2]] && books[0].state == .invalid)
      #expect(try context.fetch(Loan.self).where("book.title == '2'").count() == 2)
    }
    #expect(try store.makeContext().fetch(Book.self).count() == 1)
  }
}

final class Binder: ManagedObject {
  @Attribute var number: Int = 0
  @ToMany(inverse: \Leaf.binder, onDelete: .cascade) var leaves: Set<Leaf>
}
final class Leaf: ManagedObject {
  @Attribute var number: Int = 0
  @ToOne var binder: Binder?
  @ToMany(inverse: \Tack.leaf, onDelete: .deny) var tacks: Set<Tack>
}
final class Tack: ManagedObject {
  @Attribute var number: Int = 0
  @ToOne var leaf: Leaf?
}
