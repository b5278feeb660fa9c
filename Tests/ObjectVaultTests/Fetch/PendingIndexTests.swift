// Fetches by a value among many pending objects. Only the objects with the value are checked, in a write
// and in a context that stays.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

private final class Coin: ManagedObject {
  @Attribute(.indexed) var code: String = ""
  @Attribute var number: Int = 0
  @Attribute var price: Decimal?
  @Attribute var weight: Double?
  @Attribute var day: Date?
  @Attribute var data: Data?
  @ToOne(inverse: \Tray.coins) var tray: Tray?
  @ToOne var origin: Mint?
}

private final class Mint: ManagedObject {
  @Attribute var name: String = ""
}

private final class Tray: ManagedObject {
  @Attribute(.indexed) var name: String = ""
  @ToMany(onDelete: .deny) var coins: Set<Coin>
}

private final class Case: ManagedObject {
  @Attribute var name: String = ""
  @ToMany(inverse: \Watch.owner, onDelete: .cascade) var watches: Set<Watch>
}

private class Watch: ManagedObject {
  @Attribute(.indexed) var name: String = ""
  @ToOne var owner: Case?
}

private final class GoldWatch: Watch {
  @Attribute var carat: Int = 0
}

private let coinModel = Schema {
  Entity(Case.self)
  Entity(Watch.self)
  Entity(GoldWatch.self)
  Entity(Tray.self)
  Entity(Coin.self)
  Entity(Mint.self)
}

enum Workplace: CaseIterable { case write, context }

extension Store {
  /// Runs `body` in a write, or in a context of its own.
  func work<Result: Sendable>(
    in place: Workplace, _ body: @escaping @Sendable (ObjectContext) throws -> Result
  ) async throws -> Result {
    switch place {
    case .write: return try await write { try body($0) }
    case .context:
      let context = makeContext()
      let result = try body(context)
      try context.save()
      return result
    }
  }
}

@Suite(.tags(.random, .slow, .pure)) struct PendingIndexes {
  /// How many times longer eight times the work takes: 8 if the time is linear, 64 if it is quadratic.
  private func factor(
    _ place: Workplace, _ work: @escaping @Sendable (ObjectContext, Int) throws -> Double
  ) async throws -> Double {
    let most = isTorture ? 20_000 : 1200
    return try await timeFactor(from: most / 8, to: most, below: 24) { count in
      let temporary = try await TemporaryStore(coinModel)
      return try await temporary.store.work(in: place) { try work($0, count) }
    }
  }

  @Test(arguments: Workplace.allCases)
  func `finding or inserting objects by a key takes linear time`(_ place: Workplace) async throws {
    let factor = try await factor(place) { context, count in
      let start = threadTime()
      for number in 0..<count {
        let code = "coin \(number * 7 % (count / 2))"
        let coin =
          try context.fetch(Coin.self).where("code == %@", code).first()
          ?? context.insert(Coin.self) { $0.code = code }
        coin.number += 1
      }
      let time = threadTime() - start
      #expect(try context.fetch(Coin.self).where("number == 2").count() == count / 2)
      return time
    }
    #expect(factor < 24)
  }

  @Test(arguments: Workplace.allCases)
  func `finding saved objects by a key and changing the key takes linear time`(_ place: Workplace)
    async throws
  {
    let factor = try await factor(place) { context, count in
      for number in 0..<count { context.insert(Coin.self) { $0.code = "\(number)" } }
      try context.save()
      let start = threadTime()
      for number in 0..<count {
        let code = "\(number)"
        try context.fetch(Coin.self).where(#Predicate { $0.code == code }).one().code = "changed \(number)"
      }
      let time = threadTime() - start
      #expect(try context.fetch(Coin.self).where("code BEGINSWITH 'changed'").count() == count)
      return time
    }
    #expect(factor < 24)
  }

  @Test(arguments: Workplace.allCases)
  func `finding or inserting objects by an owner and a key takes linear time`(_ place: Workplace) async throws
  {
    let factor = try await factor(place) { context, count in
      let tray = context.insert(Tray.self)
      context.insert(Coin.self)
      let start = threadTime()
      for number in 0..<count {
        let code = "\(number % (count / 2))"
        let known = try context.fetch(Coin.self).where("tray == %@ AND code == %@", tray, code).first()
        _ = known ?? context.insert(Coin.self) { ($0.code, $0.tray) = (code, tray) }
      }
      let time = threadTime() - start
      #expect(try context.fetch(Coin.self).where("tray == %@", tray).count() == count / 2)
      return time
    }
    #expect(factor < 24)
  }

  @Test(arguments: Workplace.allCases)
  func `deleting objects with a fetch after each takes linear time, even if a rule denies it`(
    _ place: Workplace
  ) async throws {
    let factor = try await factor(place) { context, count in
      let trays = (0..<count).map { number in context.insert(Tray.self) { $0.name = "\(number)" } }
      let coins = trays.map { tray in context.insert(Coin.self) { $0.tray = tray } }
      try context.save()
      let start = threadTime()
      for (number, tray) in trays.enumerated() {
        context.delete(tray)
        #expect(try context.fetch(Tray.self).where("name == %@", "\(number)").exists() == false)
      }
      let time = threadTime() - start
      #expect(try context.fetch(Tray.self).count() == 0)
      for coin in coins { coin.tray = nil }
      return time
    }
    #expect(factor < 24)
  }

  @Test(arguments: Workplace.allCases)
  func `finding members by owner and key takes linear time while another owner is deleted`(_ place: Workplace)
    async throws
  {
    let factor = try await factor(place) { context, count in
      let (old, new) = (context.insert(Case.self), context.insert(Case.self))
      for number in 0..<4 { context.insert(Watch.self) { ($0.name, $0.owner) = ("\(number)", old) } }
      try context.save()
      context.delete(old)
      let start = threadTime()
      for number in 0..<count {
        let name = "\(number % (count / 2))"
        let known = try context.fetch(Watch.self).where("owner == %@ AND name == %@", new, name).first()
        _ = known ?? context.insert(Watch.self) { ($0.name, $0.owner) = (name, new) }
      }
      let time = threadTime() - start
      #expect(try context.fetch(Watch.self).where("owner == %@", new).count() == count / 2)
      #expect(try context.fetch(Watch.self).count() == count / 2)
      #expect(try context.fetch(Watch.self).where("owner == nil").count() == 0)
      return time
    }
    #expect(factor < 24)
  }

  @Test(arguments: Workplace.allCases)
  func `a reference to an object whose deletion is pending is nil, in memory and in the file`(
    _ place: Workplace
  ) async throws {
    let temporary = try await TemporaryStore(coinModel)
    try await temporary.store.write { context in
      let mint = context.insert(Mint.self)
      for number in 0..<3 { context.insert(Coin.self) { ($0.number, $0.origin) = (number, mint) } }
    }
    try await temporary.store.work(in: place) { context in
      let mint = try context.fetch(Mint.self).one()
      let coins = context.fetch(Coin.self)
      try coins.where("number == 1").one().code = "changed"
      context.delete(mint)
      #expect(try coins.where("origin == nil").count() == 3)
      #expect(try coins.where("origin != nil").count() == 0)
      #expect(try coins.where("origin == nil AND code == 'changed'").one().number == 1)
      #expect(try coins.where("origin == nil AND number == 2").ids().count == 1)
      #expect(try coins.where("origin == nil").sorted(by: \.number, .reverse).first()?.number == 2)
      #expect(try coins.includingPending(false).where("origin == nil").count() == 0)
    }
    #expect(try temporary.store.makeContext().fetch(Coin.self).where("origin == nil").count() == 3)
  }

  @Test(arguments: Workplace.allCases)
  func `objects of child entities are found by inherited properties and by their own`(_ place: Workplace)
    async throws
  {
    let temporary = try await TemporaryStore(coinModel)
    try await temporary.store.work(in: place) { context in
      let watches = (0..<4).map { number in context.insert(Watch.self) { $0.name = "w\(number % 2)" } }
      let gold = (0..<4).map { number in
        context.insert(GoldWatch.self) { ($0.name, $0.carat) = ("w\(number % 2)", number) }
      }
      try context.save()
      (watches[0].name, gold[0].name, gold[1].carat) = ("x", "x", 9)
      let new = context.insert(GoldWatch.self) { ($0.name, $0.carat) = ("x", 9) }
      #expect(try Set(context.fetch(Watch.self).where("name == 'x'").all()) == [watches[0], gold[0], new])
      #expect(try Set(context.fetch(GoldWatch.self).where("name == 'x'").all()) == [gold[0], new])
      #expect(try Set(context.fetch(GoldWatch.self).where("carat == 9").all()) == [gold[1], new])
      #expect(try context.fetch(Watch.self).where("name == 'w0'").count() == 2)
      #expect(
        try context.fetch(Watch.self).includingSubentities(false).where("name == 'x'").all() == [watches[0]])
      context.delete(gold[1])
      #expect(try context.fetch(GoldWatch.self).where("carat == 9").all() == [new])
    }
  }

  @Test func `a refreshed object is not kept alive by pending changes of other objects`() async throws {
    let temporary = try await TemporaryStore(coinModel)
    try await temporary.store.write { context in _ = context.insert(Tray.self) }
    let context = temporary.store.makeContext()
    context.insert(Coin.self) { $0.code = "draft" }
    #expect(try context.fetch(Coin.self).where("code == 'draft'").count() == 1)
    weak var refreshed: Tray?
    func refresh() throws {
      let tray = try context.fetch(Tray.self).one()
      context.refresh(tray)
      refreshed = tray
    }
    try refresh()
    #expect(refreshed == nil)
  }

  @Test(arguments: Workplace.allCases)
  func `skipping objects that have lost a fetched value takes linear time`(_ place: Workplace) async throws {
    let factor = try await factor(place) { context, count in
      let start = threadTime()
      for _ in 0..<count {
        let coin = context.insert(Coin.self) { $0.code = "busy" }
        let busy = try context.fetch(Coin.self).where("code == 'busy'").count()
        #expect(busy == 1)
        coin.code = "done"
      }
      let time = threadTime() - start
      #expect(try context.fetch(Coin.self).where("code == 'done'").count() == count)
      return time
    }
    #expect(factor < 24)
  }

  @Test(arguments: Workplace.allCases)
  func `finding an object by a value that is written again and again takes linear time`(_ place: Workplace)
    async throws
  {
    let factor = try await factor(place) { context, count in
      let coins = (0..<3).map { _ in context.insert(Coin.self) }
      let start = threadTime()
      for number in 0..<count {
        coins[number % 3].number = number + 1
        let found = try context.fetch(Coin.self).where("number == %@", number + 1).one()
        #expect(found === coins[number % 3])
      }
      return threadTime() - start
    }
    #expect(factor < 24)
  }

  @Test(arguments: Workplace.allCases)
  func `a reference to a new object that was deleted again is nil`(_ place: Workplace) async throws {
    let temporary = try await TemporaryStore(coinModel)
    try await temporary.store.work(in: place) { context in
      let mint = context.insert(Mint.self)
      let coin = context.insert(Coin.self) { $0.origin = mint }
      let without = context.fetch(Coin.self)
      #expect(try without.where("origin == nil").count() == 0)
      #expect(try without.where("origin == %@", mint).one() === coin)
      context.delete(mint)
      #expect(try without.where("origin == nil").one() === coin)
      #expect(try without.where("origin != nil").exists() == false)
      // The deletion of a saved target is pending until the save.
      coin.origin = context.insert(Mint.self)
      try context.save()
      let origin = try context.fetch(Mint.self).one()
      context.delete(origin)
      coin.number = 1
      #expect(try without.where("origin == nil AND number == 1").one() === coin)
    }
    #expect(try temporary.store.makeContext().fetch(Coin.self).where("origin == nil").count() == 1)
  }

  // The expected results come from an array. Numbers are given in other types than they are stored in.
  @Test(arguments: Workplace.allCases, 0..<(isTorture ? 60 : 4))
  func `random changes and fetches by values agree with an array`(_ place: Workplace, _ seed: UInt64)
    async throws
  {
    let temporary = try await TemporaryStore(coinModel)
    try await temporary.store.work(in: place) { context in
      var dice = Dice(seed)
      var (coins, trays): ([Coin], [Tray]) = ([], [])
      for _ in 0..<3 { trays.append(context.insert(Tray.self) { $0.name = "p" }) }
      for step in 0..<400 {
        let value = dice.next(6)
        let coin = dice.pick(coins)
        switch dice.next(14) {
        case 0, 1, 2: coins.append(context.insert(Coin.self) { if value > 2 { $0.code = "c\(value)" } })
        case 3: coin?.code = "c\(value)"
        case 4: coin?.number = value
        case 5: coin?.price = value == 0 ? nil : Decimal(value) / 2
        case 6: coin?.weight = value == 0 ? nil : Double(value)
        case 7: coin?.day = value == 0 ? nil : Date(timeIntervalSinceReferenceDate: Double(value))
        case 8: coin?.data = value == 0 ? nil : Data([UInt8(value)])
        case 9: coin?.tray = value == 0 ? nil : trays[value % 3]
        case 10 where value < 2:
          guard let coin else { continue }
          context.delete(coin)
          coins.removeAll { $0 === coin }
        case 11 where value == 0: try context.save()
        case 12 where value < 3:
          guard let coin, !coin.isInserted else { continue }
          context.refresh(coin)
        default: break
        }
        func expect(_ format: String, with argument: Any? = nil, _ holds: (Coin) -> Bool) throws {
          let all = context.fetch(Coin.self)
          let fetch = try argument == nil ? all.where(format) : all.where(format, argument)
          let (found, expected) = (try fetch.all(), coins.filter(holds))
          #expect(
            Set(found) == Set(expected) && found.count == expected.count, "seed \(seed), \(step): \(format)")
          #expect(try fetch.count() == expected.count, "seed \(seed), \(step): count of \(format)")
        }
        let number = dice.next(6)
        switch dice.next(10) {
        case 0: try expect("code == %@", with: "c\(number)") { $0.code == "c\(number)" }
        case 1: try expect("number == %@", with: Double(number)) { $0.number == number }
        case 2: try expect("price == %@", with: Decimal(number) / 2) { $0.price == Decimal(number) / 2 }
        case 3: try expect("weight == %@", with: number) { $0.weight == Double(number) }
        case 4: try expect("price == nil") { $0.price == nil }
        case 5: try expect("data == %@", with: Data([UInt8(number)])) { $0.data == Data([UInt8(number)]) }
        case 6:
          let day = Date(timeIntervalSinceReferenceDate: Double(number))
          try expect("day == %@", with: day) { $0.day == day }
        case 7: try expect("tray == %@", with: trays[number % 3]) { $0.tray === trays[number % 3] }
        case 8:
          try expect("tray == %@ AND code == 'c4'", with: trays[number % 3]) {
            $0.tray === trays[number % 3] && $0.code == "c4"
          }
        default:
          try expect("code == 'c3' OR number == %@", with: number) { $0.code == "c3" || $0.number == number }
        }
      }
      try checkPending(context)
    }
  }
}
