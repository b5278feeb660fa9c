// Cascades to members that are not in memory are left to the engine. The result is the same as if each
// member were read.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

private final class House: ManagedObject {
  @Attribute var name: String
  @ToMany(inverse: \Room.house, onDelete: .cascade) var rooms: Set<Room>
  @ToMany(inverse: \Door.house, onDelete: .cascade) var doors: Set<Door>
}

/// Is deleted with its house, and nothing is deleted with it.
private final class Room: ManagedObject {
  @Attribute(.unique) var name: String
  @ToOne var house: House?
  @ToMany(inverse: \Color.rooms) var colors: Set<Color>
}

private final class Color: ManagedObject {
  @Attribute var name: String
  @ToMany var rooms: Set<Room>
}

/// Is deleted with its house. Its keys are deleted with it, and its guards deny the deletion.
private final class Door: ManagedObject {
  @Attribute var name: String
  @ToOne var house: House?
  @ToMany(inverse: \Key.door, onDelete: .cascade) var keys: Set<Key>
  @ToMany(inverse: \Guard.door, onDelete: .deny) var guards: Set<Guard>
}

private final class Key: ManagedObject {
  @Attribute var name: String
  @ToOne var door: Door?
}

private final class Guard: ManagedObject {
  @Attribute var name: String
  @ToOne var door: Door?
}

private final class Hotel: ManagedObject {
  @Attribute var name: String
  @ToMany(inverse: \Apartment.hotel, onDelete: .cascade) var suites: Set<Apartment>
  @ToMany(inverse: \Apartment.favoriteOf, onDelete: .deny) var favorites: Set<Apartment>
}

private final class Apartment: ManagedObject {
  @ToOne var hotel: Hotel?
  @ToOne var favoriteOf: Hotel?
  @ToOne var floor: Floor?
}

private final class Floor: ManagedObject {
  @Attribute var name: String
  @ToMany(inverse: \Apartment.floor, onDelete: .deny) var suites: Set<Apartment>
}

@Suite struct EngineCascades {
  let temporary: TemporaryStore
  var store: Store { temporary.store }

  /// Three houses, each with 20 rooms in two colors and with one door that has a key.
  init() async throws {
    temporary = try await TemporaryStore(
      Schema {
        Entity(House.self)
        Entity(Room.self)
        Entity(Color.self)
        Entity(Door.self)
        Entity(Key.self)
        Entity(Guard.self)
      })
    let context = store.makeContext()
    let colors = ["red", "blue"].map { name in context.insert(Color.self) { $0.name = name } }
    for house in 0..<3 {
      let owner = context.insert(House.self) { $0.name = "\(house)" }
      for room in 0..<20 {
        context.insert(Room.self) {
          ($0.name, $0.house, $0.colors) = ("\(house)-\(room)", owner, [colors[room % 2]])
        }
      }
      let door = context.insert(Door.self) { ($0.name, $0.house) = ("\(house)", owner) }
      context.insert(Key.self) { ($0.name, $0.door) = ("\(house)", door) }
    }
    try context.save()
  }

  private func house(_ name: String, _ context: ObjectContext) throws -> House {
    try context.fetch(House.self).where("name == %@", name).one()
  }

  private func counts() throws -> [Int] {
    let context = store.makeContext()
    let linked = try context.fetch(Color.self).all().map(\.rooms.count).reduce(0, +)
    return [
      try context.fetch(House.self).count(), try context.fetch(Room.self).count(), linked,
      try context.fetch(Door.self).count(), try context.fetch(Key.self).count(),
    ]
  }

  @Test func `members that are not in memory are deleted with everything that belongs to them`() async throws
  {
    let context = store.makeContext()
    context.delete(try house("1", context))
    try context.save()
    #expect(try counts() == [2, 40, 40, 2, 2])
    try await store.write { try $0.delete(house("2", $0)) }
    #expect(try counts() == [1, 20, 20, 1, 1])
    #expect(try await store.verify().isEmpty)
  }

  @Test func `a listener is notified of each deleted member`() throws {
    let feed = store.changes()
    let context = store.makeContext()
    context.delete(try house("0", context))
    try context.save()
    guard case .committed(let changes)? = feed.takeUndelivered().first else {
      Issue.record("no commit was delivered")
      return
    }
    let deleted = Dictionary(grouping: changes.deleted, by: \.entity).mapValues(\.count)
    #expect(deleted == ["House": 1, "Room": 20, "Door": 1, "Key": 1])
    #expect(changes.unlinked.count == 20)
    #expect(try counts() == [2, 40, 40, 2, 2])
  }

  @Test func `a deleted member in memory becomes invalid, and a member that moved away stays`() throws {
    let context = store.makeContext()
    let (first, second) = (try house("0", context), try house("1", context))
    let known = try context.fetch(Room.self).where("name IN {'0-1', '0-2'}").sorted(by: \.name).all()
    known[0].house = second
    context.delete(first)
    try context.save()
    #expect(known[0].house === second && known[1].state == .invalid)
    #expect(try counts() == [2, 41, 41, 2, 2])
  }

  @Test func `a unique value of a deleted member can be used again in the same save`() throws {
    let context = store.makeContext()
    context.delete(try house("0", context))
    context.insert(Room.self) { $0.name = "0-1" }
    try context.save()
    #expect(try counts() == [2, 41, 40, 2, 2])
    #expect(try store.makeContext().fetch(Room.self).where("name == '0-1'").one().house == nil)
  }

  @Test func `a deny rule ignores members that another relationship deletes in the same save`() async throws {
    let temporary = try await TemporaryStore(
      Schema {
        Entity(Hotel.self)
        Entity(Apartment.self)
        Entity(Floor.self)
      })
    let store = temporary.store
    let context = store.makeContext()
    for name in ["a", "b"] {
      let hotel = context.insert(Hotel.self) { $0.name = name }
      let floor = context.insert(Floor.self) { $0.name = name }
      context.insert(Apartment.self) { ($0.hotel, $0.favoriteOf, $0.floor) = (hotel, hotel, floor) }
    }
    try context.save()
    let other = store.makeContext()
    other.delete(try other.fetch(Hotel.self).where("name == 'a'").one())
    other.delete(try other.fetch(Floor.self).where("name == 'a'").one())
    try other.save()
    #expect(try other.fetch(Apartment.self).count() == 1 && other.fetch(Hotel.self).count() == 1)
    other.delete(try other.fetch(Floor.self).one())
    #expect(throws: StoreError.deleteDenied(entity: "Floor", rowID: 2, property: "suites", count: 1)) {
      try other.save()
    }
  }

  @Test func `a trigger on the deletion of a member finds the owner's row`() async throws {
    let connection = try Connection.open(store.url.path, key: testKey)
    defer { connection.close() }
    try StoreInfo.prepare(connection)
    try connection.execute("CREATE TABLE log (name TEXT)")
    try connection.execute(
      """
      CREATE TRIGGER gone AFTER DELETE ON Room BEGIN
        INSERT INTO log SELECT name FROM House WHERE id = OLD.house_id; END
      """)
    let context = store.makeContext()
    context.delete(try house("1", context))
    try context.save()
    #expect(try connection.value("SELECT count(*) FROM log WHERE name = '1'")?.int64 == 20)
  }

  @Test func `a cascade is refused if a member has members that deny its deletion`() throws {
    let context = store.makeContext()
    context.insert(Guard.self) {
      $0.name = "G"
      $0.door = try? context.fetch(Door.self).where("name == '0'").one()
    }
    try context.save()
    let other = store.makeContext()
    other.delete(try house("0", other))
    #expect(throws: StoreError.deleteDenied(entity: "Door", rowID: 1, property: "guards", count: 1)) {
      try other.save()
    }
    #expect(try counts() == [3, 60, 60, 3, 3])
  }
}
