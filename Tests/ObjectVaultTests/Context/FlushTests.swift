// Fetches inside a writing transaction: they find what is complete, and leave what is not as it was. Deletions are in
// FlushDeletionTests.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

extension TemporaryStore {
  /// Two authors, and a book of the first.
  func begin() async throws {
    try await store.write { context in
      let ann = context.insert(Author.self) { $0.name = "Ann" }
      context.insert(Author.self) { $0.name = "Bob" }
      context.insert(Book.self) {
        $0.title = "One"
        $0.author = ann
      }
    }
  }
}

@Suite struct Flushes {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws { temporary = try await TemporaryStore(library) }

  @Test func `what refers to a half-filled object is found`() async throws {
    try await store.write { context in
      let open = context.insert(Book.self)
      for number in 0..<300 {
        let reader = "reader \(number % 50)"
        let known = try context.fetch(Loan.self).where("reader == %@", reader).first()
        _ =
          known
          ?? context.insert(Loan.self) {
            $0.reader = reader
            $0.book = open
          }
      }
      #expect(open.state == .inserted && !open.id.isTemporary)
      #expect(try context.fetch(Loan.self).count() == 50 && open.loans.count == 50)
      open.title = "Late"
    }
    let context = store.makeContext()
    #expect(try context.fetch(Loan.self).where("book.title == 'Late'").count() == 50)
    #expect(try await store.verify().isEmpty)
  }

  @Test func `an object that is half filled, refers to others and is never finished fails the write`()
    async throws
  {
    await #expect(throws: StoreError.self) {
      try await store.write { context in
        let open = context.insert(Book.self)
        context.insert(Loan.self) {
          $0.reader = "R"
          $0.book = open
        }
        _ = try context.fetch(Loan.self).all()
      }
    }
    #expect(try store.makeContext().fetch(Loan.self).count() == 0)
  }

  @Test func `unique values may be half-way between their rows`() async throws {
    try await temporary.begin()
    try await store.write { context in
      let all = try context.fetch(Author.self).sorted(by: \.name).all()
      all[0].name = "Bob"
      all[0].nick = "B."
      #expect(try context.fetch(Author.self).where("name == 'Bob'").count() == 1)
      #expect(try context.fetch(Author.self).where("nick == 'B.'").one() === all[0])
      all[1].name = "Ann"
      let (first, second) = (
        context.insert(Author.self) { $0.name = "Cid" }, context.insert(Author.self) { $0.name = "Cid" }
      )
      #expect(try context.fetch(Author.self).where("name == 'Cid'").count() == 1)
      (first.name, second.name) = ("Dan", "Eve")
    }
    let names = try store.makeContext().fetch(Author.self).sorted(by: \.name).all().map(\.name)
    #expect(names == ["Ann", "Bob", "Dan", "Eve"])
    #expect(try store.makeContext().fetch(Author.self).where("name == 'Bob'").one().nick == "B.")
  }

  @Test func `swapped and handed on, unique values are found where they are`() async throws {
    try await temporary.begin()
    try await store.write { context in
      let all = try context.fetch(Author.self).sorted(by: \.name).all()
      (all[0].name, all[1].name) = ("Bob", "Ann")
      #expect(try context.fetch(Author.self).where("name == 'Ann'").one() === all[1])
      all[1].name = "Zoe"
      let new = context.insert(Author.self) { $0.name = "Ann" }
      #expect(try context.fetch(Author.self).where("name == 'Ann'").one() === new)
    }
    #expect(try store.makeContext().fetch(Author.self).count() == 3)
  }
}
