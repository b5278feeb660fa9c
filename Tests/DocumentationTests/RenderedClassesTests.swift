// The classes that `schema --format swift` prints: they compile, and their schema equals the model.

import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite(.tags(.documents, .pure, .slow)) struct RenderedClasses {
  /// A model with every peculiarity: Swift keywords, names of Swift types, each type with a default, each
  /// kind of relationship.
  static let schema = Schema(
    entities: [
      EntityDescription(
        name: "class",
        attributes: AttributeType.allCases.map { type in
          AttributeDescription(
            name: "\(type.rawValue)Value", type: type, isOptional: type == .int8, isUnique: type == .string,
            isIndexed: type == .date, defaultValue: defaults[type])
        } + [
          AttributeDescription(
            name: "in", type: .string, isOptional: true, defaultValue: .text("a \"b\"\\\n\u{1F600}\u{7}")),
          AttributeDescription(name: "größe", type: .double, defaultValue: .real(1e-300)),
          AttributeDescription(name: "init", type: .bool),
        ],
        relationships: [
          RelationshipDescription(
            name: "default", destination: "Set", isToMany: true, inverse: "self_", deleteRule: .cascade),
          RelationshipDescription(name: "tags", destination: "Data", isToMany: true, inverse: "owners"),
          RelationshipDescription(name: "other", destination: "Data", isToMany: true),
          RelationshipDescription(name: "kind", destination: "class", inverse: "back"),
          RelationshipDescription(name: "back", destination: "class", inverse: "kind", deleteRule: .deny),
        ],
        indexes: [
          IndexDescription(properties: ["in", "init"], isUnique: true),
          IndexDescription(properties: ["größe", "back"]),
          IndexDescription(properties: ["stringValue"]),
        ]),
      EntityDescription(
        name: "Set",
        attributes: [AttributeDescription(name: "bytes", type: .data, isOptional: true)],
        relationships: [
          RelationshipDescription(
            name: "self_", destination: "class", isRequired: true, inverse: "default")
        ], indexes: [IndexDescription(properties: ["self_"], isUnique: true)]),
      EntityDescription(
        name: "Data",
        relationships: [
          RelationshipDescription(name: "owners", destination: "class", isToMany: true, inverse: "tags"),
          RelationshipDescription(name: "parent", destination: "Data", inverse: "children"),
          RelationshipDescription(name: "children", destination: "Data", isToMany: true, inverse: "parent"),
        ]),
      // Words with another meaning after a dot, where a key path names them.
      EntityDescription(
        name: "Word",
        attributes: [
          AttributeDescription(name: "Type", type: .string),
          AttributeDescription(name: "Protocol", type: .int),
          AttributeDescription(name: "self_", type: .int),
          AttributeDescription(name: "extension", type: .int),
        ],
        relationships: [
          RelationshipDescription(name: "words", destination: "Kind", isToMany: true, inverse: "Type"),
          RelationshipDescription(name: "others", destination: "Kind", isToMany: true, inverse: "Protocol"),
        ],
        indexes: [
          IndexDescription(properties: ["Type", "Protocol"], isUnique: true),
          IndexDescription(properties: ["extension", "Type"]),
        ]),
      EntityDescription(
        name: "Kind",
        relationships: [
          RelationshipDescription(name: "Type", destination: "Word", inverse: "words"),
          RelationshipDescription(name: "Protocol", destination: "Word", isToMany: true, inverse: "others"),
        ]),
      EntityDescription(name: "Entity", attributes: [AttributeDescription(name: "text", type: .string)]),
      EntityDescription(name: "Attribute"), EntityDescription(name: "model"),
      EntityDescription(name: "AnyJSON"), EntityDescription(name: "RawObject"),
    ],
    rawObjects: [
      .view("Odd", sql: "SELECT '\\(x)', \"a\"\nFROM $class"),
      .index("kinds", unique: true, sql: "ON $class (lower($class.in)) WHERE $class.init"),
      .trigger("stays", sql: "BEFORE DELETE ON $Data BEGIN SELECT RAISE(ABORT, 'it stays'); END"),
    ])

  private static let defaults: [AttributeType: DefaultValue] = [
    .bool: .integer(1), .int: .integer(.min), .int8: .integer(-128), .int16: .integer(1), .int32: .integer(1),
    .uint8: .integer(255), .uint16: .integer(1), .uint32: .integer(4_294_967_295), .float: .real(0.1),
    .double: .real(-0.1), .decimal: .text("12345678901234567890.5"), .string: .text(""),
    .url: .text("https://example.com/a?b=c"), .json: .text("{\"a\":[1,2.5,null,\"x\"]}"),
  ]

  static var program: String {
    schema.rendered(as: .swift).text + "\nprint(model2.meaningHash, model2.faults.count)\n"
  }

  @Test func `the classes of any model compile, and their schema equals the model`() async throws {
    try Self.schema.validate()
    #expect(Self.schema.rendered(as: .swift).notes == [])
    let program = try await ReaderProgram(Self.program, name: "rendered")
    let said = program.build.output + program.build.errors
    try #require(program.build.status == 0, "\(said)\n\(Self.program)")
    #expect(!said.contains("rendered/main.swift"), "\(said)")
    #expect(try program.run().output == "\(Self.schema.meaningHash) 0\n")
  }
}
