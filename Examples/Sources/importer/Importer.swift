// An importer of books and authors from lines of text. It finds those that the store already has, and
// creates the others. A second run over the same file changes nothing.
//
//   swift run --package-path Examples importer [FOLDER [FILE]]
//
// A line has the form 978-3-16;A title;An author

import Foundation
import ObjectVault

final class Author: ManagedObject {
  @Attribute(.unique) var name: String
  @ToMany(inverse: \Book.author, onDelete: .deny) var books: Set<Book>
}

final class Book: ManagedObject {
  @Attribute(.unique) var code: String
  @Attribute var title: String
  @ToOne(.required) var author: Author?
}

struct Line: Sendable {
  let code, title, author: String

  init?(_ text: Substring) {
    let parts = text.split(separator: ";", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 3, !parts[0].isEmpty else { return nil }
    (code, title, author) = (parts[0], parts[1], parts[2])
  }
}

struct Counts: Sendable {
  var authors = 0
  var books = 0
  var changed = 0
}

@main struct Importer {
  static let schema = Schema {
    Entity(Author.self)
    Entity(Book.self).index(\.author, \.title)
  }
  /// The number of lines in one transaction. A commit costs about the same for any number of rows, but all
  /// objects of a batch are in memory together. Some hundreds to some thousands are a good size.
  static let batchLines = 1000

  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst().map { URL(fileURLWithPath: $0) }
    let folder =
      arguments.first
      ?? FileManager.default.temporaryDirectory.appendingPathComponent("importer-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let text = try arguments.dropFirst().first.map { try String(contentsOf: $0, encoding: .utf8) } ?? sample
    let lines = text.split(separator: "\n").compactMap(Line.init)

    let store = try await Store.open(
      at: folder.appendingPathComponent("books.store"), key: .passphrase("correct horse"), schema: schema,
      migrations: .creatingSchema)
    defer { store.close() }

    let progress = Progress(totalUnitCount: Int64(lines.count))  // for a progress bar
    var total = Counts()
    for start in stride(from: 0, to: lines.count, by: batchLines) {
      let batch = Array(lines[start..<min(start + batchLines, lines.count)])
      // The store gets the whole batch or none of it. After a crash, run the import again.
      let counts = try await store.write { context in try add(batch, to: context) }
      total.authors += counts.authors
      total.books += counts.books
      total.changed += counts.changed
      progress.completedUnitCount += Int64(batch.count)
      print("\(progress.completedUnitCount) of \(progress.totalUnitCount) lines")
    }
    print("new authors: \(total.authors), new books: \(total.books), changed books: \(total.changed)")

    let busiest = try await store.read { context in
      try context.fetch(Author.self).sorted(by: \.name).prefetch(\.books).all()
        .max { $0.books.count < $1.books.count }.map { "\($0.name), \($0.books.count) books" }
    }
    print("most books: \(busiest ?? "nobody")")
  }

  /// Finds or creates the books and authors of a batch, with two fetches for the whole batch.
  static func add(_ batch: [Line], to context: ObjectContext) throws -> Counts {
    var counts = Counts()
    var authors: [String: Author] = [:]
    for author in try context.fetch(Author.self).where("name IN %@", Array(Set(batch.map(\.author)))).all() {
      authors[author.name] = author
    }
    var books: [String: Book] = [:]
    for book in try context.fetch(Book.self).where("code IN %@", batch.map(\.code)).prefetch(\.author).all() {
      books[book.code] = book
    }
    for line in batch {
      if authors[line.author] == nil {
        authors[line.author] = context.insert(Author.self) { $0.name = line.author }
        counts.authors += 1
      }
      if let book = books[line.code] {
        guard book.title != line.title || book.author?.name != line.author else { continue }
        // A save writes only the columns that differ.
        (book.title, book.author) = (line.title, authors[line.author])
        counts.changed += 1
      } else {
        books[line.code] = context.insert(Book.self) {
          ($0.code, $0.title, $0.author) = (line.code, line.title, authors[line.author])
        }
        counts.books += 1
      }
    }
    return counts
  }

  static var sample: String {
    (0..<20_000).map { "c\($0);Book \($0);Author \($0 * $0 % 997)" }.joined(separator: "\n")
  }
}
