// Workload 27: pages of a list that is sorted without case.

import CFloor
import CipherSQLite
import Foundation
import ObjectVault

final class Entry: ManagedObject {
  @Attribute(.indexed(.caseInsensitive)) var title: String
  /// The title in lower case, by which the floor sorts.
  @Attribute(.indexed) var key: String
  @Attribute var size: Int
}

/// A store of many titles. The floor reads the same file by a connection of its own.
@MainActor final class PageBench {
  nonisolated static let size = 50
  nonisolated static let pages = 200
  private let folder: URL
  private let store: Store
  private let floor: Floor
  /// A title in the middle of the list.
  private let middle = "Title m"

  init(rows: Int) async throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("vault-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let url = folder.appendingPathComponent("ours.store")
    store = try await Store.open(
      at: url, key: .raw(rawKey), schema: Schema { Entity(Entry.self) }, migrations: .creatingSchema)
    let letters = Array("aBcDeFgHiJkLmNoPqRsTuVwXyZ")
    for start in stride(from: 0, to: rows, by: 100_000) {
      try await store.write { context in
        for number in start..<min(start + 100_000, rows) {
          let place = number &* 7919 % rows
          let title = "Title \(letters[place % 26])\(letters[place / 26 % 26]) \(place)"
          context.insert(Entry.self) { ($0.title, $0.key, $0.size) = (title, title.lowercased(), number) }
        }
      }
    }
    floor = Floor(url.path, cacheBytes: Floor.readerCache)
  }

  isolated deinit {
    store.close()
    floor.close()
    try? FileManager.default.removeItem(at: folder)
  }

  struct EntryRow {
    var id: Int
    var title: String
    var key: String
    var size: Int
  }

  func floorPages() -> Double {
    var (count, last) = (0, (key: middle.lowercased(), id: 0))
    let time = seconds {
      let statement = floor.prepare(
        "SELECT id, _version, title, key, size FROM Entry WHERE (key, id) > (?, ?) ORDER BY key, id LIMIT 50")
      for _ in 0..<Self.pages {
        var page: [EntryRow] = []
        floor.bind(statement, 1, last.key)
        sqlite3_bind_int64(statement, 2, Int64(last.id))
        while sqlite3_step(statement) == SQLITE_ROW {
          page.append(
            EntryRow(
              id: integer(statement, 0), title: text(statement, 2), key: text(statement, 3),
              size: integer(statement, 4)))
        }
        sqlite3_reset(statement)
        count += page.count
        if let end = page.last { last = (end.key, end.id) }
      }
      sqlite3_finalize(statement)
    }
    blackHole(count)
    return time
  }

  func oursPages() async throws -> Double {
    try await store.read { [middle] context in
      var count = 0
      let list = context.fetch(Entry.self).sorted(by: \.title, comparing: .caseInsensitive)
      // The cursor of the entry before the middle of the list.
      let start = try context.fetch(Entry.self).where("title <[c] %@", middle)
        .sorted(by: \.title, .reverse, comparing: .caseInsensitive).limit(1).all()
      var cursor = try list.where("title >=[c] %@", start.first?.title ?? "").page(size: 1).next
      let time = try seconds {
        for _ in 0..<Self.pages {
          let page = try list.page(size: Self.size, after: cursor)
          cursor = page.next
          count += page.objects.count
        }
      }
      blackHole(count)
      return time
    }
  }
}
