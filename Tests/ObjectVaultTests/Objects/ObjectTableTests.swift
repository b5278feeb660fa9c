// The table of the identity map, compared with a dictionary, without a store and without objects: random
// insertions and removals, and the invariants after them.

import Foundation
import ObjectVault
import Testing

@Suite(.tags(.pure, .slow)) struct ObjectTables {
  /// A table and its expected content.
  final class Model {
    private let table = ObjectTable()
    private var expected: [Int64: UnsafeMutableRawPointer] = [:]
    private var nextAddress = 16
    private var random: Generator

    init(seed: UInt64) { random = Generator(state: seed) }

    var count: Int { expected.count }
    var keys: [Int64] { expected.keys.sorted() }
    var places: (all: Int, removed: Int) { table.places }
    var densePlaces: Int { table.densePlaces }

    /// Returns a new address without an object: the table does not read objects.
    private func address() throws -> UnsafeMutableRawPointer {
      nextAddress += 16
      return try #require(UnsafeMutableRawPointer(bitPattern: nextAddress))
    }

    func insert(_ key: Int64) throws {
      let address = try address()
      #expect(table.insert(address, for: key) == expected.updateValue(address, forKey: key), "\(key)")
    }

    func remove(_ key: Int64) throws {
      // As an object does that had the key before. It must not remove the present one.
      table.remove(key, try address())
      #expect(table.find(key) == expected[key], "\(key)")
      guard let address = expected.removeValue(forKey: key) else { return }
      table.remove(key, address)
      #expect(table.find(key) == nil, "\(key)")
    }

    /// Checks the invariants, and compares everything.
    func check(_ moment: String) {
      let broken = table.brokenInvariants()
      #expect(broken.isEmpty, "\(moment): \(broken.joined(separator: "; "))")
      #expect(Set(table.all) == Set(expected.values) && table.all.count == expected.count, "\(moment)")
      for (key, address) in expected where table.find(key) != address {
        Issue.record("\(moment): \(key) is not found")
      }
    }

    func step(among keys: [Int64], removing share: Int) throws {
      let key = keys[Int.random(in: keys.indices, using: &random)]
      if Int.random(in: 0..<100, using: &random) < share { try remove(key) } else { try insert(key) }
    }
  }

  /// The numbers of a seed, by xorshift64*.
  struct Generator: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state ^= state >> 12
      state ^= state << 25
      state ^= state >> 27
      return state &* 2_685_821_657_736_338_717
    }
  }

  /// Typical ids: of consecutive rows, of new objects, of both, of few rows of a large table, far apart,
  /// in clusters, at the ends of the range, and ids that hash to one place of any table.
  static let kinds: [(name: String, keys: [Int64])] = [
    ("ascending", Array(1...400)), ("temporary", Array(-400 ... -1)), ("around zero", Array(-200...200)),
    ("some of many", (0..<400).map { $0 * $0 / 40 }), ("some of more", (0..<400).map { $0 * $0 }),
    ("far apart", (0..<300).map { $0 * 7_919 * 1_000_003 }),
    ("in clusters", (0..<40).flatMap { cluster in (0..<10).map { Int64(cluster) << 20 + $0 } }),
    ("at the ends", Array(Int64.min..<Int64.min + 60) + Array(Int64.max - 60...Int64.max)),
    ("of one place", (0..<200).map { Int64($0) << 16 }),
  ]

  @Test(arguments: kinds.indices)
  func `a table has the content of a dictionary after each of many random steps`(_ kind: Int) throws {
    let (name, keys) = Self.kinds[kind]
    for seed in 1...3 as ClosedRange<UInt64> {
      let model = Model(seed: seed &* 0x9E37_79B9_7F4A_7C15)
      model.check("\(name), empty")
      // Growing, staying, shrinking to nothing, and growing again.
      for (phase, share) in [20, 50, 85, 100, 30].enumerated() {
        for step in 0..<500 {
          try model.step(among: keys, removing: share)
          if step % 25 == 0 { model.check("\(name), seed \(seed), phase \(phase), step \(step)") }
        }
        model.check("\(name), seed \(seed), end of phase \(phase)")
      }
      for key in model.keys { try model.remove(key) }
      model.check("\(name), emptied")
      #expect(model.count == 0)
    }
  }

  @Test func `a table does not grow while objects come and go, and reuses their places`() throws {
    let model = Model(seed: 7)
    // Each in a block of its own, so that each removal leaves a place marked as removed.
    for key in 0..<20_000 as Range<Int64> {
      try model.insert(key * 8)
      if key >= 3 { try model.remove((key - 3) * 8) }
    }
    model.check("three at a time")
    #expect(model.count == 3)
    #expect(model.places.all <= 16, "\(model.places)")
    #expect(model.places.removed < model.places.all)
  }

  @Test func `a table does not grow beyond what its objects need`() throws {
    let model = Model(seed: 1)
    // Above the ids for which the table would use its array.
    for key in 0..<8_000 as Range<Int64> { try model.insert(key + 1 << 20) }
    model.check("full")
    // A thousand blocks in at most three quarters of the places.
    #expect(model.places.all == 2_048, "\(model.places)")
    #expect(model.places.removed == 0)
    #expect(model.densePlaces == 0)
  }

  @Test func `ids from 0 on use an array from a quarter in use until seven eighths are removed`() throws {
    let model = Model(seed: 3)
    for key in 1..<8_000 as Range<Int64> { try model.insert(key) }
    model.check("full")
    #expect(model.densePlaces == 8_192)
    // All ids that were in blocks before are in the array.
    #expect(model.places.all == 8, "\(model.places)")
    try model.insert(1 << 30)
    try model.insert(-1)
    #expect(model.densePlaces == 8_192)
    for key in 1..<8_000 as Range<Int64> where key % 3 != 0 { try model.remove(key) }
    model.check("a third")
    for key in 1..<8_000 as Range<Int64> where key % 3 == 0 { try model.remove(key) }
    model.check("none")
    #expect(model.densePlaces == 0)
    #expect(model.count == 2)
  }

  @Test func `looking rows up one by one beside many new objects makes the array only once`() throws {
    let model = Model(seed: 5)
    for key in 1...10_000 as ClosedRange<Int64> { try model.insert(-key) }
    try model.insert(3_000)
    let places = model.densePlaces
    for key in 1...3_000 as ClosedRange<Int64> {
      try model.remove(key == 1 ? 3_000 : key - 1)
      // The array is not freed with the last object and made again with the next one.
      #expect(model.densePlaces == places)
      try model.insert(key)
    }
    model.check("looked up")
    for key in 1...9_900 as ClosedRange<Int64> { try model.remove(-key) }
    model.check("a hundred")
    #expect(model.densePlaces == 0)
  }

  @Test func `the array has at most four places per object, whatever ids come in whatever order`() throws {
    let model = Model(seed: 11)
    var most = 0
    for step in 0..<4_000 as Range<Int64> {
      // In descending order, as in a sorted fetch, and then again in steps.
      try model.insert(step < 2_000 ? 2_000 - step : step * 7 % 30_000)
      most = max(most, model.count)
      #expect(model.densePlaces <= max(64, most * 4))
    }
    model.check("all")
    #expect(model.densePlaces > 0)
  }
}
