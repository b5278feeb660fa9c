// Drafts of rows hold the last value that was set in each slot.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.pure)) struct RowDrafts {
  @Test func `after any writes each slot holds the last value, and so does the packed row`() {
    var random = SeededGenerator(seed: 11)
    for slotCount in [1, 7, 8, 9, 130] {
      var draft = RowDraft(slotCount: slotCount)
      var expected = [SQLValue](repeating: .null, count: slotCount)
      for _ in 0..<2000 {
        let slot = Int.random(in: 0..<slotCount, using: &random)
        let value = Self.value(&random)
        let fits = draft.set(value, slot)
        #expect(fits)
        expected[slot] = value
      }
      #expect((0..<slotCount).map { draft.cell($0).value } == expected)
      let copy = RowDraft(copy: draft)
      for row in [copy.packed, draft.packed] {
        #expect((0..<slotCount).map { RowCell(row: row.cells, slot: $0).value } == expected)
      }
    }
  }

  @Test func `rows in one page do not affect each other`() {
    var random = SeededGenerator(seed: 12)
    final class Holder {
      var draft: RowDraft
      init(_ draft: consuming RowDraft) { self.draft = draft }
    }
    for pageBytes in [64, 1000, 65_536] {
      let page = RowPage(capacity: pageBytes)
      var rows: [Holder] = []
      var expected: [[SQLValue]] = []
      for step in 0..<3000 {
        if step % 30 == 0 {
          rows.append(Holder(RowDraft(slotCount: 5, in: page)))
          expected.append(Array(repeating: .null, count: 5))
        }
        // Mostly the last row, as objects are usually filled right after they are created.
        let index = step % 3 == 0 ? Int.random(in: rows.indices, using: &random) : rows.count - 1
        let slot = Int.random(in: 0..<5, using: &random)
        expected[index][slot] = Self.value(&random)
        let fits = rows[index].draft.set(expected[index][slot], slot)
        #expect(fits)
      }
      let found = rows.map { row in (0..<5).map { row.draft.cell($0).value } }
      #expect(found == expected)
      let packed = rows.map { $0.draft.packed }
      rows = []
      #expect(packed.map { row in (0..<5).map { RowCell(row: row.cells, slot: $0).value } } == expected)
    }
  }

  @Test func `a value too large for a row of the engine is refused, and the other values stay`() {
    var draft = RowDraft(slotCount: 3)
    let large = SQLValue.blob(Data(count: RowDraft.byteLimit - 1000))
    let fits = draft.set(.text("a"), 0) && draft.set(large, 1)
    #expect(fits)
    let isTaken = draft.set(.text(String(repeating: "b", count: 2000)), 2)
    #expect(!isTaken && draft.cell(2).isNull && draft.cell(0).string == "a")
    // Space that becomes free can be used again.
    let isFree = draft.set(.integer(1), 1) && draft.set(.text(String(repeating: "b", count: 2000)), 2)
    #expect(isFree && draft.cell(1).int64 == 1 && draft.cell(2).string?.utf8.count == 2000)
  }

  private static func value(_ random: inout SeededGenerator) -> SQLValue {
    switch Int.random(in: 0..<8, using: &random) {
    case 0: .null
    case 1: .integer(Int64.random(in: .min ... .max, using: &random))
    case 2: .real(Double.random(in: -1e9...1e9, using: &random))
    case 3: .text("")
    case 4: .text(String(repeating: "ü\0🎈", count: Int.random(in: 0..<300, using: &random)))
    case 5: .text("short")
    case 6: .blob(Data())
    default: .blob(Data(repeating: 7, count: Int.random(in: 0..<5000, using: &random)))
    }
  }
}
