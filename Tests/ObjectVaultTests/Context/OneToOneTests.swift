// One-to-ones. One end has the column, and the other end is looked up through it. Callers see no
// difference.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct OneToOnes {
  let temporary: TemporaryStore
  let context: ObjectContext
  let authors: [Author]
  let passports: [Passport]

  /// Three authors and three passports. The first two authors have the passports with their numbers.
  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
    let context = context
    authors = (1...3).map { number in context.insert(Author.self) { $0.name = "\(number)" } }
    passports = (1...3).map { number in context.insert(Passport.self) { $0.number = "\(number)" } }
    (authors[0].passport, passports[1].owner) = (passports[0], authors[1])
    try context.save()
  }

  /// The owner of each passport in the file.
  private func stored() throws -> [SQLValue] {
    let connection = try Connection.open(temporary.store.url.path, key: testKey)
    defer { connection.close() }
    return try connection.rows("SELECT owner_id FROM Passport ORDER BY id").map { $0[0] }
  }

  /// Expects that both ends agree in a context, and returns the names of the passports' owners.
  private func owners(_ context: ObjectContext) throws -> [String?] {
    let passports = try context.fetch(Passport.self).sorted(by: \.number).all()
    for author in try context.fetch(Author.self).all() {
      #expect(author.passport == nil || author.passport?.owner === author)
    }
    for passport in passports { #expect(passport.owner == nil || passport.owner?.passport === passport) }
    return passports.map { $0.owner?.name }
  }

  @Test func `one column with a unique index stores both ends of a one-to-one`() async throws {
    #expect(try stored() == [1, 2, .null])
    let connection = try Connection.open(temporary.store.url.path, key: testKey)
    #expect(try !connection.tableInfo("Author").columns.contains { $0.name == "passport_id" })
    #expect(
      try connection.tableInfo("Passport").indexes.contains {
        $0.name == "ux_Passport_owner" && $0.isUnique && $0.columns == ["owner_id"]
      })
    #expect(try owners(temporary.store.makeContext()) == ["1", "2", nil])
  }

  @Test(arguments: [[1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0], [0, 2, 1]], [true, false])
  func `one save exchanges partners in any order, set from either end`(_ order: [Int], _ fromColumn: Bool)
    async throws
  {
    for (passport, author) in order.enumerated() {
      if fromColumn {
        passports[passport].owner = authors[author]
      } else {
        authors[author].passport = passports[passport]
      }
    }
    #expect(try owners(context) == order.map { "\($0 + 1)" })
    try context.save()
    #expect(try stored() == order.map { .integer(Int64($0 + 1)) })
    #expect(try owners(temporary.store.makeContext()) == order.map { "\($0 + 1)" })
  }

  @Test(arguments: [true, false]) func `a new partner replaces an existing or a deleted one`(
    _ isDeleted: Bool
  ) async throws {
    let new = context.insert(Passport.self) { $0.number = "4" }
    if isDeleted { context.delete(passports[0]) }
    authors[0].passport = new
    #expect(authors[0].passport === new && new.owner === authors[0])
    try context.save()
    #expect(try stored() == (isDeleted ? [2, .null, 1] : [.null, 2, .null, 1]))
    let reader = temporary.store.makeContext()
    #expect(try reader.fetch(Author.self).where("name == '1'").one().passport?.number == "4")
  }

  @Test func `the second of two contexts that set a partner gets an error that names the present one`()
    async throws
  {
    let other = temporary.store.makeContext()
    let (theirs, third) = (
      try other.fetch(Author.self).where("name == '3'").one(),
      try other.fetch(Passport.self).where("number == '3'").one()
    )
    #expect(theirs.passport == nil)
    authors[2].passport = passports[1]
    try context.save()
    theirs.passport = third
    let error = #expect(throws: StoreError.self) { try other.save() }
    guard case .validation(let failures)? = error else { throw try #require(error) }
    #expect(failures.map(\.property) == ["owner"] && failures.first?.description.contains("unique") == true)
    #expect(failures.first?.holder?.rowID == passports[1].id.rowID)
    // Nothing is lost, and the context can continue.
    #expect(third.owner === theirs)
    other.rollback()
    other.refresh(theirs)
    #expect(theirs.passport?.number == "2")
    theirs.passport = third
    try other.save()
    #expect(try stored() == [1, .null, 3])
  }

  @Test func `an end without a column changes as soon as the row of the other end is read`() async throws {
    let reader = temporary.store.makeContext()
    let ann = try reader.fetch(Author.self).where("name == '1'").one()
    let passport = try #require(ann.passport)
    authors[2].passport = passports[0]
    try context.save()
    #expect(ann.passport === passport)
    _ = try reader.fetch(Passport.self).all()
    #expect(ann.passport == nil && passport.owner?.name == "3")
    ann.passport = passport
    #expect(ann.passport === passport && passport.owner === ann)
    try reader.save()
    #expect(try stored() == [1, 2, .null])
  }

  @Test func `an end without a column is prefetched for all objects with one query`() throws {
    let context = temporary.store.makeContext()
    let found = try context.fetch(Author.self).sorted(by: \.name).prefetch(\.passport).all()
    let queries = context.statistics.queries
    #expect(found.map { $0.passport?.number } == ["1", "2", nil])
    #expect(context.statistics.queries == queries)
  }

  @Test func `a rollback restores both ends, and a refresh restores the stored partners`() throws {
    authors[2].passport = passports[0]
    #expect(authors[0].passport == nil)
    context.rollback()
    #expect(try owners(context) == ["1", "2", nil])
    authors[1].passport = passports[0]
    context.refresh(passports[0])
    #expect(authors[0].passport === passports[0] && authors[1].passport == nil && passports[1].owner == nil)
    context.refresh(passports[1])
    #expect(!context.hasChanges)
    #expect(try owners(context) == ["1", "2", nil])
  }

  @Test func `refreshing a former partner also reverts the object that took its place`() throws {
    // Passport 1 leaves its owner, and passport 3 takes its place.
    (passports[0].owner, passports[2].owner) = (nil, authors[0])
    context.refresh(passports[0])
    #expect(authors[0].passport === passports[0] && passports[2].owner == nil)
    #expect(!context.hasChanges)
    try context.save()
    #expect(try stored() == [1, 2, .null])
  }

  @Test func `refreshing a former partner does not revert an object that took its place and left it`() throws
  {
    // Passport 3 takes the place that passport 1 has left, and then moves on.
    (passports[0].owner, passports[2].owner) = (nil, authors[0])
    passports[2].owner = authors[2]
    context.refresh(passports[0])
    #expect(try owners(context) == ["1", "2", "3"])
    try context.save()
    #expect(try stored() == [1, 2, 3])
  }

  @Test func `an object that was read without a partner gets the partner whose row is read later`()
    async throws
  {
    let reader = temporary.store.makeContext()
    let all = try reader.fetch(Author.self).sorted(by: \.name).prefetch(\.passport).all()
    let third = try reader.fetch(Passport.self).where("number == '3'").one()
    #expect(all[2].passport == nil && third.owner == nil && all[1].passport?.number == "2")
    (passports[2].owner, passports[1].owner) = (authors[2], nil)
    try context.save()
    reader.refresh(third)
    #expect(third.owner === all[2] && all[2].passport === third)
    // Another partner replaces it.
    let second = try #require(try reader.existing(passports[1].id))
    second.owner = all[2]
    #expect(third.owner == nil && all[2].passport === second)
    all[2].passport = nil
    #expect(second.owner == nil)
    second.owner = all[2]
    do { try reader.save() } catch StoreError.conflicts { reader.refresh(second) }
    reader.rollback()
    #expect(try owners(temporary.store.makeContext()) == ["1", nil, "3"])
  }

  @Test func `a partner set in this context takes precedence over one that another context saved`() throws {
    let reader = temporary.store.makeContext()
    let author = try #require(try reader.existing(authors[2].id))
    #expect(author.passport == nil)
    let first = try #require(try reader.existing(passports[0].id))
    author.passport = first
    authors[2].passport = passports[2]
    try context.save()
    let third = try #require(try reader.existing(passports[2].id))
    reader.refresh(third)
    #expect(third.owner === author && author.passport === first)
    #expect(throws: StoreError.self) { try reader.save() }
    reader.rollback()
    #expect(author.passport === third)
  }

  // MARK: Fetches

  private static let conditions: [(String, @Sendable (Author) -> Bool)] = [
    ("passport == nil", { $0.passport == nil }),
    ("passport != nil", { $0.passport != nil }),
    ("NOT passport == nil", { $0.passport != nil }),
    ("passport.number == '2'", { $0.passport?.number == "2" }),
    ("passport.number != '2'", { $0.passport?.number != "2" }),
    ("NOT passport.number == '2'", { $0.passport?.number != "2" }),
    ("passport.number == nil", { $0.passport?.number == nil }),
    ("passport.id == 2", { $0.passport?.id.rowID == 2 }),
    ("passport.id IN {1, 3}", { [1, 3].contains($0.passport?.id.rowID) }),
    ("passport.owner == nil", { $0.passport == nil }),
    ("passport.owner.name == '1'", { $0.passport?.owner?.name == "1" }),
    ("passport.number == '1' OR name == '3'", { $0.passport?.number == "1" || $0.name == "3" }),
    ("passport == nil OR passport.number BEGINSWITH '1'", { $0.passport?.number.hasPrefix("1") ?? true }),
  ]

  private func expectSame(_ context: ObjectContext) throws {
    let all = try context.fetch(Author.self).sorted(by: \.name).all()
    for (condition, holds) in Self.conditions {
      let found = try context.fetch(Author.self).where(condition).sorted(by: \.name).all()
      #expect(found.map(\.name) == all.filter(holds).map(\.name), "\(condition)")
      #expect(try context.fetch(Author.self).where(condition).count() == found.count, "\(condition)")
    }
    for author in all {
      for passport in passports.compactMap({ try? context.existing($0.id) }) {
        let found = try context.fetch(Author.self).where("passport == %@", passport).all()
        #expect((found.first === author) == (author.passport === passport))
        #expect(
          try context.fetch(Passport.self).where("owner.passport == %@", passport).all().contains(passport)
            == (passport.owner != nil))
      }
    }
    let sorted = try context.fetch(Author.self).sorted(by: \.passport?.number).sorted(by: \.name).all()
    #expect(
      sorted.map(\.name)
        == all.sorted { ($0.passport?.number ?? "", $0.name) < ($1.passport?.number ?? "", $1.name) }.map(
          \.name))
  }

  @Test func `predicates and sorts use an end without a column, in the file and in pending changes`()
    async throws
  {
    try expectSame(temporary.store.makeContext())
    try expectSame(context)
    authors[2].passport = passports[0]
    try expectSame(context)
    let new = context.insert(Author.self) { $0.name = "4" }
    new.passport = context.insert(Passport.self) { $0.number = "14" }
    try expectSame(context)
    context.delete(passports[1])
    try expectSame(context)
    try context.save()
    try expectSame(context)
    try await temporary.store.write { context in
      try context.fetch(Author.self).where("name == '2'").one().passport = context.insert(Passport.self) {
        $0.number = "5"
      }
      let found = try context.fetch(Author.self).where("passport.number == '5'").all()
      #expect(found.map(\.name) == ["2"])
    }
  }

  @Test func `a #Predicate uses an end without a column`() throws {
    let found = try context.fetch(Author.self).where(#Predicate<Author> { $0.passport?.number == "2" }).all()
    #expect(found.map(\.name) == ["2"])
    let none = try context.fetch(Author.self).where(#Predicate<Author> { $0.passport == nil }).all()
    #expect(none.map(\.name) == ["3"])
  }

  @Test func `objects without classes have both ends of a one-to-one`() async throws {
    let store = try await Store.open(at: temporary.store.url, key: testKey)
    let context = store.makeContext()
    let ann = try context.fetch(entity: "Author").where("name == '1'").one()
    let passport = try #require(ann[toOne: "passport"])
    #expect(try ann.value("passport") == .integer(1) && passport[toOne: "owner"] === ann)
    let third = try context.fetch(entity: "Author").where("name == '3'").one()
    #expect(try third.value("passport") == .null)
    try third.set("passport", toOne: passport)
    #expect(ann[toOne: "passport"] == nil && passport[toOne: "owner"] === third)
    try third.set("passport", toOne: nil)
    #expect(passport[toOne: "owner"] == nil)
    ann[toOne: "passport"] = passport
    try context.save()
    #expect(try stored() == [1, 2, .null])
  }

  @Test func `access by name throws if a lookup fails or the object is gone`() async throws {
    let store = try await Store.open(at: temporary.store.url, key: testKey)
    let gone = try {
      let context = store.makeContext()
      let ann = try context.fetch(entity: "Author").where("name == '1'").one()
      return ann
    }()
    #expect(throws: StoreError.noContext(entity: "Author", property: "passport")) {
      try gone.value("passport")
    }
    let context = store.makeContext()
    let (second, third) = (
      try context.fetch(entity: "Author").where("name == '2'").one(),
      try context.fetch(entity: "Author").where("name == '3'").one()
    )
    let passport = try context.fetch(entity: "Passport").where("number == '3'").one()
    let id = authors[1].id
    try await temporary.store.write { context in context.delete(try #require(try context.existing(id))) }
    context.refresh(second)
    #expect(throws: StoreError.objectGone(entity: "Author", rowID: 2)) { try second.value("passport") }
    try store.whileReadsFail {
      #expect(throws: (any Error).self) { try third.value("passport") }
      #expect(throws: (any Error).self) { try third.set("passport", toOne: nil) }
      #expect(throws: (any Error).self) { try passport.set("owner", toOne: third) }
    }
    #expect(context.faultErrors.isEmpty && !context.hasChanges)
    try third.set("passport", toOne: passport)
    #expect(try passport.value("owner") == .integer(3))
  }

  @Test func `a change set names the end with the column`() async throws {
    var changes = temporary.store.changes().makeAsyncIterator()
    try await temporary.store.write { context in
      let author = try context.fetch(Author.self).where("name == '3'").one()
      author.passport = try context.fetch(Passport.self).where("number == '1'").one()
    }
    guard case .committed(let set)? = await changes.next() else { throw try #require(nil as StoreError?) }
    #expect(set.updated.map(\.entity) == ["Passport"] && set.updated.map(\.new) == [["owner": .integer(3)]])
    try await temporary.store.apply(set.inverse)
    #expect(try stored() == [1, 2, .null])
    guard case .committed? = await changes.next() else { throw try #require(nil as StoreError?) }
    let swap = temporary.store.makeContext()
    let (one, two) = (
      try #require(try swap.existing(authors[0].id)), try #require(try swap.existing(authors[1].id))
    )
    (one.passport, two.passport) = (two.passport, one.passport)
    try swap.save()
    guard case .committed(let swapped)? = await changes.next() else { throw try #require(nil as StoreError?) }
    #expect(try stored() == [2, 1, .null])
    try await temporary.store.apply(swapped.inverse)
    #expect(try stored() == [1, 2, .null])
  }
}
