// The ids of related objects, and whether they are in memory.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct RelatedIDs {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  init() async throws {
    temporary = try await TemporaryStore(memoModel())
    try await temporary.store.write { context in
      let folders = ["a", "b"].map { name in context.insert(MemoFolder.self) { $0.name = name } }
      let tag = context.insert(MemoTag.self) { $0.word = "t" }
      for number in 0..<4 {
        context.insert(Letter.self) {
          ($0.title, $0.folder, $0.box) = ("\(number)", folders[number % 2], folders[0])
          $0.tags = [tag]
        }
      }
    }
  }

  @Test func `ids of members are found with pending changes, and no member is fetched`() throws {
    let context = store.makeContext()
    let folder = try context.fetch(MemoFolder.self).where("name == 'a'").one()
    let tag = try context.fetch(MemoTag.self).one()
    #expect(folder.hasFault(for: \.letters) && tag.hasFault(for: \.memos))
    let before = context.statistics.rows
    #expect(try folder.objectIDs(for: \.letters).map(\.rowID) == [1, 2, 3, 4])
    #expect(try tag.objectIDs(for: \.memos).map(\.rowID) == [1, 2, 3, 4])
    #expect(context.statistics.rows == before && folder.hasFault(for: \.letters))
    let letters = try context.fetch(Letter.self).sorted(by: \.title).all()
    letters[1].box = nil
    context.delete(letters[2])
    let new = context.insert(Letter.self) { $0.box = folder }
    tag.remove(letters[0], from: \.memos)
    #expect(try folder.objectIDs(for: \.letters) == [letters[0].id, letters[3].id, new.id])
    #expect(try tag.objectIDs(for: \.memos).map(\.rowID) == [2, 4])
    // Once the members are in memory, their ids are the same.
    #expect(folder.letters.count == 3 && tag.memos.count == 2)
    #expect(!folder.hasFault(for: \.letters) && !tag.hasFault(for: \.memos))
    #expect(try folder.objectIDs(for: \.letters) == [letters[0].id, letters[3].id, new.id])
    #expect(try tag.objectIDs(for: \.memos).map(\.rowID) == [2, 4])
  }

  @Test func `ids of an ordered to-many are in its order`() async throws {
    let context = store.makeContext()
    let folder = try context.fetch(MemoFolder.self).where("name == 'b'").one()
    folder.memos.reverse()
    try context.save()
    #expect(try folder.objectIDs(for: \.memos).map(\.rowID) == [4, 2])
    let other = store.makeContext()
    let again = try other.fetch(MemoFolder.self).where("name == 'b'").one()
    #expect(again.hasFault(for: \.memos))
    #expect(try again.objectIDs(for: \.memos).map(\.rowID) == [4, 2])
  }

  @Test func `a to-one is a fault until its object is fetched`() throws {
    let context = store.makeContext()
    let letter = try #require(try context.fetch(Letter.self).where("title == '0'").first())
    #expect(letter.hasFault(for: \.folder))
    #expect(letter.folder?.name == "a")
    #expect(!letter.hasFault(for: \.folder))
    letter.folder = nil
    #expect(!letter.hasFault(for: \.folder))
    #expect(!context.insert(Letter.self).hasFault(for: \.folder))
  }

  @Test func `objects that are gone, and objects of no context, are errors`() async throws {
    let context = store.makeContext()
    let folder = try context.fetch(MemoFolder.self).where("name == 'a'").one()
    context.delete(folder)
    try context.save()
    #expect(throws: StoreError.objectGone(entity: "MemoFolder", rowID: folder.id.rowID)) {
      try folder.objectIDs(for: \.letters)
    }
    #expect(throws: StoreError.noContext(entity: "MemoFolder", property: "letters")) {
      try MemoFolder().objectIDs(for: \.letters)
    }
    #expect(!MemoFolder().hasFault(for: \.letters))
  }
}
