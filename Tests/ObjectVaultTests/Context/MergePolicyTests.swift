// Conflicts between contexts: finding them, settling them by hand, and by the merge policy of a save.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct MergePolicies {
  private let temporary: TemporaryStore
  private let store: Store
  private let context: ObjectContext
  private let other: ObjectContext
  private let ann: Author
  private let theirAnn: Author

  init() async throws {
    temporary = try await TemporaryStore(library)
    store = temporary.store
    context = store.makeContext()
    other = store.makeContext()
    ann = context.insert(Author.self) { ($0.name, $0.nick, $0.age) = ("Ann", "A", 30) }
    try context.save()
    theirAnn = try #require(try other.existing(ann.id))
  }

  /// The name, nick and age of the only author in the file.
  private func stored() throws -> [String?] {
    let reader = store.makeContext()
    return try reader.fetch(Author.self).all().flatMap { [$0.name, $0.nick, "\($0.age)"] }
  }

  private func texts(_ author: Author) -> [String?] { [author.name, author.nick, "\(author.age)"] }

  /// Changes Ann here and elsewhere: the name differently, the nick here, the age elsewhere.
  private func change() throws {
    (ann.name, ann.nick) = ("Anna", "AA")
    (theirAnn.name, theirAnn.age) = ("Annie", 40)
    try other.save()
  }

  @Test func `a conflict lists what both sides have set, and its texts contain no values`() throws {
    #expect(try context.conflicts().isEmpty)
    try change()
    let conflict = try #require(try context.conflicts().first)
    #expect(conflict.kind == .changed && conflict.id == DynamicID(entity: "Author", rowID: 1))
    #expect(conflict.mine == ["name": .text("Anna"), "nick": .text("AA")])
    #expect(conflict.theirs == ["name": .text("Annie"), "age": .integer(40)])
    #expect(conflict.base["name"] == .text("Ann") && conflict.base["age"] == .integer(30))
    #expect(conflict.properties == ["name"])
    #expect(
      "\(conflict)" == "Author 1: set differently here and elsewhere: name; here: nick; elsewhere: age")
    #expect(
      throws: StoreError.conflicts([
        Conflict(
          entity: "Author", rowID: 1, fetchedVersion: 2, storedVersion: 3, properties: ["name", "nick"])
      ])
    ) { try context.save() }
    #expect(texts(ann) == ["Anna", "AA", "30"])
  }

  @Test func `a save reports all conflicts at once`() throws {
    for number in 1...5 { context.insert(Author.self) { $0.name = "\(number)" } }
    try context.save()
    let theirs = try other.fetch(Author.self).sorted(by: \.id).all()
    for author in theirs.dropFirst() { author.age = 50 }
    other.delete(theirs[3])
    try other.save()
    let mine = try context.fetch(Author.self).sorted(by: \.id).all()
    // Fetched again, so they have the new rows. Only what changes from now on conflicts.
    for author in mine { author.age = 60 }
    for author in theirs where author.state != .invalid { author.nick = author.name }
    other.delete(theirs[5])
    try other.save()
    context.delete(mine[0])
    #expect {
      try context.save()
    } throws: { error in
      guard case StoreError.conflicts(let all) = error else { return false }
      return all.map(\.rowID) == [1, 2, 3, 5, 6] && all.map { $0.storedVersion == nil }.last == true
        && "\(error)".contains("Author 3 was changed")
    }
    #expect(
      try context.conflicts().map(\.kind) == [
        .deletedHere, .changed, .changed, .changed, .deletedElsewhere,
      ])
    try checkPending(context)
  }

  private static let policies: [(name: String, policy: MergePolicy, changed: [String?])] = [
    ("store", .mergeByPropertyStoreTrump, ["Annie", "AA", "40"]),
    ("object", .mergeByPropertyObjectTrump, ["Anna", "AA", "40"]),
    ("overwrite", .overwrite, ["Anna", "AA", "30"]),
    ("rollback", .rollback, ["Annie", "A", "40"]),
    ("custom", .custom { _ in .values(["nick": .text("C")]) }, ["Annie", "C", "40"]),
  ]

  @Test func `each policy settles a change on both sides`() throws {
    for (name, policy, expected) in Self.policies {
      let (mine, theirs) = (store.makeContext(), store.makeContext())
      try reset()
      let (one, two) = (try mine.fetch(Author.self).one(), try theirs.fetch(Author.self).one())
      (one.name, one.nick) = ("Anna", "AA")
      (two.name, two.age) = ("Annie", 40)
      try theirs.save()
      mine.mergePolicy = policy
      try mine.save()
      #expect(try stored() == expected, "\(name)")
      #expect(texts(one) == expected && !mine.hasChanges, "\(name)")
      try checkPending(mine)
      // The object is current: the next save needs no policy.
      mine.mergePolicy = .error
      one.age += 1
      try mine.save()
    }
  }

  /// Leaves one author as it was at the beginning.
  private func reset() throws {
    let context = store.makeContext()
    for author in try context.fetch(Author.self).all() { context.delete(author) }
    try context.save()
    context.insert(Author.self) { ($0.name, $0.nick, $0.age) = ("Ann", "A", 30) }
    try context.save()
  }

  @Test func `each policy settles a deletion elsewhere`() async throws {
    for (name, policy, _) in Self.policies {
      let (mine, theirs, third) = (store.makeContext(), store.makeContext(), store.makeContext())
      try reset()
      let (one, two) = (try mine.fetch(Author.self).one(), try theirs.fetch(Author.self).one())
      let stale = try third.fetch(Author.self).one()
      let id = one.id
      one.nick = "AA"
      theirs.delete(two)
      try theirs.save()
      #expect(try mine.conflicts().map(\.kind) == [.deletedElsewhere])
      mine.mergePolicy = policy
      try mine.save()
      #expect(!mine.hasChanges)
      try checkPending(mine)
      switch name {
      case "store", "rollback":
        #expect(try stored() == [] && one.state == .invalid && one.name == "Ann", "\(name)")
      default:
        #expect(try stored() == ["Ann", name == "custom" ? "C" : "AA", "30"] && one.id == id, "\(name)")
        #expect(try one.state == .loaded && texts(one) == stored())
        one.age = 31
        try mine.save()
        // A context that knows only the former row must not take the new row for it.
        stale.age = 99
        #expect(throws: StoreError.self) { try third.save() }
      }
    }
    #expect(try await store.verify().isEmpty)
  }

  @Test func `each policy settles a deletion here`() throws {
    for (name, policy, _) in Self.policies {
      let (mine, theirs) = (store.makeContext(), store.makeContext())
      try reset()
      let (one, two) = (try mine.fetch(Author.self).one(), try theirs.fetch(Author.self).one())
      mine.delete(one)
      two.age = 40
      try theirs.save()
      #expect(try mine.conflicts().map(\.kind) == [.deletedHere])
      mine.mergePolicy = policy
      try mine.save()
      let isKept = ["store", "rollback", "custom"].contains(name)
      #expect(try stored() == (isKept ? ["Ann", name == "custom" ? "C" : "A", "40"] : []), "\(name)")
      #expect(isKept ? try texts(one) == stored() : one.state == .invalid, "\(name)")
      #expect(!mine.hasChanges)
      try checkPending(mine)
    }
  }

  @Test func `a save that fails after merging leaves the changes and their conflict`() throws {
    let blocker = store.makeContext()
    blocker.insert(Author.self) { $0.name = "Anna" }
    try blocker.save()
    let second = context.insert(Author.self) { $0.name = "Second" }
    let third = context.insert(Author.self) { $0.name = "Third" }
    let fourth = context.insert(Author.self) { $0.name = "Fourth" }
    try context.save()
    try change()
    for (author, action) in [(second, "delete"), (third, "change"), (fourth, "change")] {
      let same = try #require(try other.existing(author.id))
      if action == "delete" { other.delete(same) } else { same.age = 77 }
    }
    try other.save()
    (second.age, third.age) = (66, 66)
    context.delete(fourth)
    let before = try context.conflicts()
    #expect(before.count == 4)
    for policy in [
      MergePolicy.mergeByPropertyObjectTrump, .overwrite,
      .custom { $0.kind == .deletedHere ? .theirs : .mine },
    ] {
      context.mergePolicy = policy
      #expect(throws: StoreError.self) { try context.save() }
      #expect(try context.conflicts() == before)
      #expect(texts(ann) == ["Anna", "AA", "30"] && second.age == 66 && third.age == 66)
      #expect(second.state == .loaded && fourth.state == .deleted && context.deletedObjects == [fourth])
      try checkPending(context)
    }
    context.mergePolicy = .mergeByPropertyStoreTrump
    try context.save()
    #expect(!context.hasChanges && ann.name == "Annie" && second.state == .invalid && third.age == 77)
    #expect(fourth.age == 77 && fourth.state == .loaded)
    try checkPending(context)
  }

  @Test func `members in memory are those of the store after a to-one was settled`() throws {
    let bob = context.insert(Author.self) { $0.name = "Bob" }
    let cid = context.insert(Author.self) { $0.name = "Cid" }
    let book = context.insert(Book.self) { ($0.title, $0.author) = ("B", ann) }
    try context.save()
    for (policy, owner) in [
      (MergePolicy.mergeByPropertyStoreTrump, cid), (.mergeByPropertyObjectTrump, bob), (.rollback, cid),
      (.custom { _ in .values(["author": .null]) }, nil),
    ] {
      book.author = ann
      context.mergePolicy = .error
      try context.save()
      #expect(ann.books == [book] && bob.books.isEmpty && cid.books.isEmpty)
      let theirs = store.makeContext()
      try theirs.existing(book.id)?.author = theirs.existing(cid.id)
      try theirs.save()
      book.author = bob
      context.mergePolicy = policy
      try context.save()
      #expect(book.author === owner)
      for author in [ann, bob, cid] { #expect(author.books == (author === owner ? [book] : [])) }
      let reader = store.makeContext()
      #expect(try reader.fetch(Book.self).one().author?.id == owner?.id)
      try checkPending(context)
    }
  }

  @Test func `a deletion with stale members follows the delete rules`() async throws {
    let club = context.insert(Club.self) { $0.name = "C" }
    ann.club = club
    let book = context.insert(Book.self) { ($0.title, $0.author) = ("B", ann) }
    try context.save()
    #expect(ann.books == [book] && club.members == [ann])
    let other = store.makeContext()
    try other.existing(ann.id)?.age = 41
    try other.existing(book.id)?.year = 1999
    try other.save()
    context.delete(club)
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(ann.club == nil && ann.age == 41)
    context.refresh(ann)
    #expect(ann.books.map(\.year) == [1999])
    let third = store.makeContext()
    try third.existing(book.id)?.year = 2001
    try third.save()
    context.delete(ann)
    try context.save()
    #expect(try store.makeContext().fetch(Book.self).count() == 0)
    #expect(try await store.verify().isEmpty)
  }

  @Test func `conflicts are resolved one by one before the save`() throws {
    try change()
    for conflict in try context.conflicts() { try context.resolve(conflict, keeping: .theirs) }
    #expect(texts(ann) == ["Annie", "AA", "40"] && ann.changedValues == ["nick": .text("AA")])
    try checkPending(context)
    #expect(try context.conflicts().isEmpty)
    try context.save()
    #expect(try stored() == ["Annie", "AA", "40"])
  }

  @Test func `values of a resolution are checked, and nothing changes if they are wrong`() throws {
    try change()
    let conflict = try #require(try context.conflicts().first)
    for values: ChangeSet.Values in [
      ["nothing": .null], ["age": .text("x")], ["club": .text("x")], ["books": .null],
    ] {
      #expect(throws: StoreError.self) { try context.resolve(conflict, keeping: .values(values)) }
      #expect(texts(ann) == ["Anna", "AA", "30"])
    }
    context.mergePolicy = .custom { _ in throw CancellationError() }
    #expect(throws: CancellationError.self) { try context.save() }
    context.rollback()
    try context.resolve(conflict, keeping: .mine)
    #expect(!context.hasChanges)
  }

  @Test func `a policy settles conflicts with SQL inside of a write`() async throws {
    let id = ann.id
    for (policy, expected) in [
      (MergePolicy.mergeByPropertyObjectTrump, ["Anna", "S", "30"] as [String?]),
      (.mergeByPropertyStoreTrump, ["Ann", "S", "30"]),
    ] {
      try reset()
      let row = try store.makeContext().fetch(Author.self).one().id
      _ = id
      try await store.write { context in
        context.mergePolicy = policy
        let author = try #require(try context.existing(row))
        let same = author.name
        try context.execute("UPDATE Author SET nick = 'S' WHERE id = \(row.rowID)")
        author.name = same + "a"
        if case .mergeByPropertyStoreTrump = policy { author.name = "Ann" }
      }
      #expect(try stored() == expected)
    }
  }

  @Test func `refreshing with changes keeps them on top of the present row`() throws {
    try change()
    try context.refresh(ann, mergeChanges: true)
    #expect(texts(ann) == ["Anna", "AA", "40"] && ann.committedValues["name"] == .text("Annie"))
    try checkPending(context)
    try context.save()
    #expect(try stored() == ["Anna", "AA", "40"])
    theirAnn.age = 1
    other.refresh(theirAnn)
    theirAnn.age = 50
    try other.save()
    try context.refresh(ann, mergeChanges: false)
    #expect(ann.age == 50)
  }

  @Test func `refreshing all objects shows what others have committed, and keeps changes`() throws {
    let bob = context.insert(Author.self) { $0.name = "Bob" }
    let book = context.insert(Book.self) { ($0.title, $0.author) = ("B", bob) }
    try context.save()
    #expect(bob.books == [book])
    try change()
    try other.existing(bob.id)?.age = 70
    other.insert(Book.self) { $0.title = "C" }.author = try other.existing(bob.id)
    try other.save()
    try context.refreshAll()
    #expect(texts(ann) == ["Anna", "AA", "40"] && bob.age == 70 && bob.books.count == 2)
    try checkPending(context)
    try context.save()
    context.delete(book)
    ann.nick = "x"
    let new = context.insert(Author.self) { $0.name = "New" }
    context.reset()
    #expect(!context.hasChanges && context.registeredObjects.isEmpty && context.faultErrors.isEmpty)
    for object in [ann, bob, new] { #expect(object.state == .invalid) }
    #expect(try context.fetch(Author.self).count() == 2 && context.fetch(Book.self).count() == 2)
  }

  @Test func `thousands of conflicts are settled in one save`() throws {
    for number in 0..<4000 { context.insert(Author.self) { ($0.name, $0.age) = ("n\(number)", 1) } }
    try context.save()
    for author in try other.fetch(Author.self).all() { author.age = 2 }
    try other.save()
    let mine = context.registeredObjects.compactMap { $0 as? Author }
    for author in mine { author.nick = author.name }
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    let reader = store.makeContext()
    #expect(try reader.fetch(Author.self).where("age == 2 AND nick == name").count() == mine.count)
  }

  @Test func `a deletion is taken back or kept before the save`() throws {
    let context = store.makeContext()
    context.mergePolicy = .mergeByPropertyStoreTrump
    let mine = try #require(try context.existing(ann.id))
    let kept = context.insert(Book.self) { ($0.title, $0.author) = ("kept", mine) }
    try context.save()
    context.delete(kept)
    let theirs = store.makeContext()
    try theirs.existing(kept.id)?.year = 1
    try theirs.save()
    let conflict = try #require(try context.conflicts().first)
    try context.resolve(conflict, keeping: .theirs)
    #expect(kept.state == .fault && mine.books == [kept] && kept.year == 1 && !context.hasChanges)
    try checkPending(context)
    context.delete(kept)
    try theirs.existing(kept.id)?.year = 2
    try theirs.save()
    for conflict in try context.conflicts() { try context.resolve(conflict, keeping: .mine) }
    try context.save()
    let reader = store.makeContext()
    #expect(try reader.fetch(Book.self).count() == 0 && mine.books.isEmpty)
  }
}

/// Random changes of two contexts, compared with a model of property values in an array.
@Suite(.tags(.random)) struct RandomMerges {
  @Test func `random conflicts are settled as a model of three versions says`() async throws {
    let seed = UInt64(ProcessInfo.processInfo.environment["VAULT_SEED"].flatMap { Int($0) } ?? 3811)
    var random = SeededGenerator(seed: seed)
    let temporary = try await TemporaryStore(library)
    let store = temporary.store
    for round in 0..<(isTorture ? 2000 : 60) {
      let (mine, theirs) = (store.makeContext(), store.makeContext())
      for book in try mine.fetch(Book.self).all() { mine.delete(book) }
      try mine.save()
      let books = (0..<8).map { number in
        mine.insert(Book.self) { ($0.title, $0.year, $0.rating) = ("\(number)", 0, 0) }
      }
      try mine.save()
      let choice = Int.random(in: 0..<4, using: &random)
      mine.mergePolicy =
        [.mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback][choice]
      var (expected, changed): ([Int64: Values], [Book]) = ([:], [])
      for book in books {
        let same = try #require(try theirs.existing(book.id))
        let (here, elsewhere) = (Self.change(&random), Self.change(&random))
        if case .nothing = here {} else { changed.append(book) }
        Self.apply(here, to: book, in: mine)
        Self.apply(elsewhere, to: same, in: theirs)
        expected[book.id.rowID] = Self.merged(here, elsewhere, choice)
      }
      try theirs.save()
      try mine.save()
      try checkPending(mine)
      let reader = store.makeContext()
      let found = try reader.fetch(Book.self).all()
      let values = Dictionary(uniqueKeysWithValues: found.map { ($0.id.rowID, Values($0)) })
      #expect(values == expected, "seed \(seed), round \(round), policy \(choice)")
      for book in changed where book.state != .invalid {
        #expect(values[book.id.rowID] == Values(book), "seed \(seed), round \(round), in memory")
      }
    }
  }

  private struct Values: Equatable {
    var year = 0
    var rating = 0

    init(year: Int?, rating: Int?) { (self.year, self.rating) = (year ?? 0, rating ?? 0) }
    init(_ book: Book) { (year, rating) = (book.year, Int(book.rating ?? -1)) }
  }

  private enum Change { case nothing, deletion, values(year: Int?, rating: Int?) }

  private static func change(_ random: inout SeededGenerator) -> Change {
    let (one, two) = (Int.random(in: 1...9, using: &random), Int.random(in: 1...9, using: &random))
    switch Int.random(in: 0..<6, using: &random) {
    case 0: return .nothing
    case 1: return .deletion
    case 2: return .values(year: one, rating: nil)
    case 3: return .values(year: nil, rating: two)
    default: return .values(year: one, rating: two)
    }
  }

  private static func apply(_ change: Change, to book: Book, in context: ObjectContext) {
    switch change {
    case .nothing: break
    case .deletion: context.delete(book)
    case .values(let year, let rating):
      if let year { book.year = year }
      if let rating { book.rating = Double(rating) }
    }
  }

  /// The values of a row that had zeros, after two writers have changed it; nil if it is deleted.
  private static func merged(_ here: Change, _ elsewhere: Change, _ policy: Int) -> Values? {
    let objectWins = policy == 1 || policy == 2
    switch (here, elsewhere) {
    case (.nothing, .nothing): return Values(year: 0, rating: 0)
    case (.deletion, .deletion), (.deletion, .nothing), (.nothing, .deletion): return nil
    case (.nothing, .values(let year, let rating)), (.values(let year, let rating), .nothing):
      return Values(year: year, rating: rating)
    case (.deletion, .values(let year, let rating)):
      return objectWins ? nil : Values(year: year, rating: rating)
    case (.values(let year, let rating), .deletion):
      return objectWins ? Values(year: year, rating: rating) : nil
    case (.values(let year, let rating), .values(let otherYear, let otherRating)):
      switch policy {
      case 0: return Values(year: otherYear ?? year, rating: otherRating ?? rating)
      case 1: return Values(year: year ?? otherYear, rating: rating ?? otherRating)
      case 2: return Values(year: year, rating: rating)
      default: return Values(year: otherYear, rating: otherRating)
      }
    }
  }
}
