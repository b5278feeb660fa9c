// The SQL of each form of predicate, compared with golden files. UPDATE_GOLDEN=1 writes them.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct PredicateSQL {
  static let formats: [(name: String, format: String, arguments: [any Sendable])] = [
    ("equal", "title == %@", ["x"]), ("equal-nil", "rating == nil", []), ("not-equal", "title != 'x'", []),
    ("not-equal-negated", "NOT title != 'x'", []), ("less", "year < 2000", []),
    ("less-negated", "NOT (year < 2000)", []),
    ("integer-against-real", "year >= 1999.5", []), ("real-against-integer", "rating == 4", []),
    ("decimal", "price <= 0.1", []), ("between", "year BETWEEN {1990, 2000}", []),
    ("in", "year IN %@", [[1, 2, 3]]), ("in-with-nil", "rating IN {1.5, nil}", []),
    ("in-empty", "year IN {}", []),
    ("begins", "title BEGINSWITH 'The'", []), ("ends", "title ENDSWITH 'end'", []),
    ("contains", "title CONTAINS 'x'", []),
    ("contains-empty", "title CONTAINS ''", []), ("contains-folded", "title CONTAINS[cd] 'É'", []),
    ("like", "title LIKE '*Watch?'", []), ("equal-folded", "title ==[c] 'STRASSE'", []),
    ("and-or-not", "year > 1 AND (year < 5 OR NOT title = 'x')", []), ("to-one", "author.name == 'Ann'", []),
    ("to-one-twice", "author.name == 'Ann' AND author.age > 3", []),
    ("to-one-of-to-one", "author.club.name == 'C'", []),
    ("object", "author == %@", [ObjectID<Author>(rowID: 7)]), ("object-id", "author.id == 7", []),
    ("object-nil", "author == nil", []), ("any", "ANY genres.name == 'crime'", []),
    ("all", "ALL genres.name BEGINSWITH 'c'", []), ("none", "NONE loans.reader == 'R'", []),
    ("any-through-to-one", "ANY author.books.title == 'x'", []), ("count", "genres.@count > 2", []),
    ("count-through-to-one", "author.books.@count >= 2", []),
    ("contains-object", "genres CONTAINS %@", [ObjectID<Genre>(rowID: 3)]),
    ("arithmetic", "year + 1 > 2 * 3", []), ("key-path-argument", "%K == %d", ["author.age", 3]),
    ("self", "SELF == %@", [ObjectID<Book>(rowID: 2)]), ("true", "TRUEPREDICATE", []),
    ("columns", "title == author.name", []), ("function", "length(title) > 3", []),
    ("function-nested", "lowercase(uppercase(author.nick)) BEGINSWITH 'a'", []),
    ("subquery", "SUBQUERY(genres, $g, $g.name BEGINSWITH 'c' AND $g.books.@count > 1).@count > 1", []),
    ("subquery-any", "SUBQUERY(genres, $g, $g.name == title).@count > 0", []),
    (
      "subquery-nested",
      "SUBQUERY(author.books, $b, SUBQUERY($b.genres, $g, $g.name == $b.title).@count == 2).@count == 1", []
    ),
    ("sum", "author.books.@sum.year > 4000", []), ("sum-of-decimals", "author.books.@sum.price > 10", []),
    ("average", "genres.books.@avg.rating >= 2.5", []), ("minimum", "author.books.@min.year == year", []),
    ("maximum-filtered", "SUBQUERY(author.books, $b, $b.rating != nil).@max.year == year", []),
    ("count-distinct", "genres.books.@distinctUnionOfObjects.title.@count > 3", []),
    ("count-of-several-steps", "author.books.genres.@count > 3", []),
    ("count-of-a-function", "count(author.books) == 1", []),
    ("list", "max(year, rating, genres.@count) > 3", []),
    ("ternary", "TERNARY(year > 2000, title, author.name) == 'x'", []),
    ("cast", "CAST(year, 'String') ENDSWITH '9'", []), ("matches", "title MATCHES[c] '[a-z]+ \\d'", []),
    ("remainder", "year %% 4 == 0", []), ("power", "year ** 2 > 0x3D0900", []),
    ("function-of-calculation", "abs(year - 2000) + 1 < length(title)", []),
  ]

  @Test(arguments: formats.map(\.name))
  func `the SQL of each form of predicate equals its golden file`(_ name: String) async throws {
    let temporary = try await TemporaryStore(library)
    let form = try #require(Self.formats.first { $0.name == name })
    let node = try PredicateNode(format: form.format, arguments: form.arguments)
    let sql = try temporary.store.makeContext().fetch(Book.self).where(node).sql
    try expectGolden("\(form.format)\n\(sql)\n", file: "predicate-\(name)")
  }

  @Test func `the SQL of a sorted and limited fetch equals its golden file`() async throws {
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    let fetch = context.fetch(Book.self).sorted(by: \.author?.name, .reverse).sorted(by: \.title).limit(5)
      .offset(10)
    try expectGolden("\(try fetch.sql)\n", file: "fetch-sorted")
    try expectGolden("\(try context.fetch(Book.self).offset(3).sql)\n", file: "fetch-offset")
  }
}

private func expectGolden(_ text: String, file name: String) throws {
  let difference = try Golden.difference(of: text, from: "\(name).txt", in: "ObjectVaultTests")
  #expect(difference == nil, "\(difference ?? "")")
}
