// A graph of objects in a context, the same graph in plain Swift values, and the comparison of fetches
// with these values.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport

/// Objects with their plain counterparts, and changes to both.
final class PendingGraph {
  private let context: ObjectContext
  private var books: [(object: Book, plain: PlainObject)] = []
  private var authors: [(object: Author, plain: PlainObject)] = []
  private var genres: [(object: Genre, plain: PlainObject)] = []
  private var count = 0
  /// Plain objects that another context has changed, so that memory is outdated. They are not changed
  /// here any more.
  private var stale: Set<ObjectIdentifier> = []
  private var linked: Set<[ObjectIdentifier]> = []

  init(_ context: ObjectContext, _ pairs: [(ManagedObject, PlainObject)]) {
    self.context = context
    for (object, plain) in pairs {
      switch object {
      case let book as Book: books.append((book, plain))
      case let author as Author: authors.append((author, plain))
      case let genre as Genre: genres.append((genre, plain))
      default: break
      }
    }
  }

  // MARK: Changing

  func change(_ random: inout SeededGenerator) {
    count += 1
    let (book, author, genre) = (
      books.randomElement(using: &random), authors.randomElement(using: &random),
      genres.randomElement(using: &random)
    )
    switch Int.random(in: 0..<12, using: &random) {
    case 0, 1:
      guard let book, !stale.contains(ObjectIdentifier(book.plain)) else { break }
      PredicateDifferential.change(book.object, book.plain, count, &random)
    case 2:
      guard let author, !stale.contains(ObjectIdentifier(author.plain)) else { break }
      let name = (PredicateDifferential.names.randomElement(using: &random) ?? "") + "\(count)"
      author.object.name = name
      author.plain.values["name"] = .text(name)
    case 3:
      guard let author, !stale.contains(ObjectIdentifier(author.plain)) else { break }
      author.object.nick = Bool.random(using: &random) ? nil : "Ann\(count)"
      author.plain.values["nick"] = author.object.nick.map { .text($0) } ?? .null
    case 4, 5:
      guard let book, !stale.contains(ObjectIdentifier(book.plain)) else { break }
      give(book, to: Bool.random(using: &random) ? author : nil)
    case 6, 7:
      guard let book, let genre, link(book.plain, to: genre.plain) else { break }
      let isMember = book.plain.many["genres"]?.contains { $0 === genre.plain } == true
      if isMember {
        book.object.remove(genre.object, from: \.genres)
        book.plain.many["genres"]?.removeAll { $0 === genre.plain }
        genre.plain.many["books"]?.removeAll { $0 === book.plain }
      } else {
        genre.object.add(book.object, to: \.books)
        book.plain.many["genres", default: []].append(genre.plain)
        genre.plain.many["books", default: []].append(book.plain)
      }
    case 8, 9:
      let new = (object: context.insert(Book.self), plain: PlainObject())
      PredicateDifferential.change(new.object, new.plain, count, &random)
      books.append(new)
      give(new, to: author)
    case 10: if let book { delete(book) }
    default:
      guard Bool.random(using: &random), let author else { break }
      context.delete(author.object)
      authors.removeAll { $0.plain === author.plain }
      for book in books where book.plain.one["author"] === author.plain { forget(book) }
    }
  }

  /// Lets another context change objects that have no changes here. Memory is not updated.
  func changeElsewhere(_ store: Store, _ random: inout SeededGenerator) throws {
    count += 1
    let other = store.makeContext()
    let unchanged = books.filter { !$0.object.hasChanges }
    guard let book = unchanged.randomElement(using: &random),
      let author = authors.filter({ !$0.object.hasChanges }).randomElement(using: &random),
      let genre = genres.randomElement(using: &random),
      let theirs = try other.existing(book.object.id), let writer = try other.existing(author.object.id),
      let theirGenre = try other.existing(genre.object.id)
    else { return }
    switch Int.random(in: 0..<6, using: &random) {
    case 0:
      PredicateDifferential.change(theirs, book.plain, count, &random)
      stale.insert(ObjectIdentifier(book.plain))
    case 1:
      writer.nick = Bool.random(using: &random) ? nil : "Ann\(count)"
      author.plain.values["nick"] = writer.nick.map { .text($0) } ?? .null
      stale.insert(ObjectIdentifier(author.plain))
    case 2:
      theirs.author = writer
      move(book.plain, to: author.plain)
      stale.insert(ObjectIdentifier(book.plain))
    case 3:
      guard link(book.plain, to: genre.plain) else { return }
      if theirs.genres.contains(theirGenre) {
        theirs.remove(theirGenre, from: \.genres)
        book.plain.many["genres"]?.removeAll { $0 === genre.plain }
        genre.plain.many["books"]?.removeAll { $0 === book.plain }
      } else {
        theirs.add(theirGenre, to: \.genres)
        book.plain.many["genres", default: []].append(genre.plain)
        genre.plain.many["books", default: []].append(book.plain)
      }
    case 4:
      let (new, plain) = (other.insert(Book.self), PlainObject())
      PredicateDifferential.change(new, plain, count, &random)
      new.author = writer
      move(plain, to: author.plain)
      try other.save()
      guard let here = try context.existing(new.id) else { return }
      books.append((here, plain))
    default:
      guard book.plain.many["genres"]?.isEmpty != false else { return }
      other.delete(theirs)
      book.plain.one["author"]?.many["books"]?.removeAll { $0 === book.plain }
      forget(book)
    }
    try other.save()
  }

  /// Notes that a link is changed, and returns whether it may be: a link is not changed twice once
  /// objects are stale.
  private func link(_ book: PlainObject, to genre: PlainObject) -> Bool {
    linked.insert([ObjectIdentifier(book), ObjectIdentifier(genre)]).inserted || stale.isEmpty
  }

  private func move(_ book: PlainObject, to author: PlainObject?) {
    book.one["author"]?.many["books"]?.removeAll { $0 === book }
    book.one["author"] = author
    author?.many["books", default: []].append(book)
  }

  private func give(
    _ book: (object: Book, plain: PlainObject), to author: (object: Author, plain: PlainObject)?
  ) {
    book.object.author = author?.object
    move(book.plain, to: author?.plain)
  }

  private func delete(_ book: (object: Book, plain: PlainObject)) {
    context.delete(book.object)
    book.plain.one["author"]?.many["books"]?.removeAll { $0 === book.plain }
    forget(book)
  }

  private func forget(_ book: (object: Book, plain: PlainObject)) {
    books.removeAll { $0.plain === book.plain }
    for genre in genres { genre.plain.many["books"]?.removeAll { $0 === book.plain } }
  }

  // MARK: Comparing

  private static var sorts: [(path: PartialKeyPath<Book>, names: [String])] {
    [
      (\.title, ["title"]), (\.year, ["year"]), (\.rating, ["rating"]), (\.price, ["price"]),
      (\.author?.name, ["author", "name"]), (\.author?.nick, ["author", "nick"]),
    ]
  }

  func compare(_ node: PredicateNode, _ random: inout SeededGenerator) throws {
    let fetch = context.fetch(Book.self).where(node)
    for book in books { book.plain.id = book.object.id.rowID }
    let expected = books.filter { PredicateEvaluation($0.plain).holds(node) }
    func expect(_ holds: Bool, _ what: String) throws {
      if !holds { throw Mismatch("\(what), expected \(expected.count): \(node)\n\(try fetch.sql)") }
    }
    let found = try fetch.all()
    try expect(Set(found) == Set(expected.map(\.object)), "found \(found.count)")
    try expect(found.count == expected.count, "found \(found.count), some twice")
    try expect(try fetch.count() == expected.count, "counted otherwise")
    try expect(try fetch.exists() == !expected.isEmpty, "it exists or not")
    try expect(Set(try fetch.ids()) == Set(found.map(\.id)), "other ids")
    let sort = Self.sorts.randomElement(using: &random) ?? Self.sorts[0]
    let isReverse = Bool.random(using: &random)
    let offset = Int.random(in: 0..<4, using: &random)
    let limit = Int.random(in: 0..<20, using: &random)
    let window = fetch.sorted(by: sort.path, isReverse ? .reverse : .forward).offset(offset).limit(limit)
    let ranked = expected.sorted { left, right in
      let (a, b) = (Self.value(left.plain, sort.names), Self.value(right.plain, sort.names))
      let areDecimals = sort.names == ["price"]
      if Self.precedes(a, b, areDecimals: areDecimals) { return true }
      return !Self.precedes(b, a, areDecimals: areDecimals)
        && Self.rank(left.object) < Self.rank(right.object)
    }
    let inOrder = Array(
      (isReverse ? ranked.reversed() : ranked).dropFirst(offset).prefix(limit).map(\.object))
    let sorted = try window.all()
    try expect(
      sorted == inOrder,
      "by \(sort.names), \(offset) and \(limit), \(isReverse): \(sorted.map(\.id.rowID)) and not \(inOrder.map(\.id.rowID))"
    )
    try expect(try window.count() == inOrder.count, "another count of \(offset) and \(limit)")
    try expect(try window.exists() == !inOrder.isEmpty, "it exists or not, \(offset) and \(limit)")
  }

  /// The rank of a book by its id. New objects follow all others, in the order of their insertion.
  private static func rank(_ book: Book) -> Int64 {
    book.id.isTemporary ? (1 << 62) - book.id.rowID : book.id.rowID
  }

  private static func value(_ plain: PlainObject, _ names: [String]) -> SQLValue {
    let owner = names.dropLast().reduce(plain) { (object: PlainObject?, name) in object?.one[name] }
    return owner?.values[names.last ?? ""] ?? .null
  }

  private static func precedes(_ left: SQLValue, _ right: SQLValue, areDecimals: Bool) -> Bool {
    switch (left, right) {
    case (.null, .null): return false
    case (.null, _): return true
    case (_, .null): return false
    case (.integer(let a), .integer(let b)): return a < b
    case (.real(let a), .real(let b)): return a < b
    case (.text(let a), .text(let b)):
      // A name may consist of digits, too.
      if areDecimals, let first = Decimal(string: a), let second = Decimal(string: b) {
        return first < second
      }
      return a.unicodeScalars.lexicographicallyPrecedes(b.unicodeScalars)
    default: return false
    }
  }
}
