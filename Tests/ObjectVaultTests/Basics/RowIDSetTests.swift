// RowIDSet, compared with the sets of the standard library.

import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.random, .pure, .slow)) struct RowIDSets {
  /// Ids close together, far apart, and at the ends of the range.
  private func ids(_ random: inout SeededGenerator) -> [Int64] {
    let count = Int.random(in: 0...60, using: &random)
    let ranges: [ClosedRange<Int64>] = [
      -20...20, 1...90, 1...100_000, Int64.min...Int64.max, (Int64.max - 40)...Int64.max,
      Int64.min...(Int64.min + 9),
    ]
    let range = ranges[Int.random(in: ranges.indices, using: &random)]
    return (0..<count).map { _ in Int64.random(in: range, using: &random) }
  }

  private func asked(_ ids: [Int64]) -> [Int64] {
    [-1, 0, 1, .min, .max] + ids + ids.map { $0 &+ 1 } + ids.map { $0 &- 1 } + ids.map { $0 &+ 64 }
  }

  @Test func `a RowIDSet has the same elements as a Set`() {
    var random = SeededGenerator(seed: 88)
    for _ in 0..<(isTorture ? 20_000 : 600) {
      let (one, other) = (ids(&random), ids(&random))
      let (set, second) = (RowIDSet(one), RowIDSet(other))
      #expect(set.ids == Set(one).sorted())
      #expect(Array(set.rows) == Set(one).filter { $0 > 0 }.sorted())
      #expect(set.union(second).ids == Set(one).union(other).sorted())
      #expect(set.filter { $0 % 3 == 0 }.ids == Set(one).filter { $0 % 3 == 0 }.sorted())
      for id in asked(one + other) {
        #expect(set.contains(id) == one.contains(id), "\(id) of \(one)")
        #expect(set.union(second).contains(id) == (one + other).contains(id))
      }
    }
  }

  @Test func `a RowIDAccumulator contains all ids that were added in parts`() {
    var random = SeededGenerator(seed: 89)
    for _ in 0..<300 {
      var (gathered, all) = (RowIDAccumulator(), Set<Int64>())
      for _ in 0..<Int.random(in: 0...20, using: &random) {
        let some = ids(&random)
        gathered.formUnion(RowIDSet(some))
        all.formUnion(some)
      }
      #expect(gathered.all.ids == all.sorted() && gathered.isEmpty == all.isEmpty)
      for id in asked(Array(all)) { #expect(gathered.contains(id) == all.contains(id)) }
    }
  }

  @Test func `adding a hundred thousand ids one by one keeps the number of parts small`() {
    var gathered = RowIDAccumulator()
    for id in 0..<100_000 { gathered.formUnion(RowIDSet([Int64(id &* 7919 % 100_000)])) }
    #expect(gathered.all.ids == Array(0..<100_000))
    #expect(gathered.partCount < 18)
    var falling = RowIDAccumulator()
    var next: Int64 = 0
    for count in (1...500).reversed() {
      falling.formUnion(RowIDSet(next..<next + Int64(count)))
      next += Int64(count)
    }
    #expect(falling.all.ids == Array(0..<next) && falling.partCount < 18)
  }
}
