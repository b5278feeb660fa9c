// Key paths that begin at a class and end at a property of its superclass. Stored properties are resolved.
// Computed ones are refused, whatever they compute.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct InheritedKeyPaths {
  private static let sheets = Schema {
    Entity(Sheet.self)
    Entity(Bill.self)
    Entity(Receipt.self)
  }

  private func byName<Kind: Sheet>(_ type: Kind.Type, _ context: ObjectContext) throws -> [String] {
    try context.fetch(type).sorted(by: \.name, .reverse).all().map(\.name)
  }

  @Test func `a key path to an inherited property is resolved from whichever class it begins`() async throws {
    let temporary = try await TemporaryStore(Self.sheets)
    let context = temporary.store.makeContext()
    let first = context.insert(Receipt.self) { $0.name = "a" }
    context.insert(Receipt.self) { ($0.name, $0.successor) = ("b", first) }
    context.insert(Bill.self) { ($0.name, $0.pages) = ("c", 2) }
    try context.save()
    #expect(try byName(Receipt.self, context) == ["b", "a"])
    #expect(try byName(Bill.self, context) == ["c", "b", "a"])
    #expect(try byName(Sheet.self, context) == ["c", "b", "a"])
    #expect(try context.fetch(Receipt.self).sorted(by: \.made).sorted(by: \.pages).all().count == 2)
    let named = #Predicate<Receipt> { $0.name == "b" && $0.successor?.name == "a" }
    #expect(try context.fetch(Receipt.self).where(named).one().name == "b")
    let led = #Predicate<Receipt> { $0.formers.contains { $0.name == "b" } && $0.made == nil }
    #expect(try context.fetch(Receipt.self).where(led).one() === first)
    #expect(try context.fetch(Receipt.self).prefetch(\.successor).prefetch(\.formers).all().count == 2)
  }

  @Test func `a key path to an inherited computed property is refused, whatever it returns`() async throws {
    let temporary = try await TemporaryStore(Self.sheets)
    let context = temporary.store.makeContext()
    context.insert(Receipt.self) { $0.name = "жx" }
    try context.save()
    func refused(_ body: () throws -> Int) {
      #expect {
        _ = try body()
      } throws: { error in
        guard case StoreError.predicate(let error) = error else { return false }
        return "\(error)".contains("does not end at a property: it computes")
      }
    }
    refused { try context.fetch(Receipt.self).where(#Predicate { $0.folded == "x" }).count() }
    refused { try context.fetch(Receipt.self).where(#Predicate { $0.alias == "x" }).count() }
    refused { try context.fetch(Bill.self).where(#Predicate { $0.caption == "x" }).count() }
    for path in [\.folded, \.alias, \.caption, \.next] as [PartialKeyPath<Receipt>] {
      refused { try context.fetch(Receipt.self).sorted(by: path).all().count }
    }
  }
}
