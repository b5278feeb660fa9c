// Entities with parents in a model: what they inherit, and which models are invalid.

import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.pure)) struct Hierarchies {
  private func number(_ name: String, isOptional: Bool = true) -> AttributeDescription {
    AttributeDescription(name: name, type: .int, isOptional: isOptional)
  }

  private func faults(_ entities: [EntityDescription]) -> [SchemaFault] {
    do { try Schema(entities: entities).validate() } catch StoreError.invalidSchema(let faults) {
      return faults
    } catch {}
    return []
  }

  private let tall = Schema(entities: [
    EntityDescription(
      name: "Manager", parent: "Employee", attributes: [AttributeDescription(name: "level", type: .int)]),
    EntityDescription(name: "Person", attributes: [AttributeDescription(name: "name", type: .string)]),
    EntityDescription(
      name: "Employee", parent: "Person", attributes: [AttributeDescription(name: "salary", type: .int)],
      relationships: [RelationshipDescription(name: "boss", destination: "Manager")],
      indexes: [IndexDescription(properties: ["name", "salary"])]),
    EntityDescription(name: "Alone", attributes: [AttributeDescription(name: "name", type: .string)]),
    EntityDescription(name: "Guest", parent: "Person"),
  ])

  @Test func `an entity inherits the properties of its ancestors, the root's first`() throws {
    try tall.validate()
    let manager = try #require(tall.flattenedEntity(named: "Manager"))
    #expect(manager.attributes.map(\.name) == ["name", "salary", "level"])
    #expect(manager.relationships.map(\.name) == ["boss"])
    #expect(manager.indexes == [IndexDescription(properties: ["name", "salary"])])
    #expect(manager.parent == "Employee")
    #expect(tall.flattened(manager) == manager)
    let own = try #require(tall.entity(named: "Manager"))
    #expect(own.attributes.map(\.name) == ["level"])
    #expect(tall.declarer(of: "salary", in: manager)?.name == "Employee")
    #expect(tall.declarer(of: "level", in: own)?.name == "Manager")
    #expect(tall.declarer(of: "none", in: own) == nil)
  }

  @Test func `a hierarchy consists of a root entity and all its descendants`() throws {
    let (person, employee) = (
      try #require(tall.entity(named: "Person")), try #require(tall.entity(named: "Employee"))
    )
    #expect(tall.ancestors(of: try #require(tall.entity(named: "Manager"))) == [person, employee])
    #expect(tall.root(of: "Manager") == "Person")
    #expect(tall.root(of: "Alone") == "Alone")
    #expect(tall.descendants(of: person).map(\.name) == ["Employee", "Guest", "Manager"])
    #expect(tall.children(of: person).map(\.name) == ["Employee", "Guest"])
    #expect(tall.hierarchy(of: employee).map(\.name) == ["Person", "Employee", "Guest", "Manager"])
    #expect(tall.isInHierarchy(person) && tall.isInHierarchy(employee))
    #expect(!tall.isInHierarchy(try #require(tall.entity(named: "Alone"))))
    #expect(tall.parentsFirst.map(\.name) == ["Alone", "Person", "Employee", "Guest", "Manager"])
  }

  @Test func `the JSON and the hash of a model include the parent of an entity only if it has one`() throws {
    #expect(try Schema(json: tall.json) == tall)
    #expect(tall.json.contains("\"parent\" : \"Employee\""))
    var entities = tall.entities
    for index in entities.indices where entities[index].name == "Guest" { entities[index].parent = nil }
    let other = Schema(entities: entities)
    #expect(other != tall)
    #expect(other.meaningHash != tall.meaningHash)
    // The JSON of models without parents stays as it always was.
    let plain = Schema(entities: [EntityDescription(name: "E", attributes: [number("a")])])
    #expect(
      plain.json == """
        {
          "entities" : [
            {
              "attributes" : [
                {
                  "isIndexed" : false,
                  "isOptional" : true,
                  "isUnique" : false,
                  "name" : "a",
                  "type" : "int"
                }
              ],
              "indexes" : [

              ],
              "name" : "E",
              "relationships" : [

              ]
            }
          ]
        }
        """)
  }

  @Test func `an unknown parent and circular parents are faults`() {
    #expect(
      faults([EntityDescription(name: "A", parent: "B")]) == [.unknownParent(entity: "A", parent: "B")])
    #expect(faults([EntityDescription(name: "A", parent: "A")]) == [.circularParents(entity: "A")])
    #expect(
      faults([
        EntityDescription(name: "A", parent: "C"), EntityDescription(name: "B", parent: "A"),
        EntityDescription(name: "C", parent: "B"), EntityDescription(name: "D", parent: "A"),
      ]) == ["A", "B", "C"].map { .circularParents(entity: $0) })
  }

  @Test func `a property name is unique in a hierarchy, among ancestors, descendants and siblings`() {
    let root = EntityDescription(name: "P", attributes: [number("a")])
    #expect(
      faults([root, EntityDescription(name: "Q", parent: "P", attributes: [number("A")])])
        == [.hierarchyName(entity: "Q", property: "A", other: "P")])
    #expect(
      faults([
        root, EntityDescription(name: "Q", parent: "P", attributes: [number("b")]),
        EntityDescription(
          name: "R", parent: "P", relationships: [RelationshipDescription(name: "B", destination: "P")]),
      ]) == [.hierarchyName(entity: "R", property: "B", other: "Q")])
    // Another hierarchy may use the name again.
    #expect(
      faults([
        root, EntityDescription(name: "Q", parent: "P", attributes: [number("b")]),
        EntityDescription(name: "S", attributes: [number("a"), number("b")]),
      ]).isEmpty)
  }

  @Test func `an index of an entity with a parent must include a property of its own`() {
    let root = EntityDescription(name: "P", attributes: [number("a"), number("c")])
    func child(_ names: [String]) -> EntityDescription {
      EntityDescription(
        name: "Q", parent: "P", attributes: [number("b")],
        indexes: [IndexDescription(properties: names, isUnique: true)])
    }
    #expect(faults([root, child(["a", "b"])]).isEmpty)
    #expect(
      faults([root, child(["a", "c"])]) == [.inheritedIndex(entity: "Q", properties: ["a", "c"])])
    #expect(
      faults([root, child(["b", "d"])]) == [.unknownProperty(entity: "Q", property: "d", use: "an index")])
  }

  @Test func `all entities of one table together have at most 512 properties`() {
    let many = (0..<300).map { number("a\($0)") }
    let more = (0..<300).map { number("b\($0)") }
    #expect(
      faults([
        EntityDescription(name: "P", attributes: many),
        EntityDescription(name: "Q", parent: "P", attributes: more),
      ]) == [.tooManyProperties(entity: "P", count: 600)])
  }

  @Test func `the inverse of an inherited relationship must refer to the declaring entity`() {
    let tags = RelationshipDescription(name: "tags", destination: "T", isToMany: true, inverse: "owners")
    func tag(_ destination: String) -> EntityDescription {
      EntityDescription(
        name: "T",
        relationships: [
          RelationshipDescription(
            name: "owners", destination: destination, isToMany: true, inverse: "tags")
        ])
    }
    let (root, child) = (
      EntityDescription(name: "P", relationships: [tags]), EntityDescription(name: "Q", parent: "P")
    )
    #expect(faults([root, child, tag("P")]).isEmpty)
    #expect(
      faults([root, child, tag("Q")]) == [
        .wrongInverse(entity: "P", relationship: "tags", inverse: "owners"),
        .inheritedInverse(
          entity: "T", relationship: "owners", destination: "Q", inverse: "tags", owner: "P"),
      ])
  }
}
