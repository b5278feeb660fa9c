// A row that is being written holds what was last put into each slot.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite struct RowDrafts {
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
      var packer = RowPacker(firstPageBytes: 64)
      for row in [packer.pack(draft), packer.pack(copy)] {
        #expect((0..<slotCount).map { RowCell(row: row.cells, slot: $0).value } == expected)
        var again = RowDraft(slotCount: slotCount)
        for slot in 0..<slotCount {
          let fits = again.set(copy: RowCell(row: row.cells, slot: slot), slot)
          #expect(fits)
        }
        #expect((0..<slotCount).map { again.cell($0).value } == expected)
      }
    }
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
