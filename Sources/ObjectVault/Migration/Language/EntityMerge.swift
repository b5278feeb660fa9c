// The operation `merge entity Company into Contact with Company.title -> Contact.name`: the objects of one
// entity become objects of another.

/// `merge entity A into B [with A.x -> B.y, …]`: makes two entities one.
///
/// Each object of `A` becomes an object of `B`, with a new id above all ids issued for `B`. Only if both
/// entities share a table do the objects keep their ids. The values of a property go to the property that
/// the list pairs with it, else to the property of the same name. If `B` has neither, the values are
/// lost, and the plan lists the property. Afterwards, relationships to `A` refer to `B`, and subentities
/// of `A` inherit from `B`.
public struct EntityMerge: Sendable, Hashable {
  /// The entity that is merged away.
  public let source: String
  /// The entity that stays.
  public let destination: String
  /// The properties whose names differ in the destination.
  public let pairs: [PropertyPair]

  /// Creates a merge.
  /// - Parameters:
  ///   - source: The entity that is merged away.
  ///   - destination: The entity that stays.
  ///   - pairs: The properties whose names differ in the destination.
  public init(_ source: String, into destination: String, with pairs: [PropertyPair] = []) {
    (self.source, self.destination, self.pairs) = (source, destination, pairs)
  }
}

extension EntityMerge: CustomStringConvertible {
  /// The operation as a line of a migration file.
  public var description: String {
    let list = pairs.map { "\(source).\($0.name) -> \(destination).\($0.new)" }.joined(separator: ", ")
    return "merge entity \(source) into \(destination)" + (list.isEmpty ? "" : " with \(list)")
  }
}
