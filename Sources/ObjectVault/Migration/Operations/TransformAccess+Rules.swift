// Parses the `reads` and `writes` of a transform, and decides what follows from them for its rollback.

extension MigrationLine {
  /// Parses the words of an access declaration, in any order, each at most once.
  /// - Parameters:
  ///   - others: Further words that the line may contain.
  ///   - read: Parses what follows one of these.
  mutating func access(
    _ others: [String] = [], _ read: (String, inout MigrationLine) throws -> Void = { _, _ in }
  ) throws -> TransformAccess {
    let words = TransformAccess.Word.allCases.map(\.rawValue) + others
    let form =
      "the line continues with \(words.dropLast().joined(separator: ", ")) or \(words.last ?? ""), each at "
      + "most once"
    var (given, places): (Set<String>, [String: [TransformAccess.Place]]) = ([], [:])
    while let word = next, word != "{" {
      guard words.contains(word), given.insert(word).inserted else {
        let hint = words.contains(word) ? form : didYouMean(nearest(word, among: words))
        // Without other words the caller expects a brace here and reports its absence.
        guard hint != nil || !others.isEmpty else { break }
        throw failure("\"\(word)\" has no meaning here", hint: hint ?? form)
      }
      skip()
      if others.contains(word) { try read(word, &self) } else { places[word] = try self.places() }
    }
    return TransformAccess(
      reads: places[TransformAccess.Word.reads.rawValue],
      writes: places[TransformAccess.Word.writes.rawValue])
  }

  private mutating func places() throws -> [TransformAccess.Place] {
    var places = [try place()]
    while take(",") { places.append(try place()) }
    return places
  }

  /// Parses `Entity.property` or `Entity`.
  private mutating func place() throws -> TransformAccess.Place {
    if next?.contains(".") == true {
      let (entity, property) = try property()
      return TransformAccess.Place(entity: entity, property: property)
    }
    return TransformAccess.Place(entity: try name("an entity or Entity.property"))
  }
}

extension TransformAccess {
  /// Whether everything that it writes was added by the step itself; false if it does not declare
  /// `writes`.
  /// - Parameters:
  ///   - model: The model as the step has changed it so far.
  ///   - seesTables: Whether the declaration is enforced by table only. Entities of one inheritance
  ///     hierarchy share a table, so a transform that may write a new entity may reach rows of the
  ///     others.
  func writesOnlyNew(_ mapping: SegmentMapping, in model: Schema, seesTables: Bool) -> Bool {
    writes?.allSatisfy { place in
      guard let property = place.property else {
        return mapping.entities[seesTables ? model.root(of: place.entity) : place.entity] == nil
      }
      guard isNew(place.entity, property: property, mapping: mapping, in: model) else { return false }
      // Both ends of a relationship denote the same links: a new inverse of an existing relationship
      // writes existing links.
      let description = model.flattenedEntity(named: place.entity)?.relationship(named: property)
      guard let description, let inverse = description.inverse else { return true }
      return isNew(description.destination, property: inverse, mapping: mapping, in: model)
    } ?? false
  }

  /// Whether a property was added by the step. For an inherited property, its declaration counts.
  private func isNew(
    _ entity: String, property: String, mapping: SegmentMapping, in model: Schema
  ) -> Bool {
    let owner = model.entity(named: entity).flatMap { model.declarer(of: property, in: $0) }
    return mapping.former(owner?.name ?? entity, property: property) == nil
  }
}
