// Questions about a schema: declarations that are valid, but perhaps not intended.

extension Schema {
  /// Declarations that may not be intended, each as a sentence with the line to write instead; empty when
  /// there are none.
  ///
  /// A to-many without an inverse has its own links, independent of any to-one from its destination back
  /// to its entity. If both are meant as two ends of one relationship, one of them must name the other.
  ///
  /// ```swift
  /// let questions = schema.findings
  /// ```
  public var findings: [String] {
    unpairedMembers.map { members in
      "\(members.sentence), write in \(members.entity): \(members.swiftLine)"
    }
  }

  /// The to-many relationships without an inverse whose destination has a to-one to the entity, also
  /// without an inverse.
  package var unpairedMembers: [UnpairedMembers] {
    entities.flatMap { entity in
      entity.relationships.filter { $0.isToMany && $0.inverse == nil }.compactMap { relationship in
        let candidateInverses = self.entity(named: relationship.destination)?.relationships.filter {
          !$0.isToMany && $0.inverse == nil && $0.destination == entity.name
        }
        guard let candidateInverses, !candidateInverses.isEmpty else { return nil }
        return UnpairedMembers(
          entity: entity.name, relationship: relationship,
          candidateInverses: candidateInverses.map(\.name).sorted())
      }
    }
  }
}

/// A to-many that may be meant as the inverse of a to-one.
package struct UnpairedMembers: Hashable {
  package let entity: String
  package let relationship: RelationshipDescription
  /// The names of the to-ones to the entity, sorted.
  package let candidateInverses: [String]

  package var sentence: String {
    let places = candidateInverses.map { "\(relationship.destination).\($0)" }
    let (verb, condition) = places.count == 1 ? ("is", "it") : ("are", "one of them")
    return
      "\(entity).\(relationship.name) has links of its own, because \(places.joined(separator: ", ")) "
      + "\(verb) not its inverse; if \(condition) should be"
  }

  /// The declaration to write in the Swift class.
  var swiftLine: String {
    let path = "\\\(relationship.destination).\(candidateInverses[0])"
    let type =
      relationship.isOrdered ? "[\(relationship.destination)]" : "Set<\(relationship.destination)>"
    return "@ToMany(inverse: \(path)\(Self.rule(relationship))) var \(relationship.name): \(type)"
  }

  /// The declaration to write in a step, after `relationship` or `add relationship`.
  package var stepText: String {
    var paired = relationship
    paired.inverse = candidateInverses[0]
    return paired.text
  }

  private static func rule(_ relationship: RelationshipDescription) -> String {
    relationship.deleteRule == .nullify ? "" : ", onDelete: .\(relationship.deleteRule.rawValue)"
  }
}
