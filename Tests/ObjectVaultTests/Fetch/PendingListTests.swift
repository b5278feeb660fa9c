// `IN` with long lists and many pending objects: each object is looked up in the list. Linear searches of
// the lists would take minutes here.

import Foundation
import ObjectVault
import TestSupport
import Testing

private final class Weighing: ManagedObject {
  @Attribute var number: Int = 0
  @Attribute var price: Decimal?
  @Attribute var weight: Double?
  @Attribute var day: Date?
  @Attribute var data: Data?
}

@Suite(.tags(.slow)) struct PendingLists {
  static let count = 4000
  let folder: TemporaryFolder
  let store: Store

  init() async throws {
    folder = try TemporaryFolder()
    store = try await Store.open(
      at: folder.url.appendingPathComponent("a.store"), key: testKey,
      schema: Schema { Entity(Weighing.self) },
      migrations: .creatingSchema)
  }

  /// Inserts objects. Every third object has no values, and the others have those of their number.
  private func fill(_ context: ObjectContext) {
    for number in 0..<Self.count {
      context.insert(Weighing.self) {
        $0.number = number
        guard number % 3 > 0 else { return }
        $0.price = Decimal(number) / 4
        $0.weight = Double(number) / 8
        $0.day = Date(timeIntervalSinceReferenceDate: Double(number) / 2)
        $0.data = Data("\(number)".utf8)
      }
    }
  }

  @Test func `long lists of decimals, doubles, dates and bytes find pending and saved objects`() throws {
    let context = store.makeContext()
    fill(context)
    // Values of even numbers up to twice the count: half of the list is found.
    let even = (0..<Self.count).map { $0 * 2 }
    let lists: [(name: String, values: [Any])] = [
      ("price", even.map { Decimal($0) / 4 }), ("weight", even.map { Double($0) / 8 }),
      ("day", even.map { Date(timeIntervalSinceReferenceDate: Double($0) / 2) }),
      ("data", even.map { Data("\($0)".utf8) }),
    ]
    let expected = (0..<Self.count).filter { $0 % 3 > 0 && $0 % 2 == 0 }
    for state in ["pending", "saved"] {
      for (name, values) in lists {
        let request = { (format: String) in try context.fetch(Weighing.self).where(format, values) }
        #expect(try request("\(name) IN %@").all().map(\.number).sorted() == expected, "\(name), \(state)")
        #expect(
          try request("NOT \(name) IN %@").count() == Self.count - expected.count, "\(name), \(state)")
      }
      try context.save()
    }
  }
}
