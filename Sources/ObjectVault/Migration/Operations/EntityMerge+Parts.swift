// The parts of `merge entity A into B`. MergedRows has the statements for the rows. HierarchyMerge handles
// entities with a parent or children: it first brings both entities into one table.

internal import CipherSQLite

extension EntityMerge: CompositeOperation {
  static let forms = [
    OperationForm("merge") { line in
      try line.expect("entity")
      let source = try line.name("the source entity")
      try line.expect("into")
      let destination = try line.name("the destination entity")
      var pairs: [PropertyPair] = []
      if line.take("with") {
        repeat {
          let name = try line.property(of: source)
          try line.expect("->")
          pairs.append(PropertyPair(name, to: try line.property(of: destination)))
        } while line.take(",")
      }
      return [.mergeEntities(EntityMerge(source, into: destination, with: pairs))]
    }
  ]

  var subject: OperationSubject { .mergedEntity(source, into: destination) }

  func filled(in model: Schema) -> [TransformAccess.Place] {
    guard let places = try? places(in: model) else { return [] }
    return places.attributes.map { TransformAccess.Place(entity: destination, property: $0.to.name) }
  }

  func kept(in model: Schema) -> Set<String> {
    if isInHierarchy(model) { return (try? HierarchyMerge(self, in: model).kept) ?? [] }
    guard let places = try? MergeMapping(self, in: model) else { return [] }
    return Set([source] + (places.redirected + places.dropped).map(\.name))
  }

  func losses(in model: Schema) -> [String] { (try? places(in: model).losses) ?? [] }

  func rollback(from model: Schema, isNew: (String) -> Bool) -> MigrationRollback {
    .none(reason: "it is no longer known which objects of \(destination) were of \(source)")
  }

  /// Records the relationships that get links of the source. If the source is in an inheritance
  /// hierarchy, also records the attributes that get its values, and the objects of subentities that
  /// move to another hierarchy or get new ids.
  func note(in trail: inout NameHistory, _ mapping: SegmentMapping, _ model: Schema) {
    guard let places = try? places(in: model) else { return }
    func owner(_ name: String) -> String {
      model.declarer(of: name, in: places.destination)?.name ?? destination
    }
    for name in (places.toOnes + places.links).map(\.to.name) {
      trail.moved(owner(name), property: name, mapping: mapping, in: model)
    }
    for (member, to) in places.members {
      trail.moved(member.entity.name, property: to.name, mapping: mapping, in: model)
    }
    guard model.isInHierarchy(places.source) else { return }
    for name in places.attributes.map(\.to.name) {
      trail.rewrote(owner(name), property: name, mapping: mapping)
    }
    trail.noteParts(of: self, droppingRows: false, mapping: mapping, in: model)
  }

  /// Returns the counterpart in the destination for each property of the source.
  func places(in model: Schema) throws(ModelError) -> MergeMapping {
    isInHierarchy(model) ? try HierarchyMerge(self, in: model).places : try MergeMapping(self, in: model)
  }

  /// Whether either entity has a parent or children, and so shares its table.
  private func isInHierarchy(_ model: Schema) -> Bool {
    [source, destination].contains { model.entity(named: $0).map(model.isInHierarchy) == true }
  }

  func parts(in model: Schema) throws(ModelError) -> [CompositePart] {
    if isInHierarchy(model) { return try HierarchyMerge(self, in: model).parts }
    let places = try MergeMapping(self, in: model)
    let detours = places.redirected.map { RedirectedRelationship($0, to: destination, in: model) }
    var after = model
    for detour in detours { try detour.making.apply(to: &after) }
    let rows = try MergedRows(places, in: after, .moving, detours: detours)
    return rows.checks.map { .check($0) } + detours.map { .operation($0.making) }
      + rows.statements.map { .sql($0) }
      + detours.flatMap { $0.closing(in: model) }.map { .operation($0) }
      + places.dropped.flatMap { end -> [CompositePart] in
        (model.indexes(with: end.relationship.name, of: end.entity).drops + [
          .dropRelationship(end.entity.name, end.relationship.name)
        ])
        .map { .operation($0) }
      } + [.operation(.dropEntity(source))]
  }
}

extension MigrationLine {
  fileprivate mutating func property(of entity: String) throws -> String {
    let column = column
    let (owner, name) = try property()
    guard owner == entity else {
      throw failure(
        "\(owner).\(name) is not a property of \(entity)", hint: "write \(entity).\(name)", at: column)
    }
    return name
  }
}
