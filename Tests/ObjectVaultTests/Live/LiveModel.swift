// The model of the tests of live results, and how a difference is applied.

import ObjectVault
import TestSupport

final class LiveRoom: ManagedObject {
  @Attribute var title: String
  @Attribute var size: Int = 0
  @Attribute var isOpen: Bool = true
  @Attribute var note: String?
  @ToMany(inverse: \LiveGuest.room, onDelete: .cascade) var guests: [LiveGuest]
  @ToMany(inverse: \LiveTag.rooms) var tags: Set<LiveTag>
}

final class LiveGuest: ManagedObject {
  @Attribute var name: String
  @ToOne var room: LiveRoom?
}

class LiveArea: ManagedObject {
  @Attribute var title: String
  @ToOne var parent: LiveArea?
  @ToMany(inverse: \LiveArea.parent) var parts: Set<LiveArea>
}

final class LiveCity: LiveArea {
  @Attribute var size: Int = 0
}

final class LiveTag: ManagedObject {
  @Attribute var word: String
  @ToMany var rooms: Set<LiveRoom>
}

enum LiveModel {
  static let schema = Schema {
    Entity(LiveRoom.self)
    Entity(LiveGuest.self)
    Entity(LiveTag.self)
    Entity(LiveArea.self)
    Entity(LiveCity.self)
  }

  /// Changes a list of ids as a view would.
  static func apply(_ difference: LiveDifference, to old: [Int64], for new: [Int64]) -> [Int64] {
    var list = old
    for index in (difference.deletions + difference.moves.map(\.from)).sorted().reversed() {
      list.remove(at: index)
    }
    for index in (difference.insertions + difference.moves.map(\.to)).sorted() {
      list.insert(new[index], at: index)
    }
    return list
  }

  /// Makes some random changes.
  static func change(
    _ context: ObjectContext, _ random: inout SeededGenerator, _ round: Int
  ) throws {
    let rooms = try context.fetch(LiveRoom.self).sorted(by: \.id).all()
    let tags = try context.fetch(LiveTag.self).sorted(by: \.id).all()
    for step in 0..<Int.random(in: 1...3, using: &random) {
      let room = rooms.filter { !$0.isDeleted }.randomElement(using: &random)
      let word = "\(["a", "A", "b", "é", ""].randomElement(using: &random) ?? "")\(round % 7)"
      switch Int.random(in: 0..<12, using: &random) {
      case 0, 1, 2:
        context.insert(LiveRoom.self) {
          $0.title = word
          $0.size = Int.random(in: 0..<5, using: &random)
        }
      case 3: if let room { context.delete(room) }
      case 4: room?.size = Int.random(in: 0..<5, using: &random)
      case 5: room?.isOpen.toggle()
      case 6: room?.title = word
      case 7: room?.note = Bool.random(using: &random) ? nil : word
      case 8: context.insert(LiveGuest.self) { ($0.name, $0.room) = (word, room) }
      case 9: room?.guests.reverse()
      case 10: context.insert(LiveTag.self) { $0.word = "\(round) \(step)" }
      default: if let room { room.tags = Set(tags.shuffled(using: &random).prefix(2)) }
      }
    }
  }
}
