// The page of names that a property cannot have, compared with the code and with the compiler.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.documents, .slow, .pure)) struct NamePages {
  /// The rows of the page's tables: a name, and the proposed replacement.
  static func rows() throws -> [(name: String, free: String)] {
    try PackageFiles.text("Sources/ObjectVault/Documentation.docc/names.md")
      .matches(of: #/(?m)^\| `(\S+)` \| .+ \| `(\w+)` \|$/#).map { (String($0.1), String($0.2)) }
  }

  @Test func `the page lists the reserved names of objects, with the proposed replacements`() throws {
    let listed = try Self.rows().filter { SchemaFault.ownNames[$0.name] != nil }
    #expect(Dictionary(uniqueKeysWithValues: listed.map { ($0.name, $0.free) }) == SchemaFault.ownNames)
    #expect(listed.map(\.name) == listed.map(\.name).sorted())
  }

  @Test func `the other names of the page are refused, and all proposed ones are accepted`() throws {
    let rows = try Self.rows()
    #expect(rows.count == SchemaFault.ownNames.count + 5)
    for (name, free) in rows {
      let name = name.hasPrefix("…") ? "user" + name.dropFirst() : name.replacing("…", with: "version")
      func schema(_ property: String) -> Schema {
        let attribute = AttributeDescription(name: property, type: .int)
        return Schema(entities: [EntityDescription(name: "E", attributes: [attribute])])
      }
      #expect(throws: StoreError.self, "\(name)") { try schema(name).validate() }
      #expect(throws: Never.self, "\(free)") { try schema(free).validate() }
    }
  }

  /// The errors of the compiler for a class whose attributes have the given names.
  private func errors(_ names: [String]) async throws -> String {
    let attributes = names.map { "  @Attribute var \($0): Int" }.joined(separator: "\n")
    let source = "import ObjectVault\nfinal class Thing: ManagedObject {\n\(attributes)\n}\n"
    return try await ReaderProgram.check(["main.swift": source]).errors
  }

  @Test func `the compiler refuses the names of the page, and no other property of the base class`()
    async throws
  {
    let own = SchemaFault.ownNames.keys.sorted()
    let refused = try await errors(own)
    for name in own { #expect(refused.contains("'\(name)'"), "\(name): \(refused)") }
    let files = try ["", "+State", "+Names"].map {
      try PackageFiles.text("Sources/ObjectVault/Objects/ManagedObject\($0).swift")
    }
    let declared = files.joined().matches(of: #/public (?:package\(set\) )?(?:final )?var (\w+)/#).map {
      String($0.1)
    }
    #expect(Set(declared).isSubset(of: own) && declared.count > 4)
    let functions = [
      "load", "add", "remove", "hash", "willSave", "didSave", "validate", "snapshot", "apply", "failure",
      "set",
    ]
    let taken = try await errors(try Self.rows().map(\.free) + functions)
    #expect(taken.isEmpty, "\(taken)")
  }
}
