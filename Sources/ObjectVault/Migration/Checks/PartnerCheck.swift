// One-to-one: both ends have a column, and each says what the other says. Saving sees to that; SQL from outside need not.

internal import CipherSQLite

/// A property with its entity, such as `Author.passport`.
struct PropertyName: Equatable, CustomStringConvertible {
  let entity: String
  let name: String

  var description: String { "\(entity).\(name)" }
}

/// Rows of one end whose partners do not lead back to them.
struct PartnerFinding: Equatable, CustomStringConvertible {
  /// Such as `Author.passport`, and the other end, `Passport.owner`.
  let end: PropertyName
  let back: PropertyName
  let bad: Int
  let total: Int
  /// The ids of the first rows, those of the end that `property` belongs to.
  let rows: [Int64]

  var property: String { "\(end)" }

  var description: String {
    "\(bad) of \(counted(total, "value")) of \(end) \(bad == 1 ? "is" : "are") not returned by \(back): "
      + "row\(bad == 1 ? "" : "s") \(rows.map(String.init).joined(separator: ", "))"
      + (bad > rows.count ? " and more" : "")
  }
}

struct PartnerCheck {
  let model: Schema

  /// What one end says and the other does not, of both ends of each one-to-one. References that lead nowhere are
  /// ReferenceCheck's.
  func findings(_ connection: Connection) throws -> [PartnerFinding] {
    try model.entities.flatMap { entity in
      try entity.relationships.compactMap { try finding($0, of: entity, connection) }
    }
  }

  /// The ends of one-to-ones.
  var properties: Set<String> {
    Set(
      model.entities.flatMap { entity in
        entity.relationships.filter { model.isOneToOne(entity.name, $0.name) }.map {
          "\(entity.name).\($0.name)"
        }
      })
  }

  private func finding(
    _ relationship: RelationshipDescription, of entity: EntityDescription, _ connection: Connection
  ) throws -> PartnerFinding? {
    guard let inverse = relationship.inverse, model.isOneToOne(entity.name, relationship.name) else {
      return nil
    }
    let column = SQLName(relationship.columnName)
    let back = SQLName(RelationshipDescription.columnName(inverse))
    let (table, other) = (
      SQLName(model.root(of: entity.name)), SQLName(model.root(of: relationship.destination))
    )
    let pairs: SQL = "FROM \(table) o JOIN \(other) p ON p.\"id\" = o.\(column)"
    let counts = try connection.rows("SELECT count(*), total(p.\(back) IS NOT o.\"id\") \(pairs)").first
    guard let bad = counts?.last?.int64, bad > 0 else { return nil }
    let rows = try connection.query(
      "SELECT o.\"id\" \(pairs) WHERE p.\(back) IS NOT o.\"id\" ORDER BY 1 LIMIT 5"
    ) { $0.int64(0) }
    return PartnerFinding(
      end: PropertyName(entity: entity.name, name: relationship.name),
      back: PropertyName(entity: relationship.destination, name: inverse),
      bad: Int(bad), total: Int(counts?.first?.int64 ?? 0), rows: rows)
  }
}

extension Schema {
  /// Whether a property is a to-one whose other end is one, too: who leads to an object is led to by it, and by nobody else.
  func isOneToOne(_ entity: String, _ name: String) -> Bool {
    guard let relationship = self.entity(named: entity)?.relationship(named: name), !relationship.isToMany,
      let inverse = relationship.inverse
    else { return false }
    return self.entity(named: relationship.destination)?.relationship(named: inverse)?.isToMany == false
  }
}
