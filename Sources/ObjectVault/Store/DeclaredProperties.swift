// Checks what a `transform swift` function reads and writes against what its step declares.

/// The properties that a function may read and write, and those that it read without a declaration.
final class DeclaredProperties {
  private let access: TransformAccess
  private let mapping: SchemaMapping
  /// Properties that were read without a declaration, with the first row of each.
  private var undeclared: [(place: TransformAccess.Place, row: Int64)] = []
  private var asked: Set<TransformAccess.Place> = []

  init(_ access: TransformAccess, _ mapping: SchemaMapping) {
    (self.access, self.mapping) = (access, mapping)
  }

  /// Called with each property that is read by its name; nil if the step does not declare what it reads.
  var reads: ((_ entity: String, _ property: String, _ row: Int64) -> Void)? {
    guard access.reads != nil else { return nil }
    return { [self] entity, property, row in
      // A new object of the function itself has no stored values to read.
      guard row > 0 else { return }
      let place = TransformAccess.Place(entity: entity, property: property)
      guard asked.insert(place).inserted, !covers(.reads, of: entity, property: property) else { return }
      undeclared.append((place, row))
    }
  }

  /// Checks the reads so far.
  /// - Parameter place: The object that the function was called with.
  /// - Throws: ``TransformFailure`` for reads that are not declared.
  func checkReads(at place: String) throws(TransformFailure) {
    guard !undeclared.isEmpty else { return }
    throw TransformFailure(
      "\(place): "
        + access.refusal(
          undeclared.map { "read \($0.place) of row \($0.row)" }, undeclared.map { (.reads, $0.place) }))
  }

  /// Checks changes.
  /// - Throws: ``TransformFailure`` for writes that are not declared.
  func check(_ changes: ChangeSet) throws(TransformFailure) {
    guard access.writes != nil else { return }
    for row in changes.inserted {
      try require(row.entity, property: nil, deed: "inserted \(row.entity) \(row.rowID)")
    }
    for row in changes.deleted {
      try require(row.entity, property: nil, deed: "deleted \(row.entity) \(row.rowID)")
    }
    for update in changes.updated {
      for name in update.properties {
        try require(
          update.entity, property: name, deed: "wrote \(update.entity).\(name) of row \(update.rowID)")
      }
    }
    for placement in changes.placed {
      try require(
        placement.entity, property: placement.relationship,
        deed: "changed the order of \(placement.entity).\(placement.relationship) of row \(placement.owner)")
    }
    for link in changes.linked + changes.unlinked {
      try require(
        link.entity, property: link.relationship,
        deed: "changed the links of \(link.entity).\(link.relationship) of row \(link.source)")
    }
  }

  private func require(_ entity: String, property: String?, deed: String) throws(TransformFailure) {
    guard !covers(.writes, of: entity, property: property) else { return }
    let place = TransformAccess.Place(entity: entity, property: property)
    throw TransformFailure(access.refusal([deed], [(.writes, place)]))
  }

  private func covers(_ word: TransformAccess.Word, of entity: String, property: String?) -> Bool {
    if isSaid(word, entity: entity, property: property) { return true }
    // Declaring a relationship covers its inverse too.
    let description = mapping.entity(named: entity)?.description
    guard let relationship = property.flatMap({ description?.relationship(named: $0) }),
      let inverse = relationship.inverse
    else { return false }
    return isSaid(word, entity: relationship.destination, property: inverse)
  }

  /// Whether a property is declared. The declaration of an entity also covers its subentities.
  private func isSaid(_ word: TransformAccess.Word, entity name: String, property: String?) -> Bool {
    var next = mapping.entity(named: name)
    while let entity = next {
      if access.covers(word, of: entity.name, property: property) { return true }
      next = entity.parent
    }
    return access.covers(word, of: name, property: property)
  }
}
