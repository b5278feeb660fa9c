// Range rules of attributes, checked by a save.

import Foundation
import ObjectVault
import TestSupport
import Testing

final class Measure: ManagedObject {
  @Attribute var whole: Int?
  @Attribute var exact: Decimal?
  @Attribute var real: Double?
}

@Suite struct CheckRules {
  @Test func `a range rule is exact, even between values that a Double does not distinguish`() async throws {
    let end = 9_007_199_254_740_992.0
    let temporary = try await TemporaryStore(
      Schema {
        Entity(Measure.self).check(\.whole, .range(0...end)).check(\.exact, .range(0.1...end)).check(
          \.real, .range(-1...0.5))
      })
    let context = temporary.store.makeContext()
    func isKept(_ set: (Measure) -> Void) -> Bool {
      context.insert(Measure.self) { set($0) }
      defer { context.rollback() }
      do { try context.save() } catch { return false }
      return true
    }
    for (whole, kept) in [(0, true), (-1, false), (1 << 53, true), (1 << 53 + 1, false), (.max, false)] {
      #expect(isKept { $0.whole = whole } == kept, "\(whole)")
    }
    for (text, kept) in [
      ("0.1", true), ("0.09999999999999999999", false), ("9007199254740992", true),
      ("9007199254740992.00000001", false),
    ] {
      #expect(isKept { $0.exact = Decimal(string: text) } == kept, "\(text)")
    }
    for (real, kept) in [(0.5, true), (-1, true), (0.5.nextUp, false), (.infinity, false)] {
      #expect(isKept { $0.real = real } == kept, "\(real)")
    }
    #expect(isKept { _ in })
  }
}
