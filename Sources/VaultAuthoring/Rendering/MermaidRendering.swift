// A model as an erDiagram of Mermaid: a box for each entity, a line for each relationship and its inverse.

internal import ObjectVault

struct MermaidRendering {
  private let schema: Schema

  init(_ schema: Schema) { self.schema = schema }

  var text: String {
    (["erDiagram"] + schema.entities.flatMap(box) + schema.entities.flatMap(lines)).joined(separator: "\n")
      + "\n"
  }

  // MARK: Entities

  private func box(_ entity: EntityDescription) -> [String] {
    let attributes = entity.attributes.map { attribute in
      let remarks =
        (attribute.isOptional ? ["optional"] : []) + (attribute.isIndexed ? ["indexed"] : [])
        + (attribute.defaultValue.map { ["default \(Self.plain($0.text))"] } ?? [])
      return "        \(attribute.type.rawValue) \(attribute.name)" + (attribute.isUnique ? " UK" : "")
        + (remarks.isEmpty ? "" : " \"\(remarks.joined(separator: ", "))\"")
    }
    let name = Self.quoted(entity.name)
    return attributes.isEmpty ? ["    \(name)"] : ["    \(name) {"] + attributes + ["    }"]
  }

  /// A text that may stand in quotes, which have no escapes there.
  private static func plain(_ text: String) -> String {
    String(text.unicodeScalars.map { $0 == "\"" ? "'" : $0 == "\n" || $0 == "\r" ? " " : Character($0) })
  }

  private static func quoted(_ name: String) -> String {
    let isPlain = name.utf8.allSatisfy { $0 < 128 } && !words.contains(name.lowercased())
    return isPlain ? name : "\"\(name)\""
  }

  /// Words that mean something to the parser of diagrams.
  private static let words: Set<String> = [
    "class", "classdef", "direction", "erdiagram", "many", "one", "only", "optionally", "style", "subgraph",
    "title",
    "to", "u", "zero", "end", "o",
  ]

  // MARK: Relationships

  private func lines(_ entity: EntityDescription) -> [String] {
    // A diagram of this kind knows no inheritance: each is at most one of its parent.
    let parent = entity.parent.map {
      "    \(Self.quoted($0)) ||--o| \(Self.quoted(entity.name)) : \"is a\""
    }
    return (parent.map { [$0] } ?? [])
      + entity.relationships.compactMap { relationship in
        let inverse = relationship.inverse.flatMap {
          schema.entity(named: relationship.destination)?.relationship(named: $0)
        }
        // Of two ends the one draws the line whose name comes first.
        if let inverse, (relationship.destination, inverse.name) < (entity.name, relationship.name) {
          return nil
        }
        let label = Self.label(relationship) + (inverse.map { " / \(Self.label($0))" } ?? "")
        return "    \(Self.quoted(entity.name)) \(ends(relationship, inverse)) "
          + "\(Self.quoted(relationship.destination)) : \"\(label)\""
      }
  }

  private static func label(_ relationship: RelationshipDescription) -> String {
    relationship.name + (relationship.isOrdered ? " (ordered)" : "")
  }

  /// The feet of a line: how many objects of this entity one of the other end has, and the reverse.
  private func ends(_ relationship: RelationshipDescription, _ inverse: RelationshipDescription?) -> String {
    // Without an inverse nothing limits how many objects refer to one.
    let here =
      inverse.map { $0.isToMany ? "}o" : $0.isRequired ? "||" : "|o" } ?? "}o"
    let there = relationship.isToMany ? "o{" : relationship.isRequired ? "||" : "o|"
    return "\(here)--\(there)"
  }
}
