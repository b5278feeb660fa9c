// A to-many without an inverse, and a to-one in the other direction. The to-many has links of its own,
// but the two may be meant as inverses.

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

  @Test func `a schema finding names the to-many, the to-one and the declaration that pairs them`() {
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

  /// The findings of this rule in the steps.
  private func findings(_ steps: String...) throws -> [MigrationFinding] {
    try DowngradeLab.set(steps).findings().filter { $0.rule == Self.rule }
  }

  @Test func `the step that adds the second relationship is reported, and the suggested line pairs both`()
    throws
  {
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

  @Test func `a finding names every to-one that may be the inverse`() throws {
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
