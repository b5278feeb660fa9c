// Renders a model as an erDiagram of Mermaid: a box for each entity, a line for each relationship and
// its inverse.

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
        + (attribute.isLazy ? ["lazy"] : [])
        + (attribute.defaultValue.map { ["default \(Self.plain($0.text))"] } ?? [])
      return "        \(attribute.type.rawValue) \(attribute.name)" + (attribute.isUnique ? " UK" : "")
        + (remarks.isEmpty ? "" : " \"\(remarks.joined(separator: ", "))\"")
    }
    let name = Self.quoted(entity.name)
    return attributes.isEmpty ? ["    \(name)"] : ["    \(name) {"] + attributes + ["    }"]
  }

  /// A text for use in quotes, where Mermaid has no escapes.
  private static func plain(_ text: String) -> String {
    String(text.unicodeScalars.map { $0 == "\"" ? "'" : $0 == "\n" || $0 == "\r" ? " " : Character($0) })
  }

  private static func quoted(_ name: String) -> String {
    let isPlain = name.utf8.allSatisfy { $0 < 128 } && !words.contains(name.lowercased())
    return isPlain ? name : "\"\(name)\""
  }

  /// Words with a meaning in Mermaid's parser.
  private static let words: Set<String> = [
    "class", "classdef", "direction", "erdiagram", "many", "one", "only", "optionally", "style", "subgraph",
    "title",
    "to", "u", "zero", "end", "o",
  ]

  // MARK: Relationships

  private func lines(_ entity: EntityDescription) -> [String] {
    // Entity diagrams have no inheritance. A line "is a" from the parent to the subentity stands for it:
    // each object of the parent is zero or one object of the subentity.
    let parent = entity.parent.map {
      "    \(Self.quoted($0)) ||--o| \(Self.quoted(entity.name)) : \"is a\""
    }
    return (parent.map { [$0] } ?? [])
      + entity.relationships.compactMap { relationship in
        let inverse = relationship.inverse.flatMap {
          schema.entity(named: relationship.destination)?.relationship(named: $0)
        }
        // One line for both ends, drawn by the end whose name comes first.
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

  /// The symbols at both ends of a line: how many objects of this entity one object at the other end has,
  /// and the reverse.
  private func ends(_ relationship: RelationshipDescription, _ inverse: RelationshipDescription?) -> String {
    // Without an inverse, any number of objects may reference one.
    let here =
      inverse.map { $0.isToMany ? "}o" : $0.isRequired ? "||" : "|o" } ?? "}o"
    let there = relationship.isToMany ? "o{" : relationship.isRequired ? "||" : "o|"
    return "\(here)--\(there)"
  }
}
