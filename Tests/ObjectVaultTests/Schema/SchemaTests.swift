// Schemas declared with classes: their descriptions, their faults, and their JSON.

import CipherSQLite
import Foundation
import ObjectVault
import Testing

private final class Left: ManagedObject {
  @Attribute var id_: String
  @Attribute var name: String
  @ToMany(inverse: \Right.other) var rights: Set<Right>
  @ToOne var nowhere: Lost?
}
private final class Right: ManagedObject {
  @ToOne var left: Left?
  @ToOne var other: Right?
}
private final class Eager: ManagedObject {
  @Attribute var code: UUID
  @Attribute var name = ""
  required init() {
    super.init()
    code = UUID()
  }
}
private final class Curious: ManagedObject {
  @ToOne var other: Eager?
  @ToMany var others: Set<Eager>
  required init() {
    super.init()
    if other == nil, others.isEmpty, Eager().name.isEmpty { return }
  }
}
private final class Lost: ManagedObject { @Attribute var x: Int }
private class Parent: ManagedObject { @Attribute var x: Int }
private final class Child: Parent { @Attribute var y: Int }

@Suite(.tags(.pure)) struct SchemaDSL {
  @Test func `a schema describes names, types, options and relationships of its classes`() throws {
    try library.validate()
    let author = try #require(library.entity(named: "Author"))
    #expect(author.attributes.map(\.name) == ["name", "nick", "age"])
    #expect(author.attribute(named: "name")?.isUnique == true)
    #expect(author.attribute(named: "nick")?.isOptional == true)
    #expect(author.attribute(named: "age")?.defaultValue == .integer(30))
    #expect(author.relationship(named: "books")?.inverse == "author")
    #expect(author.relationship(named: "books")?.deleteRule == .cascade)
    #expect(author.indexes == [IndexDescription(properties: ["nick", "age"], isUnique: true)])
    let book = try #require(library.entity(named: "Book"))
    #expect(book.relationship(named: "author")?.inverse == "books")
    #expect(book.indexes == [IndexDescription(properties: ["title", "author"])])
    let sample = try #require(library.entity(named: "Sample"))
    #expect(sample.attribute(named: "mood")?.type == .string)
    #expect(sample.attribute(named: "shelf")?.type == .int)
    #expect(sample.attribute(named: "address")?.type == .json)
    #expect(Set(sample.attributes.map(\.type)) == Set(AttributeType.allCases))
  }

  @Test func `all faults of a schema are listed at once, with entity and property`() {
    let schema = Schema {
      Entity(Left.self).check(\.rights, .notBlank)
      Entity(Right.self)
      Entity(Right.self)
      Entity(Child.self)
    }
    #expect {
      try schema.validate()
    } throws: { error in
      guard case StoreError.invalidSchema(let faults) = error else { return false }
      return Set(faults).isSuperset(of: [
        .unknownDestination(entity: "Left", relationship: "nowhere", destination: "Lost"),
        .wrongInverse(entity: "Left", relationship: "rights", inverse: "other"),
        .unknownProperty(entity: "Left", property: "rights", use: "a check"),
        .duplicateName(entity: "Right", property: nil), .unknownParent(entity: "Child", parent: "Parent"),
      ])
    }
  }

  @Test func `an initializer that uses a property is a fault that names the class`() {
    let schema = Schema {
      Entity(Eager.self).index(\.name)
      Entity(Curious.self)
    }
    #expect {
      try schema.validate()
    } throws: { error in
      guard case StoreError.invalidSchema(let faults) = error else { return false }
      return Set(faults).isSuperset(of: [.busyInitializer(entity: "Eager", property: "code")])
        && faults.contains {
          if case .busyInitializer(entity: "Curious", _) = $0 { true } else { false }
        } && "\(error)".contains("Eager.code") && "\(error)".contains("default")
    }
  }

  @Test func `an index without properties is a fault`() {
    let schema = Schema { Entity(Lost.self).index() }
    #expect(throws: StoreError.invalidSchema([.emptyIndex(entity: "Lost")])) { try schema.validate() }
    #expect(throws: StoreError.invalidSchema([.emptyIndex(entity: "Lost")])) {
      try Schema { Entity(Lost.self).unique() }.validate()
    }
    let entity = EntityDescription(name: "E", indexes: [IndexDescription(properties: [])])
    #expect(throws: StoreError.invalidSchema([.emptyIndex(entity: "E")])) {
      try Schema(entities: [entity]).validate()
    }
  }

  @Test(arguments: ["vault_x", "sqlite_x", "1x", "x y", "x\"y", ""])
  func `reserved names and invalid identifiers are refused as entity names`(_ name: String) {
    let schema = Schema(entities: [EntityDescription(name: name)])
    #expect(throws: StoreError.invalidSchema([.reservedName(entity: name, property: nil, free: nil)])) {
      try schema.validate()
    }
  }

  @Test(arguments: [
    ("id", "idValue"), ("ID", "IDValue"), ("_version", "version"), ("user_id", "userID"),
    ("rowid", "rowidValue"),
    ("a.b", "ab"), ("1x", "value1x"), ("", "value"), ("état", nil), ("objectState", "status"),
    ("isDeleted", "isRemoved"),
  ])
  func `an invalid property name is refused, and the error suggests a valid one`(
    _ name: String, _ free: String?
  )
    throws
  {
    func schema(_ names: [String]) -> Schema {
      let attributes = names.map { AttributeDescription(name: $0, type: .int) }
      return Schema(entities: [EntityDescription(name: "E", attributes: attributes)])
    }
    guard let free else { return try schema([name]).validate() }
    let fault = SchemaFault.reservedName(entity: "E", property: name, free: free)
    #expect(throws: StoreError.invalidSchema([fault])) { try schema([name]).validate() }
    #expect("\(fault)".hasSuffix("Rename the property, for example to \(free)."))
    try schema([free]).validate()
    // If the suggested name is taken, the error suggests another one.
    #expect {
      try schema([name, free]).validate()
    } throws: { error in
      guard case StoreError.invalidSchema(let faults) = error,
        case .reservedName(_, name, let other?) = faults.first, faults.count == 1
      else { return false }
      return other != free && (try? schema([other, free]).validate()) != nil
    }
  }

  @Test func `property names that differ only in case are refused`() {
    let attributes = ["name", "Name"].map { AttributeDescription(name: $0, type: .int) }
    #expect(throws: StoreError.invalidSchema([.duplicateName(entity: "E", property: "Name")])) {
      try Schema(entities: [EntityDescription(name: "E", attributes: attributes)]).validate()
    }
  }

  @Test func `a schema survives a JSON round trip, and its hash does not depend on the order`() throws {
    let back = try Schema(json: library.json)
    #expect(back == library)
    #expect(back.meaningHash == library.meaningHash)
    var shuffled = back.entities
    for index in shuffled.indices {
      shuffled[index].attributes.reverse()
      shuffled[index].relationships.reverse()
    }
    #expect(Schema(entities: shuffled.reversed()).meaningHash == library.meaningHash)
    shuffled[0].attributes[0].isOptional.toggle()
    #expect(Schema(entities: shuffled).meaningHash != library.meaningHash)
  }

  @Test func `invalid JSON throws an error`() {
    for text in ["", "{}", "[]", "{\"entities\": 3}", "{\"entities\": [{\"name\": 1}]}"] {
      #expect(throws: (any Error).self) { try Schema(json: text) }
    }
  }
}
