// `merge entity Company into Contact with Company.title -> Contact.name`: the objects of one entity become objects of another.

/// `merge entity A into B [with A.x -> B.y, …]`: two entities become one.
///
/// Each object of the first gets an id of the second, above all that were given out there; where both share a table, it
/// keeps its own. Its properties become those of the same name, or those that the list names; what has no place there is lost,
/// and named. Whoever leads to the first entity leads to the second from then on, and what inherits from the first inherits
/// from the second.
public struct EntityMerge: Sendable, Hashable {
  /// The entity that goes.
  public let source: String
  /// The entity that stays.
  public let destination: String
  /// The properties that have another name there.
  public let pairs: [PropertyPair]

  /// A merge.
  public init(_ source: String, into destination: String, with pairs: [PropertyPair] = []) {
    (self.source, self.destination, self.pairs) = (source, destination, pairs)
  }
}

extension EntityMerge: CustomStringConvertible {
  /// The line of a migration file.
  public var description: String {
    let list = pairs.map { "\(source).\($0.name) -> \(destination).\($0.new)" }.joined(separator: ", ")
    return "merge entity \(source) into \(destination)" + (list.isEmpty ? "" : " with \(list)")
  }
}
