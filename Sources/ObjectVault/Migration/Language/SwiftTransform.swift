// `transform swift` and what a step says in it. The functions themselves are in TransformTable.

/// `transform swift NAME on E [reads E.a, F.b] [writes E.c] batch N`: a function of the app, called with each object of an
/// entity.
public struct SwiftTransform: Sendable, Hashable {
  /// An entity with all that it has, or one property of it.
  public typealias Place = TransformAccess.Place

  /// The function, as the app calls it: see ``MigrationTransform``.
  public let name: String
  /// The entity whose objects it is called with.
  public let entity: String
  /// What it reads and writes, as far as its author says.
  public let access: TransformAccess
  /// How many objects are in memory at once.
  public let batch: Int

  /// What it reads; nil where its author does not say.
  public var reads: [Place]? { access.reads }
  /// What it writes; nil where its author does not say.
  public var writes: [Place]? { access.writes }

  /// The size of a batch where a step does not say.
  public static let usualBatch = 500

  /// A transform.
  public init(
    name: String, entity: String, reads: [Place]? = nil, writes: [Place]? = nil, batch: Int = usualBatch
  ) {
    self.init(
      name: name, entity: entity, access: TransformAccess(reads: reads, writes: writes), batch: batch)
  }

  init(name: String, entity: String, access: TransformAccess, batch: Int) {
    (self.name, self.entity, self.access, self.batch) = (name, entity, access, max(1, batch))
  }

  /// Whether the function may write a property; of no property, whether it may make and delete objects.
  func mayWrite(_ entity: String, _ property: String?) -> Bool { access.covers(.writes, entity, property) }

  /// - Throws: ``ModelError`` for a name that the model at this point does not have.
  func check(in model: Schema) throws(ModelError) {
    try Place(entity: entity).check(in: model)
    try access.check(in: model)
  }
}

extension SwiftTransform: CustomStringConvertible {
  /// The line of a migration file.
  public var description: String { "transform swift \(name) on \(entity)\(access.text) batch \(batch)" }
}
