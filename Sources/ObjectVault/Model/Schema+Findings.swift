// What a schema says and may not mean: it is none of its faults, since it may be meant.

extension Schema {
  /// What the schema says and may not mean, a sentence each with the line to write; empty where there is nothing to ask.
  ///
  /// A to-many without an inverse has links of its own, and knows nothing of a to-one that leads back. Where both are two ends
  /// of one relationship, one of them has to name the other.
  ///
  /// ```swift
  /// let questions = schema.findings
  /// ```
  public var findings: [String] {
    unpairedMembers.map { members in
      "\(members.sentence), write in \(members.entity): \(members.swiftLine)"
    }
  }

  /// The to-manys without an inverse whose destination leads back by a to-one without one.
  package var unpairedMembers: [UnpairedMembers] {
    entities.flatMap { entity in
      entity.relationships.filter { $0.isToMany && $0.inverse == nil }.compactMap { relationship in
        let backs = self.entity(named: relationship.destination)?.relationships.filter {
          !$0.isToMany && $0.inverse == nil && $0.destination == entity.name
        }
        guard let backs, !backs.isEmpty else { return nil }
        return UnpairedMembers(
          entity: entity.name, relationship: relationship, backs: backs.map(\.name).sorted())
      }
    }
  }
}

/// A to-many that may be meant as the other end of a to-one.
package struct UnpairedMembers: Hashable {
  package let entity: String
  package let relationship: RelationshipDescription
  /// The to-ones that lead back.
  package let backs: [String]

  package var sentence: String {
    let places = backs.map { "\(relationship.destination).\($0)" }
    let (verb, condition) = places.count == 1 ? ("is", "it is") : ("are", "one is")
    return
      "\(entity).\(relationship.name) has links of its own, and \(places.joined(separator: ", ")) \(verb) no other end "
      + "of it; where \(condition) meant to be"
  }

  /// What a class declares.
  var swiftLine: String {
    let path = "\\\(relationship.destination).\(backs[0])"
    let type =
      relationship.isOrdered ? "[\(relationship.destination)]" : "Set<\(relationship.destination)>"
    return "@ToMany(inverse: \(path)\(Self.rule(relationship))) var \(relationship.name): \(type)"
  }

  /// What a step says of the relationship, behind `relationship` or `add relationship`.
  package var stepText: String {
    var paired = relationship
    paired.inverse = backs[0]
    return paired.text
  }

  private static func rule(_ relationship: RelationshipDescription) -> String {
    relationship.deleteRule == .nullify ? "" : ", onDelete: .\(relationship.deleteRule.rawValue)"
  }
}
