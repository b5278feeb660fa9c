// The functions of the app that steps call. This layer has no objects, so a run only calls a protocol;
// Store/ObjectTransform implements it.

internal import CipherSQLite
internal import Foundation

/// What a run passes to a function that changes objects.
struct TransformWork {
  let transform: SwiftTransform
  /// The model at this step.
  let model: Schema
  let connection: Connection
  let storeID: UUID?
  /// The generation of the store; nil for a store that is being created.
  let generation: Int64?
  /// Called after each batch with the number of finished rows and the number of all rows. Throws if the
  /// run is to be cancelled.
  let advance: (_ done: Int, _ all: Int) throws -> Void
}

/// A function of the app that changes objects.
protocol RowTransform: Sendable {
  /// Runs the function.
  /// - Returns: The columns that the function wrote.
  /// - Throws: ``TransformFailure`` if the function failed, or did something that its step does not
  ///   declare; the errors of ``TransformWork/advance``, and those of the engine that the function did
  ///   not cause, such as a full disk.
  func run(_ work: TransformWork) throws -> TouchedColumns
}

/// The reason why a function of the app failed, with the rows if they are known.
struct TransformFailure: Error {
  let reason: String

  init(_ reason: String) { self.reason = reason }
}

/// A function of the app that an operation calls.
struct AppFunction {
  let name: String
  /// The entity whose objects, or whose property's values, the function gets.
  let entity: String
  /// Whether the function gets values of a property, and not objects.
  let takesValues: Bool
}

/// The functions that a program supplies for its steps, by their names.
struct TransformTable: Sendable {
  typealias Conversion = @Sendable (SQLValue) throws -> SQLValue
  var objects: [String: any RowTransform] = [:]
  var values: [String: Conversion] = [:]

  mutating func merge(_ other: TransformTable) {
    objects.merge(other.objects) { $1 }
    values.merge(other.values) { $1 }
  }

  /// Returns why the function of this name does not fit a call; nil if it fits, or does not exist.
  func misfit(_ function: AppFunction) -> String? {
    guard !covers(function) else { return nil }
    return function.takesValues
      ? objects[function.name].map { _ in
        "the function \"\(function.name)\" of this program takes objects, but this line calls it with a value"
      }
      : values[function.name].map { _ in
        "the function \"\(function.name)\" of this program takes a value, but this line calls it with objects"
      }
  }

  func covers(_ function: AppFunction) -> Bool {
    function.takesValues ? values[function.name] != nil : objects[function.name] != nil
  }
}

// Functions cannot be compared. Two tables are equal if their functions have the same names.
extension TransformTable: Hashable {
  static func == (left: TransformTable, right: TransformTable) -> Bool {
    left.objects.keys == right.objects.keys && left.values.keys == right.values.keys
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(Set(objects.keys))
    hasher.combine(Set(values.keys))
  }
}
