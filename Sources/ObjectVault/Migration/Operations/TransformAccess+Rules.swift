// How the words of an access are read, and what follows from them for the way back.

extension MigrationLine {
  /// The words of an access, in any order, each once.
  /// - Parameters:
  ///   - others: The words that the line may go on with besides.
  ///   - read: Reads what stands behind one of these.
  mutating func access(
    _ others: [String] = [], _ read: (String, inout MigrationLine) throws -> Void = { _, _ in }
  ) throws -> TransformAccess {
    let words = TransformAccess.Word.allCases.map(\.rawValue) + others
    let form =
      "the line goes on with \(words.dropLast().joined(separator: ", ")) or \(words.last ?? ""), each once"
    var (given, places): (Set<String>, [String: [TransformAccess.Place]]) = ([], [:])
    while let word = next, word != "{" {
      guard words.contains(word), given.insert(word).inserted else {
        let hint = words.contains(word) ? form : didYouMean(nearest(word, among: words))
        // Who expects a brace there says so.
        guard hint != nil || !others.isEmpty else { break }
        throw failure("\"\(word)\" has no meaning here", hint ?? form)
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

  /// `Entity.property`, or `Entity`.
  private mutating func place() throws -> TransformAccess.Place {
    if next?.contains(".") == true {
      let (entity, property) = try property()
      return TransformAccess.Place(entity: entity, property: property)
    }
    return TransformAccess.Place(entity: try name("an entity or Entity.property"))
  }
}

extension TransformAccess {
  /// Whether nothing of what it writes was there before the step.
  /// - Parameters:
  ///   - model: The model as the step has made it so far.
  ///   - seesTables: Whether what is said is held against tables, which entities with one root share: who may write a new
  ///     one of them may reach rows of the others.
  func writesOnlyNew(_ mapping: SegmentMapping, in model: Schema, seesTables: Bool) -> Bool {
    writes?.allSatisfy { place in
      guard let property = place.property else {
        return mapping.entities[seesTables ? model.root(of: place.entity) : place.entity] == nil
      }
      guard isNew(place.entity, property, mapping, model) else { return false }
      // Either end of a relationship stands for its links: a new end of one that was there is a new way to old links.
      let description = model.flattenedEntity(named: place.entity)?.relationship(named: property)
      guard let description, let inverse = description.inverse else { return true }
      return isNew(description.destination, inverse, mapping, model)
    } ?? false
  }

  /// Whether a property was not there before. An inherited one is as old as it is where it is declared.
  private func isNew(
    _ entity: String, _ property: String, _ mapping: SegmentMapping, _ model: Schema
  ) -> Bool {
    let owner = model.entity(named: entity).flatMap { model.declarer(of: property, in: $0) }
    return mapping.former(owner?.name ?? entity, property) == nil
  }
}
