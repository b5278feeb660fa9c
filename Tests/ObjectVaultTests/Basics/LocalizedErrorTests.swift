// The texts of `localizedDescription`, which apps show.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct LocalizedErrors {
  private static let errors: [any Error] = [
    SQLError.wrongKey(file: "a.store"), StoreError.noResult(entity: "User"),
    StoreError.historyConflict(.gap(2)),
  ]

  @Test(arguments: errors.indices)
  func `localizedDescription equals the description of the error`(_ index: Int) {
    let error = Self.errors[index]
    #expect(error.localizedDescription == "\(error)")
  }

  @Test func `localizedDescription of a thrown error names the misspelled property`() async throws {
    let temporary = try await TemporaryStore(library)
    let fetch = try temporary.store.makeContext().fetch(Book.self).where("nmae == 1")
    #expect { try fetch.all() } throws: { $0.localizedDescription.contains("nmae") }
  }

  @Test func `a URL that is no file URL is refused, and no file is created at its path`() async throws {
    let folder = try TemporaryFolder()
    let url = try #require(URL(string: "https://example.com\(folder.path("x.store"))"))
    await #expect {
      _ = try await Store.open(at: url, key: testKey, schema: library, migrations: .creatingSchema)
    } throws: {
      "\($0)".contains("https://example.com") && "\($0)".contains("URL(fileURLWithPath:)")
    }
    #expect(folder.names.isEmpty)
    let steps = try #require(URL(string: "https://example.com\(folder.url.path)"))
    #expect { _ = try MigrationSet.directory(steps) } throws: { "\($0)".contains("https://example.com") }
  }
}
