// What the author of a transform says that it reads and writes. What SQL is seen to do is held against it by DeclaredColumns,
// what Swift does by DeclaredProperties.

/// What a step says of a transform: `reads E.a, F writes E.b`. What is said is held against what the transform does.
public struct TransformAccess: Sendable, Hashable {
  /// An entity with all that it has, or one property of it.
  public struct Place: Sendable, Hashable, CustomStringConvertible {
    /// The entity.
    public let entity: String
    /// The property; nil for all of them, and for making and deleting objects.
    public let property: String?

    /// A place.
    public init(entity: String, property: String? = nil) {
      self.entity = entity
      self.property = property
    }

    /// Such as `User.city`, or `User`.
    public var description: String { property.map { "\(entity).\($0)" } ?? entity }
  }

  /// What is done with a place.
  enum Word: String, CaseIterable {
    case reads, writes
  }

  /// What it reads; nil where its author does not say.
  public let reads: [Place]?
  /// What it writes; nil where its author does not say.
  public let writes: [Place]?

  /// What an author says; nil of what is not said.
  public init(reads: [Place]? = nil, writes: [Place]? = nil) {
    (self.reads, self.writes) = (reads.map(Self.sorted), writes.map(Self.sorted))
  }

  // One spelling for each meaning: the checksum is over the text.
  private static func sorted(_ places: [Place]) -> [Place] {
    Set(places).sorted { $0.description < $1.description }
  }

  /// What is said with a word; nil where it does not stand there.
  func places(_ word: Word) -> [Place]? {
    switch word {
    case .reads: reads
    case .writes: writes
    }
  }

  /// Whether a place is among those of a word, or nothing is said with it; of no property, whether the whole entity is.
  func covers(_ word: Word, _ entity: String, _ property: String?) -> Bool {
    guard let places = places(word) else { return true }
    return places.contains { $0.entity == entity && ($0.property == nil || $0.property == property) }
  }

  /// - Throws: ``ModelError`` for a name that the model at this point does not have.
  func check(in model: Schema) throws(ModelError) {
    for place in (reads ?? []) + (writes ?? []) { try place.check(in: model) }
  }

  /// As it stands in a line, with a space in front; empty where nothing is said.
  var text: String {
    Word.allCases.map { word in
      places(word).map { " \(word.rawValue) " + $0.map(\.description).joined(separator: ", ") } ?? ""
    }.joined()
  }

  /// What a transform is told that does more than its step says.
  /// - Parameters:
  ///   - deeds: What it does beyond that, such as `reads User.name`.
  ///   - places: What would allow it, by its word.
  func refusal(_ deeds: [String], _ places: [(word: Word, place: Place)]) -> String {
    // All that the line has to say then, as a word stands in it once.
    let words = Word.allCases.compactMap { word -> String? in
      let lacking = places.filter { $0.word == word }.map(\.place)
      guard !lacking.isEmpty, let said = self.places(word) else { return nil }
      return "\(word.rawValue) \(Self.sorted(said + lacking).map(\.description).joined(separator: ", "))"
    }
    return
      "\(deeds.joined(separator: ", ")), and the step does not say so; write in its line: \(words.joined(separator: " "))"
  }
}

extension TransformAccess.Place {
  /// - Throws: ``ModelError`` for a name that the model at this point does not have.
  func check(in model: Schema) throws(ModelError) {
    guard let owner = model.flattenedEntity(named: entity) else {
      let hint = didYouMean(nearest(entity, among: model.entities.map(\.name)))
      throw ModelError(reason: "there is no entity \(entity)\(hint.map { "; \($0)" } ?? "")")
    }
    guard let property, !owner.propertyNames.contains(property) else { return }
    let hint = didYouMean(nearest(property, among: owner.propertyNames))
    throw ModelError(reason: "there is no property \(self)\(hint.map { "; \($0)" } ?? "")")
  }
}
