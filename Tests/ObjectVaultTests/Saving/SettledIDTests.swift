// The final ids of saved objects, compared with a dictionary.

import ObjectVault
import TestSupport
import Testing

@Suite struct SettledIDSets {
  @Test func `each temporary id gives its final id, in any order of saves`() {
    var random = SeededGenerator(seed: 37)
    var (settled, expected): (SettledIDs, [Int64: Int64]) = (SettledIDs(), [:])
    var (temporary, next): (Int64, [Int64]) = (-1, [1, 1_000, 500_000])
    for _ in 0..<50 {
      // A save: the ids of three tables, which were assigned in turns and are added table by table.
      var tables: [[Int64]] = [[], [], []]
      for _ in 0..<Int.random(in: 1...20, using: &random) {
        let table = Int.random(in: 0..<3, using: &random)
        for _ in 0..<Int.random(in: 1...8, using: &random) {
          tables[table].append(temporary)
          temporary -= 1
        }
      }
      for table in tables.indices {
        for id in tables[table] where Int.random(in: 0..<20, using: &random) > 0 {
          settled.add(next[table], for: id)
          expected[id] = next[table]
          next[table] += 1
        }
      }
      for id in temporary...1 {
        let final = settled.final(id)
        #expect(final == expected[id])
      }
    }
    #expect(settled.runCount < expected.count / 2)
  }

  @Test func `a save of many objects of one entity is one run`() {
    var settled = SettledIDs()
    for number in Int64(0)..<100_000 { settled.add(7 + number, for: -1 - number) }
    let (last, none) = (settled.final(-100_000), settled.final(-100_001))
    #expect(settled.runCount == 1 && last == 100_006 && none == nil)
  }
}
