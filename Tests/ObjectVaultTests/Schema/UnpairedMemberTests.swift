// A to-many without an inverse, beside a to-one that leads back: it may be meant as the other end, and has links of its own.

import Foundation
import ObjectVault
import Testing

private final class Shop: ManagedObject {
  @ToMany(onDelete: .cascade) var orders: Set<Order>
  @ToMany(inverse: \Order.payer) var paid: Set<Order>
  @ToMany var fans: Set<Fan>
}

private final class Order: ManagedObject {
  @ToOne var shop: Shop?
  @ToOne var payer: Shop?
}

private final class Fan: ManagedObject {
  @ToOne var order: Order?
}

@Suite(.tags(.pure)) struct UnpairedMemberFindings {
  private static let rule = MigrationFinding.Rule.mayBePaired

  @Test func `a schema names the to-many, the to-one back and the line to write`() {
    let schema = Schema {
      Entity(Shop.self)
      Entity(Order.self)
      Entity(Fan.self)
    }
    #expect(
      schema.findings == [
        "Shop.orders has links of its own, because Order.shop is not its inverse; if it should be, write in "
          + "Shop: @ToMany(inverse: \\Order.shop, onDelete: .cascade) var orders: Set<Order>"
      ])
    #expect(schema.faults.isEmpty)
  }

  /// The findings of this rule of some steps.
  private func findings(_ steps: String...) throws -> [MigrationFinding] {
    try DowngradeLab.set(steps).findings().filter { $0.rule == Self.rule }
  }

  @Test func `a step that makes either of the two is asked, and the line that it gives pairs them`() throws {
    let order = "create entity Order {\n relationship shop -> Shop\n}"
    let shop = "create entity Shop {\n relationship orders -> Order many\n}"
    let found = try findings("\(order)\n\(shop)")
    #expect(found.map(\.step) == [1] && found[0].operation?.hasPrefix("create entity Shop") == true)
    #expect(
      found[0].text.hasSuffix("write: relationship orders -> Order many inverse Order.shop"), "\(found)")
    #expect(found[0].rule.isNote)
    let later = try findings(
      "create entity Order {\n attribute n int\n}\n\(shop)", "add relationship Order.shop -> Shop",
      "add attribute Shop.n int optional")
    #expect(
      later.map(\.step) == [2] && later[0].operation == "add relationship Order.shop -> Shop", "\(later)")
    #expect(
      try findings("\(order)\ncreate entity Shop {\n relationship orders -> Order many inverse Order.shop\n}")
        .isEmpty)
  }

  @Test func `of several to-ones back each is named`() throws {
    let found = try findings(
      """
      create entity Order {
        relationship shop -> Shop
        relationship payer -> Shop
      }
      create entity Shop {
        relationship orders -> Order many
      }
      """)
    #expect(
      found[0].text.contains("Order.payer, Order.shop are not its inverse; if one of them should be"),
      "\(found)")
  }
}
