// `transform swift` and what a step says in it. The functions themselves are in TransformTable.

/// `transform swift NAME on E [reads E.a, F.b] [writes E.c] batch N`: a function of the app, called with each object of an
/// entity.
public struct SwiftTransform: Sendable, Hashable {
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

  /// The function, as the app calls it: see ``MigrationTransform``.
  public let name: String
  /// The entity whose objects it is called with.
  public let entity: String
  /// What it reads; nil where its author does not say.
  public let reads: [Place]?
  /// What it writes; nil where its author does not say. What is said is held against what the function does.
  public let writes: [Place]?
  /// How many objects are in memory at once.
  public let batch: Int

  /// The size of a batch where a step does not say.
  public static let usualBatch = 500

  /// A transform.
  public init(
    name: String, entity: String, reads: [Place]? = nil, writes: [Place]? = nil, batch: Int = usualBatch
  ) {
    (self.name, self.entity, self.batch) = (name, entity, max(1, batch))
    (self.reads, self.writes) = (reads.map(Self.sorted), writes.map(Self.sorted))
  }

  // One spelling for each meaning: the checksum is over the text.
  private static func sorted(_ places: [Place]) -> [Place] {
    Set(places).sorted { $0.description < $1.description }
  }

  /// Whether the function may write a property; of no property, whether it may make and delete objects.
  func mayWrite(_ entity: String, _ property: String?) -> Bool {
    guard let writes else { return true }
    return writes.contains { $0.entity == entity && ($0.property == nil || $0.property == property) }
  }

  /// - Throws: ``ModelError`` for a name that the model at this point does not have.
  func check(in model: Schema) throws(ModelError) {
    for place in [Place(entity: entity)] + (reads ?? []) + (writes ?? []) {
      guard let owner = model.flattenedEntity(named: place.entity) else {
        let hint = didYouMean(nearest(place.entity, among: model.entities.map(\.name)))
        throw ModelError(reason: "there is no entity \(place.entity)\(hint.map { "; \($0)" } ?? "")")
      }
      guard let property = place.property, !owner.propertyNames.contains(property) else { continue }
      let hint = didYouMean(nearest(property, among: owner.propertyNames))
      throw ModelError(reason: "there is no property \(place)\(hint.map { "; \($0)" } ?? "")")
    }
  }
}

extension SwiftTransform: CustomStringConvertible {
  /// The line of a migration file.
  public var description: String {
    func list(_ word: String, _ places: [Place]?) -> String {
      places.map { " \(word) " + $0.map(\.description).joined(separator: ", ") } ?? ""
    }
    return
      "transform swift \(name) on \(entity)\(list("reads", reads))\(list("writes", writes)) batch \(batch)"
  }
}
