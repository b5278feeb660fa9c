// The reads and writes that the author of a transform declares. DeclaredColumns compares them with those
// of SQL, DeclaredProperties with those of Swift code.

/// The accesses that a step declares for a transform: `reads E.a, F writes E.b`. A transform that does
/// more is refused.
public struct TransformAccess: Sendable, Hashable {
  /// An entity with all of its properties, or one property.
  public struct Place: Sendable, Hashable, CustomStringConvertible {
    /// The entity.
    public let entity: String
    /// The property; nil for all properties, and for creating and deleting objects.
    public let property: String?

    /// Creates a place.
    /// - Parameters:
    ///   - entity: The entity.
    ///   - property: The property; nil for all of them.
    public init(entity: String, property: String? = nil) {
      self.entity = entity
      self.property = property
    }

    /// The place in dotted form, such as `User.city`, or `User`.
    public var description: String { property.map { "\(entity).\($0)" } ?? entity }
  }

  /// The kind of access to a place.
  enum Word: String, CaseIterable {
    case reads, writes
  }

  /// The places that are read; nil if the author declares none.
  public let reads: [Place]?
  /// The places that are written; nil if the author declares none.
  public let writes: [Place]?

  /// Creates a declaration.
  /// - Parameters:
  ///   - reads: The places that are read; nil to declare none.
  ///   - writes: The places that are written; nil to declare none.
  public init(reads: [Place]? = nil, writes: [Place]? = nil) {
    (self.reads, self.writes) = (reads.map(Self.sorted), writes.map(Self.sorted))
  }

  // Sorted and without duplicates, so that each meaning has one spelling: checksums are made from the
  // text.
  private static func sorted(_ places: [Place]) -> [Place] {
    Set(places).sorted { $0.description < $1.description }
  }

  /// The places that are listed for a kind of access; nil if the step does not declare that kind.
  func places(_ word: Word) -> [Place]? {
    switch word {
    case .reads: reads
    case .writes: writes
    }
  }

  /// Whether the declaration allows an access to a property; for a nil property, to the whole entity.
  /// Always true if the step does not declare this kind of access.
  func covers(_ word: Word, of entity: String, property: String?) -> Bool {
    guard let places = places(word) else { return true }
    return places.contains { $0.entity == entity && ($0.property == nil || $0.property == property) }
  }

  /// Checks the names of all places against a model.
  /// - Throws: ``ModelError`` for a name that the model does not have.
  func check(in model: Schema) throws(ModelError) {
    for place in (reads ?? []) + (writes ?? []) { try place.check(in: model) }
  }

  /// The declaration as text of a line, with a leading space; empty if nothing is declared.
  var text: String {
    Word.allCases.map { word in
      places(word).map { " \(word.rawValue) " + $0.map(\.description).joined(separator: ", ") } ?? ""
    }.joined()
  }

  /// Returns the error message for a transform with accesses that its step does not declare.
  /// - Parameters:
  ///   - deeds: The undeclared accesses, such as `reads User.name`.
  ///   - places: The declarations that would allow these accesses.
  func refusal(_ deeds: [String], _ places: [(word: Word, place: Place)]) -> String {
    // Each word may occur in the line only once, so its list also has the places that are declared
    // already.
    let words = Word.allCases.compactMap { word -> String? in
      let lacking = places.filter { $0.word == word }.map(\.place)
      guard !lacking.isEmpty, let said = self.places(word) else { return nil }
      return "\(word.rawValue) \(Self.sorted(said + lacking).map(\.description).joined(separator: ", "))"
    }
    return
      "\(deeds.joined(separator: ", ")), which the step does not declare; write in its line: "
      + "\(words.joined(separator: " "))"
  }
}

extension TransformAccess.Place {
  /// Checks the names of the place against a model.
  /// - Throws: ``ModelError`` for a name that the model does not have.
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
