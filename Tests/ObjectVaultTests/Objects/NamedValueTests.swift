// Properties of classes by their names, against the properties themselves.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

private enum Temper: String, CaseIterable, Codable, AttributeValue { case calm, wild }

private struct Spot: Codable, Equatable, AttributeValue {
  var city = "Rome"
  static var placeholder: Spot { Spot() }
}

private class Pupil: ManagedObject {
  @Attribute var name: String
  @Attribute var age: Int = 30
  @Attribute var nick: String?
  @Attribute var mood: Temper = .calm
  @Attribute var place: Spot = Spot()
  @Attribute var joined: Date = Date(timeIntervalSinceReferenceDate: 7)
  @Attribute(.lazy) var photo: Data?
  @ToOne(inverse: \Pupil.friends) var friend: Pupil?
  @ToMany var friends: Set<Pupil>
}

private final class NamedOther: Pupil {}
private final class NamedStranger: ManagedObject { @Attribute var name: String }

private final class Tutor: Pupil {
  @Attribute var pay: Decimal = 10
}

@Suite struct NamedValues {
  private let temporary: TemporaryStore
  private let context: ObjectContext
  private let ann: Pupil
  private let bea: Tutor

  init() async throws {
    temporary = try await TemporaryStore(
      Schema {
        Entity(Pupil.self)
        Entity(Tutor.self)
      })
    let context = temporary.store.makeContext()
    self.context = context
    ann = context.insert(Pupil.self) { ($0.name, $0.photo) = ("Ann", Data([1, 2])) }
    bea = context.insert(Tutor.self) { $0.name = "Bea" }
    bea.friend = ann
    try context.save()
  }

  @Test func `a value by its name is that of the property`() throws {
    let name: String = ann["name"]
    #expect(name == ann.name && ann["age"] as Int == 30 && ann["nick"] as String? == nil)
    #expect(
      ann["mood"] as Temper == .calm && ann["mood"] as String == "calm"
        && ann["photo"] as Data? == Data([1, 2]))
    #expect(bea["pay"] as Decimal == 10 && bea["name"] as String == "Bea")
    #expect(try ann.value("joined") == .real(7) && bea.value("friend") == .integer(ann.id.rowID))
    ann["age"] = 31
    ann["nick"] = "A"
    ann["mood"] = Temper.wild
    bea["pay"] = 12
    try bea.set("name", to: "Beatrice")
    try bea.set("place", toStored: .text("{\"city\":\"Bari\"}"))
    #expect(ann.age == 31 && ann.nick == "A" && ann.mood == .wild && bea.pay == 12 && bea.name == "Beatrice")
    #expect(bea.place.city == "Bari" && ann.hasChanges && ann.managedObjectContext === context)
    ann["nick"] = String?.none
    try context.save()
    let other = temporary.store.makeContext()
    let read = try other.fetch(Tutor.self).one()
    #expect(read.pay == 12 && read.place.city == "Bari" && read.friend?.age == 31 && read.friend?.nick == nil)
    #expect(context.faultErrors.isEmpty)
  }

  @Test func `an object is copied without its class`() throws {
    let copy = context.insert(Tutor.self)
    let attributes = try #require(bea.entityDescription?.attributes)
    #expect(attributes.map(\.name).contains("pay") && attributes.map(\.name).contains("name"))
    for attribute in attributes { try copy.set(attribute.name, toStored: bea.value(attribute.name)) }
    try context.save()
    for attribute in attributes { #expect(try copy.value(attribute.name) == bea.value(attribute.name)) }
  }

  private func error(_ body: () throws -> Void) -> String {
    do { try body() } catch { return "\(error)" }
    return "none"
  }

  @Test func `relationships are read and written by their names`() throws {
    #expect(try bea.relatedObject("friend") === ann)
    #expect(try ann.relatedObjects("friends") == [bea])
    #expect(try ann.objectIDs(forName: "friends") == [DynamicID(entity: "Pupil", rowID: bea.id.rowID)])
    #expect(try bea.objectIDs(forName: "friend").map(\.rowID) == [ann.id.rowID])
    try bea.set("friend", toOne: nil)
    #expect(bea.friend == nil && ann.friends.isEmpty)
    try ann.add(bea, to: "friends")
    #expect(bea.friend === ann)
    try ann.remove(bea, from: "friends")
    #expect(bea.friend == nil)
    let new = Pupil()
    new["name"] = "Cem"
    try ann.add(new, to: "friends")
    #expect(new.managedObjectContext === context && new.friend === ann)
    try context.save()
    let other = temporary.store.makeContext()
    let read = try #require(try other.existing(ann.id))
    #expect(try read.hasFault(forName: "friends"))
    #expect(try read.relatedObjects("friends").map { try $0.value("name") } == [.text("Cem")])
    #expect(try !read.hasFault(forName: "friends"))
  }

  @Test func `relationships of wrong names, kinds and objects are errors, and change nothing`() throws {
    #expect(error { _ = try ann.relatedObject("freind") }.contains("friend"))
    #expect(error { _ = try ann.relatedObject("friends") }.contains("use relatedObjects(\"friends\")"))
    #expect(error { _ = try ann.relatedObjects("friend") }.contains("use relatedObject(\"friend\")"))
    #expect(error { _ = try ann.relatedObject("name") }.contains("is an attribute"))
    #expect(error { _ = try ann.objectIDs(forName: "name") }.contains("is an attribute"))
    let other = temporary.store.makeContext()
    let foreign = try #require(try other.existing(ann.id))
    #expect(throws: StoreError.foreignObject(entity: "Tutor", property: "friend")) {
      try bea.set("friend", toOne: foreign)
    }
    #expect(
      error { try bea.set("friend", toOne: NamedStranger()) }.contains("given an object of NamedStranger"))
    try ann.remove(Pupil(), from: "friends")
    // Its class inherits from that of the entity, and is not in the schema.
    #expect(throws: StoreError.self) { try ann.add(NamedOther(), to: "friends") }
    #expect(!context.hasChanges && context.faultErrors.isEmpty)
    context.delete(bea)
    #expect(try bea.relatedObject("friend") === ann && bea.relatedObjects("friends").isEmpty)
    context.rollback()
    context.delete(ann)
    try context.save()
    #expect(throws: StoreError.self) { _ = try ann.relatedObjects("friends") }
    #expect(throws: StoreError.self) { _ = try ann.relatedObject("friend") }
  }

  @Test func `an object that is in no context yet has its names, too`() throws {
    let new = Pupil()
    #expect(new["age"] as Int == 30 && new["nick"] as String? == nil)
    #expect(try new.value("age") == .integer(30) && new.value("nick") == .null)
    new["name"] = "Dee"
    try new.set("mood", to: "wild")
    try new.set("nick", toStored: .text("d"))
    let friend = Pupil()
    friend.name = "Eva"
    try new.set("friend", toOne: friend)
    try new.add(friend, to: "friends")
    try new.remove(friend, from: "friends")
    #expect(try new.relatedObject("friend") === friend && new.relatedObjects("friends").isEmpty)
    #expect(new.name == "Dee" && new.mood == .wild && new.friend === friend)
    #expect(error { try new.set("mood", to: "angry") }.contains("no such value"))
    #expect(error { try new.set("nmae", to: "x") }.contains("name"))
    #expect(error { try new.set("age", to: "x") }.contains("string is not a value of type int"))
    #expect(error { try new.set("friend", toOne: NamedStranger()) }.contains("NamedStranger"))
    #expect(error { _ = try new.value("friends") }.contains("relatedObjects"))
    context.insert(new)
    try context.save()
    let other = temporary.store.makeContext()
    #expect(try other.existing(new.id)?.friend?.name == "Eva")
    #expect(context.faultErrors.isEmpty)
  }

  @Test func `wrong names, types and values are errors, and change nothing`() throws {
    #expect(error { _ = try ann.value("nmae") }.contains("name"))
    #expect(error { try ann.set("pay", to: 3) }.contains("pay"))
    #expect(error { try ann.set("age", to: "x") }.contains("string is not a value of type int"))
    #expect(
      error { try ann.set("mood", to: "angry") }.contains("the property of the class has no such value"))
    #expect(error { try ann.set("place", toStored: .text("{}")) }.contains("no such value"))
    #expect(error { try ann.set("age", toStored: .text("x")) } != "none")
    #expect(error { try ann.set("place", toStored: .text("{ \"city\":\"x\"}")) }.contains("white space"))
    #expect(error { try ann.set("friend", to: 3) }.contains("use relatedObject(\"friend\")"))
    #expect(error { _ = try ann.value("friends") }.contains("relatedObjects(\"friends\")"))
    #expect(!ann.hasChanges && context.faultErrors.isEmpty)
    ann["mood"] = "angry"
    #expect(throws: (any Error).self) { try context.save() }
    context.rollback()
    ann["nothing"] = 3
    #expect(ann["nothing"] as Int == 0 && !context.faultErrors.isEmpty)
    #expect(throws: StoreError.self) { try context.save() }
    #expect(ann.mood == .calm)
  }

  @Test func `an object without a context or a row is an error and no trap`() throws {
    let stray = Pupil()
    #expect(stray.entityDescription == nil && stray.managedObjectContext == nil)
    #expect(stray.committedValues.isEmpty && stray.changedValues.isEmpty)
    #expect(error { _ = try stray.value("nmae") }.contains("Pupil") && stray["name"] as String == "")
    context.delete(bea)
    try context.save()
    #expect(error { try bea.set("name", to: "x") } != "none")
    var lost: Pupil?
    do {
      let short = temporary.store.makeContext()
      lost = try short.fetch(Pupil.self).includingSubentities(false).one()
    }
    #expect(lost?.managedObjectContext == nil && lost?.entityDescription == nil)
    let kept = lost?["name"] as String?
    #expect(try lost?.name == "Ann" && kept == "Ann" && lost?.value("name") == "Ann")
    #expect(error { try lost?.set("name", to: "x") } != "none")
  }

  @Test func `committed values are those of the row, and changed values those to be saved`() throws {
    let other = temporary.store.makeContext()
    let read = try other.fetch(Pupil.self).where("name == 'Ann'").one()
    #expect(read.committedValues["photo"] == nil)
    _ = read.photo
    read.age = 40
    #expect(read.committedValues["age"] == 30 && read.changedValues == ["age": 40])
    #expect(read.committedValues["photo"] == .blob(Data([1, 2])) && read.committedValues["friend"] == .null)
    let new = other.insert(Pupil.self) { $0.name = "new" }
    #expect(new.committedValues.isEmpty && new.changedValues["name"] == "new")
    try other.save()
    #expect(
      read.committedValues["age"] == 40 && read.changedValues.isEmpty && new.committedValues["name"] == "new")
    other.refresh(read)
    #expect(read.isFault && read.committedValues["age"] == 40 && !read.isFault)
  }

  // MARK: The objects of a context

  @Test func `a context lists its objects and those with changes`() throws {
    let context = temporary.store.makeContext()
    let all = try context.fetch(Pupil.self).sorted(by: \.id).all()
    #expect(Set(context.registeredObjects) == Set(all) && context.insertedObjects.isEmpty)
    let new = context.insert(Pupil.self) { $0.name = "new" }
    let gone = context.insert(Pupil.self) { $0.name = "gone" }
    context.delete(gone)
    all[0].age = 5
    context.delete(all[1])
    #expect(context.insertedObjects == [new] && context.updatedObjects == [all[0]])
    #expect(context.deletedObjects == [all[1]] && context.registeredObjects.contains(new))
    try context.save()
    #expect(
      context.insertedObjects.isEmpty && context.updatedObjects.isEmpty && context.deletedObjects.isEmpty)
  }

  @Test func `an object with an id is a fault, and several are read by one query`() async throws {
    let album = try await TemporaryStore(orderedModel)
    let ids = try await album.store.write { context in
      (0..<50).map { key in context.insert(Song.self) { $0.key = key }.id }
    }
    let context = album.store.makeContext()
    let fault = try context.object(with: ids[3])
    #expect(
      fault.isFault && context.statistics.queries == 0 && fault.key == 3 && context.statistics.queries == 1)
    #expect(try context.object(with: ids[3]) === fault)
    let wanted = [ids[7], ids[3], ids[7], ObjectID<Song>(rowID: 5_000), ids[49]]
    let found = try context.objects(with: wanted)
    #expect(found.map(\.key) == [7, 3, 7, 49] && found[1] === fault && context.statistics.queries == 2)
    let missing = try context.object(with: ObjectID<Song>(rowID: 5_000))
    #expect(throws: StoreError.self) { try missing.load() }
    #expect(throws: StoreError.self) { try context.object(with: ObjectID<Song>(rowID: 5_000)) }
    #expect(throws: StoreError.self) { try context.object(with: ObjectID<Song>(rowID: -3)) }
    #expect(throws: StoreError.self) { try context.object(with: ObjectID<Song>(rowID: 0)) }
    #expect(throws: StoreError.self) { try context.object(with: ann.id) }
    context.delete(fault)
    #expect(throws: StoreError.self) { try context.object(with: ids[3]) }
    #expect(try context.objects(with: wanted).map(\.key) == [7, 7, 49])
    let new = context.insert(Song.self) { $0.key = 100 }
    #expect(try context.object(with: new.id) === new && context.objects(with: [new.id]) == [new])
    #expect(try context.objects(with: [ObjectID<Song>]()).isEmpty)
    #expect(throws: StoreError.self) { try album.store.makeContext().object(with: new.id) }
    let former = new.id
    try context.save()
    #expect(try context.existing(former) === new && context.objects(with: [former]) == [new])
  }

  @Test func `ids of another entity of a hierarchy find nothing`() throws {
    let context = temporary.store.makeContext()
    let id = ObjectID<Tutor>(rowID: ann.id.rowID)
    #expect(throws: StoreError.self) { try context.object(with: id) }
    #expect(try context.objects(with: [id, bea.id]).map(\.name) == ["Bea"])
    #expect(try context.object(with: ObjectID<Pupil>(rowID: bea.id.rowID)) is Tutor)
  }
}
