// The programs of Examples do what they print: the sqlcipher shell reads their stores, and their figures are
// counted a second time.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.documents, .slow)) struct Examples {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Compiles an example.
  func example(_ name: String) async throws -> ReaderProgram {
    let files = PackageFiles.files(in: "Examples/Sources/\(name)", suffix: ".swift")
    let program = try await ReaderProgram(PackageFiles.text(try #require(files.first)), name: name)
    try #require(program.build.status == 0, "\(program.build.output)\(program.build.errors)")
    #expect(files.count == 1)
    return program
  }

  func run(_ program: ReaderProgram, _ arguments: [String] = [], input: String = "") throws -> [String] {
    let result = try program.run([folder.url.path] + arguments, input: input)
    #expect(result.status == 0 && result.errors.isEmpty, "\(result.output)\(result.errors)")
    return result.output.split(separator: "\n").map(String.init)
  }

  /// The output of the shell for a store.
  func shell(_ name: String, passphrase: String, sql: String) throws -> [String] {
    let connection = try Connection.open(folder.path(name), key: .passphrase(passphrase))
    let pragmas = connection.unlocked.profile.shellPragmas(major: Engine.current.cipherMajor)
    connection.close()
    let input = "PRAGMA key = '\(passphrase)';\n\(pragmas.joined(separator: "\n"))\n\(sql);\n"
    let result = try runTool(try #require(cipherShell), [folder.path(name)], input: input)
    // Version 4 prints a line for the pragma of the key.
    return result.output.split(separator: "\n").map(String.init).filter { $0 != "ok" }
  }

  @Test func `every example has under 120 lines`() throws {
    let paths = PackageFiles.files(in: "Examples/Sources", suffix: ".swift")
    #expect(paths.count >= 3)
    for path in paths { #expect(try PackageFiles.text(path).split(separator: "\n").count < 120, "\(path)") }
  }

  @Test(.enabled(if: cipherShell != nil, "the sqlcipher shell is not installed"))
  func `the notes app finds what the shell finds, under the passphrase that it reports`() async throws {
    let input = "first horse\nsecond horse\n"
    let notes = try await example("notes")
    let first = try run(notes, input: input)
    let second = try run(notes, input: input)
    #expect(first[0] == "a new store" && second[0] == "a store that was here")
    #expect(first.dropFirst() == second.dropFirst())
    func answer(_ question: String) -> String? {
      first.first { $0.hasPrefix(question) }.map { String($0.dropFirst(question.count + 2)) }
    }
    func titles(_ condition: String) throws -> String {
      try shell(
        "notes.store", passphrase: "second horse",
        sql: "SELECT title FROM Note WHERE \(condition) ORDER BY title"
      )
      .joined(separator: ", ")
    }
    let about = try titles("title LIKE '%tea%' OR body LIKE '%tea%'")
    let loose = try titles("notebook_id IS NULL")
    let tagged = try titles("id IN (SELECT Note_id FROM Note_tags)")
    let count = try titles("1").split(separator: ",").count
    #expect(!about.isEmpty && !loose.isEmpty && !tagged.isEmpty)
    #expect(
      answer("about tea") == about && answer("in no notebook") == loose && answer("tagged home") == tagged)
    #expect(answer("after the change of the passphrase") == "\(count) notes")
    #expect(answer("another passphrase") == "refused" && answer("readable in the file") == "nothing")
    #expect(throws: SQLError.wrongKey(file: folder.path("notes.store"))) {
      try Connection.open(folder.path("notes.store"), key: .passphrase("first horse"))
    }
  }

  @Test func `the importer counts like a dictionary, and a second run finds everything`() async throws {
    // Authors and codes are repeated, within a batch and across batches. The last title counts.
    let lines = (0..<2500).map { "c\($0 % 2100);Title \($0 / 2);Author \($0 * 7 % 300)" }
    try folder.write(Data(lines.joined(separator: "\n").utf8), to: "books.txt")
    var titles: [String: [String]] = [:]
    var changed = 0
    for parts in lines.map({ $0.split(separator: ";").map(String.init) }) {
      if let former = titles[parts[0]], former != parts { changed += 1 }
      titles[parts[0]] = parts
    }
    let authors = Dictionary(grouping: titles.values) { $0[2] }
    let file = [folder.path("books.txt")]

    let importer = try await example("importer")
    let first = try run(importer, file)
    #expect(
      first.prefix(4) == [
        "1000 of 2500 lines", "2000 of 2500 lines", "2500 of 2500 lines",
        "new authors: \(Set(lines.map { $0.split(separator: ";")[2] }).count), new books: \(titles.count), "
          + "changed books: \(changed)",
      ])
    let most = authors.map { (-$0.value.count, $0.key) }.min { $0 < $1 }
    #expect(first.last == most.map { "most books: \($0.1), \(-$0.0) books" })

    let connection = try Connection.open(folder.path("books.store"), key: .passphrase("correct horse"))
    let stored = try connection.rows(
      "SELECT code, title, name FROM Book JOIN Author ON Author.id = author_id ORDER BY code"
    ).map { $0.compactMap(\.string) }
    connection.close()
    #expect(stored == titles.values.sorted { $0[0] < $1[0] })

    // The file changes some books twice, so a second run changes them again. The final result is the same.
    let second = try run(importer, file)
    #expect(second[3].hasPrefix("new authors: 0, new books: 0, "))
    #expect(second.last == first.last)
  }

  @Test(.enabled(if: cipherShell != nil, "the sqlcipher shell is not installed"))
  func `the app with a changing model follows its steps, and a refused step leaves no trace`() async throws {
    let lines = try run(try await example("changing-model"))
    #expect(lines.first == "version 1: 3 contacts")
    #expect(lines.contains("ran steps [2, 3], and made a copy before: true"))
    func ask(_ sql: String) throws -> [String] {
      try shell("contacts.store", passphrase: "correct horse", sql: sql)
    }
    let contacts = try ask(
      "SELECT family || ': ' || ifnull(number, 'no number') FROM Contact ORDER BY family")
    #expect(contacts.count == 3 && Array(lines[4..<7]) == contacts)
    #expect(try ask("SELECT count(*) FROM Contact WHERE name LIKE '% ' || family") == ["3"])
    // Step 4 was refused, with its reason, and has left no trace.
    let refusal = try #require(lines.first { $0.hasPrefix("version 4: ") })
    #expect(refusal.contains("number"), "\(refusal)")
    #expect(try ask("PRAGMA user_version") == ["3"])
    let table = try ask("SELECT sql FROM sqlite_master WHERE name = 'Contact'").joined()
    #expect(table.contains("\"number\" TEXT") && !table.contains("\"number\" TEXT NOT NULL"), "\(table)")
    #expect(folder.names.count { $0.hasPrefix("contacts.store.v1-") && $0.hasSuffix(".backup") } == 1)
  }
}
