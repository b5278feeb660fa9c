// The store of a notes app. It is encrypted under a passphrase and contains notebooks, notes and tags.
// The program searches the store, and gives it another passphrase at the end. Run the program twice with
// the same folder: the second run opens the store of the first one.
//
//   printf 'correct horse\nnew horse\n' | swift run --package-path Examples notes FOLDER

import Foundation
import ObjectVault

// Entities are classes. A property without a default must be set before the object is saved. An optional
// may be nil.
final class Notebook: ManagedObject {
  @Attribute(.unique) var name: String
  // The inverse of Note.notebook. Deleting a notebook deletes its notes.
  @ToMany(inverse: \Note.notebook, onDelete: .cascade) var notes: Set<Note>
}

final class Note: ManagedObject {
  @Attribute var title: String
  @Attribute var body: String = ""
  @Attribute(.indexed) var written: Date = .now
  @ToOne var notebook: Notebook?
  // Many-to-many. Only one of the two ends names its inverse: Swift does not accept a circular reference.
  @ToMany(inverse: \Tag.notes) var tags: Set<Tag>
}

final class Tag: ManagedObject {
  @Attribute(.unique) var name: String
  @ToMany var notes: Set<Note>
}

@main struct Notes {
  static let schema = Schema {
    Entity(Notebook.self)
    Entity(Note.self).check(\.title, .notBlank)
    Entity(Tag.self)
  }

  static func main() async throws {
    let folder =
      CommandLine.arguments.dropFirst().first.map { URL(fileURLWithPath: $0) }
      ?? FileManager.default.temporaryDirectory.appendingPathComponent("notes-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let url = folder.appendingPathComponent("notes.store")

    // readLine returns a String, which cannot be wiped from memory. An app reads the bytes of its own
    // text field, and wipes them. A Key keeps its copy of the bytes in locked memory, and wipes it. An open
    // store has only the derived key.
    let passphrase = Array((readLine() ?? "correct horse").utf8)
    let next = Array((readLine() ?? "new horse").utf8)

    let store = try await open(url, [passphrase, next])
    print(store.opening.isNew ? "a new store" : "a store that was here")
    if store.opening.isNew { try await fill(store) }
    try await search(store)

    do {
      _ = try await Store.open(
        at: url, key: .passphrase("wrong horse"), schema: schema, migrations: .creatingSchema)
    } catch SQLError.wrongKey {
      print("another passphrase: refused")
    }

    // Writes every page again in one transaction, and reads all pages with the new key before it returns.
    do { try await store.rekey(to: .passphrase(bytes: next)) } catch SQLError.sameKey {
      // An earlier run has changed the passphrase already.
    }
    store.close()
    let again = try await open(url, [next])
    let count = try await again.read { context in try context.fetch(Note.self).count() }
    print("after the change of the passphrase: \(count) notes")
    again.close()

    // Texts that a thief of the disk would search for. Shorter ones occur among random bytes by chance.
    let bytes = try Data(contentsOf: url)
    let words = ["Green tea", "Kitchen", "notebook", "CREATE TABLE"].filter {
      bytes.range(of: Data($0.utf8)) != nil
    }
    print("readable in the file: \(words.isEmpty ? "nothing" : words.joined(separator: ", "))")
  }

  /// Opens the store with the first passphrase that fits. `.creatingSchema` is for the first version of an
  /// app.
  static func open(_ url: URL, _ passphrases: [[UInt8]]) async throws -> Store {
    for passphrase in passphrases.dropLast() {
      do {
        return try await Store.open(
          at: url, key: .passphrase(bytes: passphrase), schema: schema, migrations: .creatingSchema)
      } catch SQLError.wrongKey { continue }
    }
    return try await Store.open(
      at: url, key: .passphrase(bytes: passphrases.last ?? []), schema: schema, migrations: .creatingSchema)
  }

  static func fill(_ store: Store) async throws {
    try await store.write { context in  // one transaction: committed on return, rolled back on throw
      let home = context.insert(Tag.self) { $0.name = "home" }
      let kitchen = context.insert(Notebook.self) { $0.name = "Kitchen" }
      for (title, body) in [("Green tea", "80 degrees, two minutes"), ("Bread", "Tea towel over it")] {
        context.insert(Note.self) {
          ($0.title, $0.body, $0.notebook, $0.tags) = (title, body, kitchen, [home])
        }
      }
      context.insert(Note.self) { $0.title = "Ideas" }  // in no notebook
    }
  }

  static func search(_ store: Store) async throws {
    let found = try await store.read { context in
      // In the format language, [c] ignores case and [d] ignores accents. `== nil` finds notes without a
      // notebook.
      let about = try context.fetch(Note.self).where(
        "title CONTAINS[cd] %@ OR body CONTAINS[cd] %@", "tea", "tea")
      let loose = try context.fetch(Note.self).where(#Predicate { $0.notebook == nil })
      let tagged = try context.fetch(Note.self).where(#Predicate { $0.tags.contains { $0.name == "home" } })
      return try [about, loose, tagged].map { try $0.sorted(by: \.title).all().map(\.title) }
    }
    for (question, titles) in zip(["about tea", "in no notebook", "tagged home"], found) {
      print("\(question): \(titles.joined(separator: ", "))")
    }
  }
}
