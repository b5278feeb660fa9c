// Finds the operations that change a table, among those of a segment: operations that are compiled together
// (see SegmentMapping). A table is changed by operations on its own entities, and by operations on the
// entities and relationships at the other ends of its references.

internal import CipherSQLite

extension MigrationCompiler {
  /// Returns the operations that change a table: those on its own entities, and those on the other ends
  /// of its references. All names are those at the end of the segment.
  func operations(on table: TableInfo) -> [MigrationOperation] {
    mapping.trail.operations(on: places(atOtherEndsOf: table), of: members(of: table))
  }

  /// Returns the other ends of the to-ones of an entity's table, or both ends of a join table. The result
  /// has the ends before the segment and those after it.
  private func places(atOtherEndsOf table: TableInfo) -> Set<PropertyPlace> {
    var places: Set<PropertyPlace> = []
    if let root = after.entity(named: table.name) {
      for entity in after.hierarchy(of: root) { places.formUnion(otherEnds(of: entity, in: after)) }
      guard let former = mapping.entities[root.name].flatMap({ before.entity(named: $0) }) else {
        return places
      }
      for entity in before.hierarchy(of: former) {
        places.formUnion(otherEnds(of: entity, in: before).map(final))
      }
      return places
    }
    if let join = after.joinTables.first(where: { $0.name == table.name }) {
      places.formUnion(ends(of: join, in: after))
    }
    if let former = joinOrigin(of: table.name)?.table,
      let join = before.joinTables.first(where: { $0.name == former })
    {
      places.formUnion(ends(of: join, in: before).map(final))
    }
    return places
  }

  /// Returns the root entities of the destinations of an entity's to-ones, and the inverses of these
  /// to-ones.
  private func otherEnds(of entity: EntityDescription, in model: Schema) -> [PropertyPlace] {
    entity.relationships.filter { $0.hasColumn }.flatMap { relationship in
      [PropertyPlace(entity: model.root(of: relationship.destination))]
        + (relationship.inverse.map { [PropertyPlace(entity: relationship.destination, property: $0)] } ?? [])
    }
  }

  private func ends(of join: JoinTable, in model: Schema) -> [PropertyPlace] {
    let inverse = model.entity(named: join.source)?.relationship(named: join.relationship)?.inverse
    return [
      PropertyPlace(entity: join.source), PropertyPlace(entity: join.target),
      PropertyPlace(entity: join.source, property: join.relationship),
    ] + (inverse.map { [PropertyPlace(entity: join.target, property: $0)] } ?? [])
  }

  /// Translates a place from before the segment to the names in the operation log. These are the names at
  /// the end of the segment. A dropped entity or property has the name that it had when it was dropped.
  private func final(_ place: PropertyPlace) -> PropertyPlace {
    let entity =
      mapping.entities.first { $0.value == place.entity }?.key
      ?? mapping.dropped.entities[place.entity] ?? place.entity
    guard let property = place.property else { return PropertyPlace(entity: entity) }
    if let dropped = mapping.dropped.properties[place.entity]?[property] {
      // The recorded name has the form `Team.users`; a later operation may have renamed the entity.
      return PropertyPlace(entity: entity, property: dropped.split(separator: ".").last.map(String.init))
    }
    let kept = mapping.formerNames(of: entity).first { $0.value == property }?.key
    return PropertyPlace(entity: entity, property: kept ?? property)
  }
}
