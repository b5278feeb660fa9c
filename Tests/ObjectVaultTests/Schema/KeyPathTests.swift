// A key path stands for a property only if it ends at the property itself.

import Foundation
import Microblog
import ObjectVault
import TestSupport
import Testing

final class Parcel: ManagedObject {
  @Attribute var size: Int = 0
  @Attribute var name: String
  @Attribute var isSent: Bool
  @Attribute var price: Decimal
  @Attribute var sent: Date?
  @Attribute var address: Address
  @Attribute var mood: Mood?
  @Attribute var level: UInt8
  @Attribute var shade: Shade
  @ToOne var sender: Sender?
  @ToMany(inverse: \Sender.parcels) var handlers: Set<Sender>

  var isBig: Bool { size > 1000 }
  var negated: Int { -size }
  var absolute: Int { abs(size) }
  var limited: Int { max(0, min(size, 100)) }
  var trimmed: String { name.trimmingCharacters(in: .whitespaces) }
  var composed: String { name.precomposedStringWithCanonicalMapping }
  var short: String { String(name.prefix(20)) }
  var isWaiting: Bool { !isSent }
  var hasSender: Bool { sender != nil }
  var senderName: String { sender?.name ?? "nobody" }
  var knownSender: String? { sender?.name ?? "nobody" }
  var sentSender: Sender? { isSent ? sender : nil }
  var day: Date? {
    sent.map { Date(timeIntervalSinceReferenceDate: $0.timeIntervalSinceReferenceDate.rounded()) }
  }
  var rounded: Decimal { Decimal(NSDecimalNumber(decimal: price).doubleValue) }
  var shout: Mood? { mood == .cross ? nil : mood }
  var home: Address { Address(street: address.street, number: 0) }
  var trusted: Set<Sender> { handlers.filter { $0.name.isEmpty } }
  var constant: Int { 7 }
  var alias: Int { size }
  var shown: String { name.isEmpty ? "–" : name }
  var counted: Int { size == 0 ? 1 : size }
  var atLeastOne: UInt8 { max(level, 1) }
  var tinted: Shade { shade == .fifth ? .first : shade }
  var perPiece: Int { 1000 / size }
  var senderNick: String? { sender?.nick ?? "none" }
  // The following properties trap on nil, which is what the tests need.
  // swift-format-ignore: NeverForceUnwrap
  var forced: String? { sender!.nick }
  // swift-format-ignore: NeverForceUnwrap
  var forcedTwice: Int { sender!.size + sender!.size }
  // swift-format-ignore: NeverForceUnwrap
  var maybeForced: String? { sender?.boss!.nick }
}

enum Shade: String, CaseIterable, AttributeValue { case first, second, third, fourth, fifth, sixth }

final class Sender: ManagedObject {
  @Attribute var name: String
  @Attribute var nick: String?
  @Attribute var size: Int
  @Attribute var level: UInt8
  @Attribute var shade: Shade
  var shown: String { name.isEmpty ? "–" : name }
  var counted: Int { size == 0 ? 1 : size }
  var thousands: Int { size * 1000 }
  var atLeastOne: UInt8 { max(level, 1) }
  var tinted: Shade { shade == .fifth ? .first : shade }
  var known: String? { nick == nil ? "–" : nick }
  // swift-format-ignore: NeverForceUnwrap
  var forced: String? { boss!.nick }
  @ToOne var boss: Sender?
  @ToMany var parcels: Set<Parcel>
}

/// Has recursive computed properties, and one that loops.
final class Knot: ManagedObject {
  @Attribute var number: Int
  @ToOne var parent: Knot?
  @ToMany(inverse: \Knot.parent) var children: Set<Knot>

  var depth: Int { (parent?.depth ?? -1) + 1 }
  var ways: Int { (parent?.ways ?? 0) + (parent?.ways ?? 0) + 1 }
  var root: Knot { parent?.root ?? self }
  var weight: Int { children.reduce(number) { $0 + $1.weight } }
  var top: Knot? {
    var top = self
    while let parent = top.parent { top = parent }
    return top
  }
}

@Suite struct KeyPaths {
  @Test func `a recursive computed property is refused like any other computed property`() async throws {
    let temporary = try await TemporaryStore(Schema { Entity(Knot.self) })
    let context = temporary.store.makeContext()
    let paths: [PartialKeyPath<Knot>] = [
      \.depth, \.ways, \.root, \.weight, \.top, \.parent?.depth, \.parent?.root, \.parent?.top,
      \.parent?.weight,
    ]
    for path in paths {
      #expect {
        try context.fetch(Knot.self).sorted(by: path).all()
      } throws: { error in
        guard case StoreError.predicate(let error) = error else { return false }
        return error.reason.contains("computes a value from") && error.reason.count < 300
      }
    }
    #expect(throws: StoreError.self) { try context.fetch(Knot.self).where(#Predicate { $0.depth == 3 }) }
  }

  @Test func `a key path to any kind of property of another module's class resolves to the property`()
    async throws
  {
    let folder = try TemporaryFolder()
    let store = try await openMicroblog(folder.url.appendingPathComponent("blog.store"))
    defer { store.close() }
    let context = store.makeContext()
    let name = "x"
    #expect(
      try context.fetch(Microblog.User.self).sorted(by: \.name).sorted(by: \.id).prefetch(\.statuses).all()
        .isEmpty)
    #expect(
      try context.fetch(Status.self).sorted(by: \.user).sorted(by: \.user?.name).prefetch(\.user).where(
        #Predicate { $0.user?.name == name && $0.text != name && $0.user!.name == name }
      ).all().isEmpty)
  }

  static var computed: [(String, PartialKeyPath<Parcel>)] {
    [
      ("size", \.isBig), ("size", \.negated), ("size", \.absolute), ("size", \.limited), ("name", \.trimmed),
      ("name", \.composed), ("name", \.short), ("isSent", \.isWaiting), ("sender", \.hasSender),
      ("sender", \.senderName), ("sender", \.knownSender), ("isSent", \.sentSender), ("sent", \.day),
      ("price", \.rounded), ("mood", \.shout), ("address", \.home), ("handlers", \.trusted),
      ("name", \.shown), ("size", \.counted), ("level", \.atLeastOne), ("shade", \.tinted), ("size", \.alias),
      ("size", \.perPiece), ("sender.nick", \.senderNick),
      ("sender.name", \.sender?.shown), ("sender.size", \.sender?.counted),
      ("sender.size", \.sender?.thousands), ("sender.level", \.sender?.atLeastOne),
      ("sender.shade", \.sender?.tinted), ("sender.nick", \.sender?.known), ("sender", \.sender!.nick),
      ("sender", \.sender!.boss!.nick),
      ("sender.boss", \.sender!.boss?.nick), ("sender.boss", \.sender?.boss!.nick),
      ("sender.boss", \.sender!.boss?.boss), ("sender.boss", \.sender!.boss!.boss?.name),
      ("sender", \.forced), ("sender", \.forcedTwice), ("sender.boss", \.maybeForced),
      ("sender.boss", \.sender?.forced),
      ("wrapper", \.constant),
      ("name", \.name.count), ("handlers", \.handlers.count),
      ("handlers", \.handlers.isEmpty),
      ("id", \.id.rowID), ("sender", \.sender!.name), ("wrapper", \.hasChanges), ("wrapper", \.state),
      ("mood", \.mood?.rawValue),
      ("sender", \.sender?.name.count), ("size", \.size.description),
    ]
  }

  @Test func `a key path to a computed value is refused in sorts, prefetches, indexes and checks`()
    async throws
  {
    let schema = Schema {
      Entity(Parcel.self)
      Entity(Sender.self)
    }
    let temporary = try await TemporaryStore(schema)
    let context = temporary.store.makeContext()
    func expectFault(_ make: () -> Entity<Parcel>, _ reads: String) {
      let declared = make()
      let schema = Schema {
        declared
        Entity(Sender.self)
      }
      #expect(
        schema.faults.contains {
          if case .badKeyPath(entity: "Parcel", _, _) = $0 { "\($0)".contains(reads) } else { false }
        }, "\(schema.faults)")
    }
    for (reads, path) in Self.computed {
      for fetch in [context.fetch(Parcel.self).sorted(by: path), context.fetch(Parcel.self).prefetch(path)] {
        #expect {
          _ = try fetch.all()
        } throws: { error in
          guard case StoreError.predicate(let error) = error else { return false }
          return error.reason.contains(reads) && error.reason.contains("Parcel")
        }
        #expect(throws: StoreError.self) { try fetch.count() }
      }
      expectFault({ Entity(Parcel.self).index(path) }, reads)
      expectFault({ Entity(Parcel.self).unique(\.name, path) }, reads)
      expectFault({ Entity(Parcel.self).check(path, .notBlank) }, reads)
    }
    // A part of a JSON attribute is a value, and no property.
    #expect(try context.fetch(Parcel.self).sorted(by: \.address.street).count() == 0)
    #expect(throws: StoreError.self) { try context.fetch(Parcel.self).prefetch(\.address.street).count() }
    #expect(throws: StoreError.self) { try context.fetch(Parcel.self).only(\.address.street).count() }
    expectFault({ Entity(Parcel.self).index(\.address.street) }, "address")
    expectFault({ Entity(Parcel.self).check(\.address.street, .notBlank) }, "address")
  }

  @Test func `a computed property is refused in a #Predicate`() async throws {
    let temporary = try await TemporaryStore(
      Schema {
        Entity(Parcel.self)
        Entity(Sender.self)
      })
    let context = temporary.store.makeContext()
    let name = "x"
    for predicate in [
      #Predicate<Parcel> { $0.isBig }, #Predicate { $0.negated == 1 }, #Predicate { $0.absolute == 1 },
      #Predicate { $0.hasSender }, #Predicate { $0.senderName == name },
      #Predicate { $0.knownSender == name },
      #Predicate { $0.sentSender?.name == name },
      #Predicate { $0.trusted.isEmpty }, #Predicate { $0.isWaiting },
    ] {
      #expect(throws: StoreError.self, "\(predicate)") {
        try context.fetch(Parcel.self).where(predicate).ids()
      }
    }
    #expect(throws: StoreError.self) { try context.fetch(Parcel.self).where(#Predicate { $0.alias == 3 }) }
    #expect(try context.fetch(Parcel.self).where(#Predicate { $0.isSent && $0.size == 3 }).ids().isEmpty)
  }

  @Test func `a key path to a property of any type resolves to the property`() async throws {
    let paths: [PartialKeyPath<Sample>] = [
      \.flag, \.int, \.int8, \.int16, \.int32, \.int64, \.uint8, \.uint16, \.uint32, \.float, \.double,
      \.decimal, \.string,
      \.data, \.date, \.uuid, \.url, \.mood, \.shelf, \.address, \.maybeInt, \.maybeString, \.maybeDate,
      \.maybeMood,
      \.maybeDecimal, \.id,
    ]
    let temporary = try await TemporaryStore(library)
    let context = temporary.store.makeContext()
    for path in paths {
      #expect(throws: Never.self, "\(path)") { try context.fetch(Sample.self).sorted(by: path).all() }
    }
    let fetch = context.fetch(Book.self)
    #expect(
      try fetch.sorted(by: \.author?.name).sorted(by: \.author?.club?.name).sorted(by: \.author?.nick).ids()
        .isEmpty)
    #expect(try fetch.sorted(by: \.author?.id).sorted(by: \.author).ids().isEmpty)
    #expect(
      try fetch.prefetch(\.author).prefetch(\.author?.books).prefetch(\.genres).prefetch(\.author?.club).all()
        .isEmpty)
  }

  @Test func `an inverse whose key path does not end at a relationship is a schema fault`() {
    let schema = Schema {
      Entity(WrongInverse.self)
      Entity(Sender.self)
      Entity(Parcel.self)
    }
    #expect(schema.faults.contains { "\($0)".contains("inverse of senders") })
  }
}

final class WrongInverse: ManagedObject {
  @ToMany(inverse: \Sender.boss?.boss?.name.count) var senders: Set<Sender>
}
