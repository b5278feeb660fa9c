// The operation `transform swift`. The functions of the app are in TransformTable.

/// `transform swift NAME on E [reads E.a, F.b] [writes E.c] batch N`: calls a function of the app for
/// each object of an entity.
public struct SwiftTransform: Sendable, Hashable {
  /// An entity with all of its properties, or one property.
  public typealias Place = TransformAccess.Place

  /// The name under which the app registers the function: see ``MigrationTransform``.
  public let name: String
  /// The entity for whose objects the function is called.
  public let entity: String
  /// The reads and writes that the author declares for the function.
  public let access: TransformAccess
  /// The number of objects that are in memory at once.
  public let batch: Int

  /// The places that the function reads; nil if its author declares none.
  public var reads: [Place]? { access.reads }
  /// The places that the function writes; nil if its author declares none.
  public var writes: [Place]? { access.writes }

  /// The batch size of a transform whose line states none.
  public static let usualBatch = 500

  /// Creates a transform.
  /// - Parameters:
  ///   - name: The name under which the app registers the function.
  ///   - entity: The entity for whose objects the function is called.
  ///   - reads: The places that the function reads; nil to declare none.
  ///   - writes: The places that the function writes; nil to declare none.
  ///   - batch: The number of objects in memory at once; values below 1 count as 1.
  public init(
    name: String, entity: String, reads: [Place]? = nil, writes: [Place]? = nil, batch: Int = usualBatch
  ) {
    self.init(
      name: name, entity: entity, access: TransformAccess(reads: reads, writes: writes), batch: batch)
  }

  init(name: String, entity: String, access: TransformAccess, batch: Int) {
    (self.name, self.entity, self.access, self.batch) = (name, entity, access, max(1, batch))
  }

  /// Whether the declaration allows the function to write a property or, if `property` is nil, to create
  /// and delete objects.
  func mayWrite(_ entity: String, property: String?) -> Bool {
    access.covers(.writes, of: entity, property: property)
  }

  /// Checks the names in the operation against a model.
  /// - Throws: ``ModelError`` for a name that the model does not have.
  func check(in model: Schema) throws(ModelError) {
    try Place(entity: entity).check(in: model)
    try access.check(in: model)
  }
}

extension SwiftTransform: CustomStringConvertible {
  /// The operation as a line of a migration file.
  public var description: String { "transform swift \(name) on \(entity)\(access.text) batch \(batch)" }
}
