// Strings in predicates: escapes, folding, LIKE, and names that are keywords.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.slow)) struct PredicateStrings {
  let temporary: TemporaryStore
  let context: ObjectContext

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
  }

  /// Whether the predicate finds a book with the title.
  private func finds(_ title: String, where format: String, _ arguments: Any?...) throws -> Bool {
    let book = context.insert(Book.self) { $0.title = title }
    try context.save()
    let id = book.id.rowID
    defer {
      context.delete(book)
      try? context.save()
    }
    let node = try PredicateNode(format: format, arguments: arguments)
    return try context.fetch(Book.self).where(node).ids().map(\.rowID) == [id]
  }

  @Test(arguments: [
    (#"'line1\nline2'"#, "line1\nline2"), (#"'a\tb\rc'"#, "a\tb\rc"), (#""it's \"x\"""#, "it's \"x\""),
    (#"'it\'s \"x\"'"#, "it's \"x\""), (#"'a\\b'"#, "a\\b"), (#"'a\*b\d'"#, "a\\*b\\d"),
    (#"'\u00e9\u4e00'"#, "é一"), (#"'\uD83D\uDE00!'"#, "😀!"), (#"'\u12'"#, "\\u12"), (#"'a\0b'"#, "a\0b"),
    ("'\u{301}x'", "\u{301}x"), ("'\u{200D}x'", "\u{200D}x"), ("\"\u{20E3}\"", "\u{20E3}"),
    (#"'\\n'"#, "\\n"),
  ])
  func `escapes in a string literal give the expected text`(_ literal: String, _ text: String) throws {
    #expect(
      try PredicateNode(format: "title == \(literal)") == PredicateNode(format: "title == %@", text))
    #expect(try finds(text, where: "title == \(literal)"))
  }

  @Test func `half of a surrogate pair is an error with a position`() throws {
    do {
      _ = try PredicateNode(format: #"title == 'x\uD83Dy'"#)
      Issue.record("no error")
    } catch StoreError.predicate(let error) { #expect(error.position == 11 && error.reason.contains("half")) }
  }

  @Test func `case and diacritics are folded by the rules of Unicode`() throws {
    let pairs: [(String, String, String)] = [
      ("STRAẞE", "==[c]", "strasse"), ("straße", "==[c]", "STRAẞE"), ("ΣΑΣ", "==[c]", "σας"),
      ("ﬁn", "==[c]", "FIN"), ("K", "==[c]", "k"), ("Ångström", "==[cd]", "angstrom"),
      ("ÅNGSTRÖM", "CONTAINS[cd]", "strom"), ("İ", "==[cd]", "i"), ("한국", "BEGINSWITH[d]", "한"),
      ("é", "==[d]", "e\u{301}"), ("ậ", "==[d]", "a"), ("한글", "LIKE[d]", "?글"), ("ᾳ", "==[d]", "α"),
      ("straße", "LIKE[c]", "stra??e"), ("straße", "LIKE", "stra?e"),
    ]
    for (title, comparison, other) in pairs {
      #expect(try finds(title, where: "title \(comparison) %@", other), "\(title) \(comparison) \(other)")
    }
    let unequal: [(String, String, String)] = [
      ("ı", "==[c]", "i"), ("한국", "CONTAINS[d]", "하"), ("é", "==[c]", "e"), ("कि", "==[d]", "क"),
      ("abc", "CONTAINS[d]", "\u{301}"), ("abc", "BEGINSWITH[cd]", "\u{308}"),
      ("abc", "ENDSWITH[d]", "\u{301}"),
      ("abc", "CONTAINS", ""), ("straße", "LIKE[c]", "stra?e"),
    ]
    for (title, comparison, other) in unequal {
      #expect(try !finds(title, where: "title \(comparison) %@", other), "\(title) \(comparison) \(other)")
    }
    #expect(try !finds("abc", where: "title CONTAINS[d] author.nick"))
    #expect(try !finds("abc", where: "%@ IN[d] title", "\u{301}"))
  }

  @Test func `LIKE with long texts and patterns takes less than ten seconds`() throws {
    let (run, text) = (String(repeating: "a", count: 10_000), String(repeating: "a", count: 20_000) + "b")
    let book = context.insert(Author.self) { $0.nick = text }
    book.name = "x"
    try context.save()
    let start = threadTime()
    for (pattern, isFound) in [
      ("*\(run)*", true), ("*\(run)c*", false), ("*\(run)?", true), ("*a?\(run)c*", false),
      ("*?\(run)\(run)b", false), ("*\(run)?b", true), (String(repeating: "*a", count: 5000) + "*c", false),
      (String(repeating: "a*", count: 5000), true), ("*\(String(repeating: "?", count: 20_001))", true),
    ] {
      #expect(
        try context.fetch(Author.self).where("nick LIKE %@", pattern).exists() == isFound,
        "\(pattern.prefix(9))")
    }
    #expect(threadTime() - start < 10)
  }

  @Test(arguments: [
    ("abc", "a*c", true), ("abc", "*", true), ("", "*", true), ("", "", true), ("abc", "", false),
    ("aXbXc", "a*X*c", true),
    ("ab", "a?b", false), ("a\nb", "a*b", true), ("a*b", #"a\*b"#, true), ("aab", #"a\*b"#, false),
    ("aba", "*ab?", true),
    ("abab", "ab", false), ("mississippi", "*iss*ip*", true), ("mississippi", "*is?*i?p*", true),
    ("xaay", "*a?a*", false),
    ("ab", "ab*ab", false), ("abab", "*aba*b", true), ("aaa", "?*?*?*?", false),
    // After the last backslash there is no character to escape.
    (#"a\"#, #"a\"#, true), ("a", #"a\"#, false), (#"a\"#, #"a\\"#, true), (#"b\\"#, #"*\\\"#, true),
  ])
  func `LIKE matches the whole text`(_ text: String, _ pattern: String, _ isFound: Bool) throws {
    context.insert(Author.self) {
      $0.name = "n"
      $0.nick = text
    }
    try context.save()
    #expect(try context.fetch(Author.self).where("nick LIKE %@", pattern).exists() == isFound)
  }

  @Test func `names that are keywords can be written in a format`() async throws {
    let words = try await TemporaryStore(Schema { Entity(Words.self) })
    let context = words.store.makeContext()
    context.insert(Words.self) {
      $0.not = 1
      $0.any = 2
      $0.between = true
      $0.一月 = 3
      $0.self_ = 4
    }
    try context.save()
    for format in [
      "#not == 1", "#any == 2 AND #not < #any", "NOT #any == 3", "一月 == 3", "SELF.#any == 2", "SELF.not == 1",
      "self_ == 4",
      "#between", "NOT NOT #between AND self_ IN {#any, 4}",
    ] {
      #expect(try context.fetch(Words.self).where(format).count() == 1, "\(format)")
    }
    #expect(try context.fetch(Words.self).where("%K == 1 AND %K", "not", "between").count() == 1)
  }

  @Test func `a key path alone is a condition only if it is a Bool`() async throws {
    let samples = try await TemporaryStore(Schema { Entity(Typed.self) })
    let context = samples.store.makeContext()
    context.insert(Typed.self) {
      $0.flag = true
      $0.int = 1
    }
    context.insert(Typed.self)
    try context.save()
    #expect(try context.fetch(Typed.self).where("flag").count() == 1)
    #expect(try context.fetch(Typed.self).where("NOT flag AND NOT (flag OR flag)").count() == 1)
    #expect(try context.fetch(Typed.self).where("flag == 1 AND int == TRUE").count() == 1)
    #expect(try context.fetch(Typed.self).where(#Predicate { !$0.flag }).count() == 1)
    for format in ["int", "NOT int", "string", "flag AND int", "decimal"] {
      do {
        _ = try context.fetch(Typed.self).where(format).count()
        Issue.record("\(format)")
      } catch StoreError.predicate(let error) {
        #expect(error.reason.contains("comparison is missing") && error.position != nil)
      }
    }
    #expect(throws: StoreError.self) { try self.context.fetch(Book.self).where("author").count() }
    #expect(throws: StoreError.self) { try self.context.fetch(Book.self).where("ANY genres.name").count() }
  }

  @Test func `a #Predicate captures an enum as documented`() async throws {
    let moods = try await TemporaryStore(Schema { Entity(Moody.self) })
    let context = moods.store.makeContext()
    for feeling in Documented.allCases { context.insert(Moody.self) { $0.feeling = feeling } }
    try context.save()
    let cheerful = Documented.cheerful
    #expect(try context.fetch(Moody.self).where(#Predicate { $0.feeling == cheerful }).count() == 1)
    let states = [Documented.calm]
    #expect(try context.fetch(Moody.self).where(#Predicate { states.contains($0.feeling) }).count() == 1)
  }
}

enum Documented: String, CaseIterable, Codable, AttributeValue { case calm, cheerful }

final class Moody: ManagedObject {
  @Attribute var feeling: Documented
}

final class Words: ManagedObject {
  @Attribute var not: Int
  @Attribute var any: Int
  @Attribute var between: Bool
  @Attribute var 一月: Int
  @Attribute var self_: Int
}
