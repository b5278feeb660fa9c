// Random operations that replace several others, or contain SQL, for properties that hold for any of them.

public import ObjectVault

/// Generates lines of a step for a schema. They need not fit it: a step may be refused, and then changes
/// nothing.
public enum RandomOperations {
  /// The lines of one kind, which depends on the turn.
  public static func lines(
    _ schema: Schema, _ turn: Int, _ random: inout some RandomNumberGenerator
  ) -> [String] {
    guard let entity = schema.entities.randomElement(using: &random),
      let other = schema.entities.randomElement(using: &random),
      let attribute = entity.attributes.randomElement(using: &random)
    else { return [] }
    let (name, own) = (entity.name, attribute.name)
    switch turn % 7 {
    case 0: return ["merge entity \(name) into \(other.name)"]
    case 1:
      return [
        "create entity Home {\n relationship owner -> \(name) inverse \(name).home\n}",
        "add relationship \(name).home -> Home inverse Home.owner on delete cascade",
        "move attribute \(name).\(own) -> Home.\(own) by \(name).home",
      ]
    case 2:
      let toOnes = entity.relationships.filter { !$0.isToMany }
      guard let way = toOnes.randomElement(using: &random) else { return [] }
      return ["move attribute \(name).\(own) -> \(way.destination).\(own)z by \(name).\(way.name)"]
    case 3:
      guard let links = entity.relationships.filter(\.isToMany).randomElement(using: &random) else {
        return []
      }
      return ["make relationship \(name).\(links.name) an entity Link (who, whom)"]
    case 4:
      return [
        "create raw view Everyone { SELECT $\(name).id, $\(name).\(own) FROM $\(name) }",
        "create raw index someIndex { ON $\(name) ($\(name).\(own)) WHERE $\(name).\(own) IS NOT NULL }",
        "create raw trigger someTrigger { AFTER DELETE ON $\(name) BEGIN DELETE FROM $\(name) WHERE $\(name).id = -1; END }",
        Bool.random(using: &random)
          ? "rename attribute \(name).\(own) -> renamed" : "rename entity \(name) -> Renamed",
      ]
    case 5:
      let type = AttributeType.allCases.randomElement(using: &random) ?? .string
      return ["retype \(name).\(own) to \(type.rawValue)"]
    default:
      return [
        "create entity Member {\n relationship one -> \(name) required\n relationship two -> \(other.name) required\n}",
        "make entity Member a relationship \(name).members -> \(other.name) inverse \(other.name).memberOf",
      ]
    }
  }
}
