// Random upserts, insertions, deletions, saves and rollbacks, compared with a dictionary.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.random)) struct BulkRandomTests {
  /// What the tests expect of a store: the counts of words by the bytes of their texts.
  struct Model: Equatable {
    var counts: [[UInt8]: Int] = [:]

    /// Upserts rows, and returns the numbers of insertions, updates and rows that changed nothing.
    mutating func upsert(_ rows: [(text: String, count: Int)]) -> [Int] {
      var result = [0, 0, 0]
      for row in rows {
        let former = counts.updateValue(row.count, forKey: Array(row.text.utf8))
        result[former == nil ? 0 : former == row.count ? 2 : 1] += 1
      }
      return result
    }
  }

  private static func counts(_ context: ObjectContext) throws -> [[UInt8]: Int] {
    Dictionary(
      uniqueKeysWithValues: try context.fetch(BulkWord.self).all().map { (Array($0.text.utf8), $0.count) })
  }

  @Test(arguments: 0..<(isTorture ? 400 : 12))
  func `random calls have the results of a dictionary`(_ seed: Int) async throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let temporary = try await TemporaryStore(bulkSchema)
    let context = temporary.store.makeContext()
    var (model, saved) = (Model(), Model())
    func rows() -> [(text: String, count: Int)] {
      (0..<Int.random(in: 0...40, using: &random)).map { _ in
        (bulkTexts.randomElement(using: &random) ?? "", Int.random(in: 0...2, using: &random))
      }
    }
    for _ in 0..<60 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<4:
        let rows = rows()
        let report = try context.upsert(rows, into: BulkWord.self, on: \.text, by: \.text) {
          $0.count = $1.count
        }
        #expect(report.counts == model.upsert(rows))
      case 4:
        let text = bulkTexts.randomElement(using: &random) ?? ""
        let word = try context.findOrInsert(BulkWord.self, where: \.text, is: text) { $0.count = 9 }
        #expect(word.count == model.counts[Array(text.utf8), default: 9])
        model.counts[Array(text.utf8)] = word.count
      case 5:
        let words = try context.fetch(BulkWord.self).all()
        guard let word = words.randomElement(using: &random) else { continue }
        model.counts[Array(word.text.utf8)] = nil
        context.delete(word)
      case 6:
        // A key passes to another object.
        let words = try context.fetch(BulkWord.self).all()
        let free = bulkTexts.filter { model.counts[Array($0.utf8)] == nil }
        guard let word = words.randomElement(using: &random), let text = free.randomElement(using: &random)
        else {
          continue
        }
        model.counts[Array(text.utf8)] = model.counts.removeValue(forKey: Array(word.text.utf8))
        word.text = text
      case 7:
        try context.save()
        saved = model
      case 8:
        context.rollback()
        model = saved
      default:
        // Another writer, after a save: two contexts with changes would conflict.
        try context.save()
        saved = model
        let rows = rows()
        let report = try await temporary.store.upsert(
          contentsOf: rows, into: BulkWord.self, on: \.text, by: \.text
        ) {
          $0.count = $1.count
        }
        #expect(report.counts == model.upsert(rows))
        saved = model
      }
      #expect(try Self.counts(context) == model.counts)
    }
    try context.save()
    #expect(try Self.counts(temporary.store.makeContext()) == model.counts)
  }
}
