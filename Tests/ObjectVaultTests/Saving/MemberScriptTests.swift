// Members of relationships of each kind, changed at random with fetches and saves in between. Memory and
// file must have the members of plain lists.

import Foundation
import ObjectVault
import TestSupport
import Testing

final class Troupe: ManagedObject {
  @Attribute var key: Int = 0
  @ToMany(inverse: \Player.troupe) var players: [Player]
  @ToMany(inverse: \Player.pool) var reserve: Set<Player>
  @ToMany(inverse: \Player.clubs) var friends: Set<Player>
  @ToMany(inverse: \Player.lists) var line: [Player]
}

final class Player: ManagedObject {
  /// Has no default: a player without a title cannot be saved.
  @Attribute var title: String
  /// Unique together with the troupe.
  @Attribute var code: Int?
  @ToOne var troupe: Troupe?
  @ToOne var pool: Troupe?
  @ToMany var clubs: Set<Troupe>
  @ToMany var lists: Set<Troupe>
}

let troupes = Schema {
  Entity(Troupe.self)
  Entity(Player.self).unique(\.troupe, \.code)
}

@Suite(.tags(.random)) struct MemberScripts {
  /// The expected members of a troupe, by the numbers of players.
  private struct Lists: Equatable {
    var players: [Int] = []
    var reserve: Set<Int> = []
    var friends: Set<Int> = []
    var line: [Int] = []

    mutating func remove(_ player: Int) {
      players.removeAll { $0 == player }
      reserve.remove(player)
      friends.remove(player)
      line.removeAll { $0 == player }
    }
  }

  private func lists(_ troupe: Troupe, _ number: (Player) -> Int?) -> Lists {
    Lists(
      players: troupe.players.compactMap(number), reserve: Set(troupe.reserve.compactMap(number)),
      friends: Set(troupe.friends.compactMap(number)), line: troupe.line.compactMap(number))
  }

  /// Changes a few troupes and players in one write, with fetches in between, and returns the expected
  /// members.
  private func run(_ dice: inout Dice, steps: Int, _ context: ObjectContext) throws -> [Lists] {
    let troupes = (0..<3).map { key in context.insert(Troupe.self) { $0.key = key } }
    if dice.isOne(in: 2) { try context.save() }
    var wanted = troupes.map { _ in Lists() }
    var players: [Player] = []
    var numbers: [Player: Int] = [:]
    for step in 0..<steps {
      let (troupe, player) = (dice.next(troupes.count), dice.pick(players))
      let number = player.flatMap { numbers[$0] } ?? 0
      switch dice.next(14) {
      case 0, 1, 2:
        let new = context.insert(Player.self) { if dice.isOne(in: 3) { $0.title = "\(step)" } }
        (numbers[new], players) = (step, players + [new])
        let place = dice.next(wanted[troupe].players.count + 1)
        if dice.isOne(in: 3) {
          troupes[troupe].players.insert(new, at: place)
          wanted[troupe].players.insert(step, at: place)
        } else {
          new.troupe = troupes[troupe]
          wanted[troupe].players.append(step)
        }
      case 3:
        player?.title = "\(number)"
      case 4:
        player?.code = dice.isOne(in: 3) ? nil : dice.next(4)
      case 5:
        guard let player, player.troupe !== troupes[troupe] else { continue }
        for other in troupes.indices { wanted[other].players.removeAll { $0 == number } }
        player.troupe = troupes[troupe]
        wanted[troupe].players.append(number)
      case 6:
        guard let player else { continue }
        for other in troupes.indices { wanted[other].reserve.remove(number) }
        player.pool = dice.isOne(in: 3) ? nil : troupes[troupe]
        if player.pool != nil { wanted[troupe].reserve.insert(number) }
      case 7:
        guard let player else { continue }
        if dice.isOne(in: 3) {
          troupes[troupe].remove(player, from: \.friends)
          wanted[troupe].friends.remove(number)
        } else {
          player.add(troupes[troupe], to: \.clubs)
          wanted[troupe].friends.insert(number)
        }
      case 8:
        guard let player else { continue }
        wanted[troupe].line.removeAll { $0 == number }
        let place = dice.next(wanted[troupe].line.count + 1)
        wanted[troupe].line.insert(number, at: place)
        troupes[troupe].line = troupes[troupe].line.filter { $0 !== player }
        troupes[troupe].line.insert(player, at: place)
      case 9 where dice.isOne(in: 2):
        guard let player else { continue }
        for other in troupes.indices { wanted[other].remove(number) }
        players.removeAll { $0 === player }
        context.delete(player)
      case 10:
        let place = dice.next(wanted[troupe].players.count + 1)
        wanted[troupe].players = Array(wanted[troupe].players[place...] + wanted[troupe].players[..<place])
        troupes[troupe].players = Array(troupes[troupe].players[place...] + troupes[troupe].players[..<place])
      case 11:
        #expect(lists(troupes[troupe]) { numbers[$0] } == wanted[troupe], "step \(step)")
      case 12:
        _ = try context.fetch(Player.self).where("title == 'absent'").exists()
      default:
        _ = try context.fetch(Troupe.self).where("key == 99").exists()
      }
      try checkPending(context)
    }
    // Completes the players in random order, with fetches in between.
    while let player = dice.pick(players) {
      players.removeAll { $0 === player }
      (player.title, player.code) = ("\(numbers[player] ?? 0)", nil)
      if dice.isOne(in: 2) { _ = try context.fetch(Player.self).where("title == 'absent'").exists() }
    }
    for (troupe, wanted) in zip(troupes, wanted) { #expect(lists(troupe) { numbers[$0] } == wanted) }
    return wanted
  }

  @Test(arguments: 0..<(isTorture ? 400 : 24))
  func `members in memory and in the file equal those of plain lists`(_ seed: UInt64) async throws {
    let temporary = try await TemporaryStore(troupes)
    let wanted = try await temporary.store.write { context in
      var dice = Dice(seed)
      return try run(&dice, steps: 150, context)
    }
    let context = temporary.store.makeContext()
    let found = try context.fetch(Troupe.self).sorted(by: \.key).all().map { lists($0) { Int($0.title) } }
    #expect(found == wanted, "seed \(seed)")
  }
}
