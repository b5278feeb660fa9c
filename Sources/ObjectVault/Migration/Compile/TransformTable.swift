// What those who run steps know of the functions that steps call. Objects are above (Store/ObjectTransform): a run sees
// something that changes rows.

internal import CipherSQLite
internal import Foundation

/// What a run lends to a function that changes objects.
struct TransformWork {
  let transform: SwiftTransform
  /// The model at this point of the chain.
  let model: Schema
  let connection: Connection
  let storeID: UUID?
  /// Of the store as it is now; nil in one that is being made.
  let generation: Int64?
  /// Called behind each batch with the number of rows that are done, and of all. Throws when the run is to end.
  let advance: (_ done: Int, _ all: Int) throws -> Void
}

/// A function of the app that changes objects.
protocol RowTransform: Sendable {
  /// - Returns: The columns that it wrote.
  /// - Throws: ``TransformFailure`` where the function failed, or did what its step does not declare.
  func run(_ work: TransformWork) throws -> TouchedColumns
}

/// What went wrong in a function of the app, and with which row.
struct TransformFailure: Error {
  let reason: String

  init(_ reason: String) { self.reason = reason }
}

/// A function of the app that an operation calls.
struct AppFunction {
  let name: String
  /// The entity whose objects, or their values, it is called with.
  let entity: String
  /// Whether it is called with values of a property, and not with objects.
  let takesValues: Bool
}

/// The functions that a program gives its steps, by their names.
struct TransformTable: Sendable {
  typealias Conversion = @Sendable (SQLValue) throws -> SQLValue
  var objects: [String: any RowTransform] = [:]
  var values: [String: Conversion] = [:]

  mutating func merge(_ other: TransformTable) {
    objects.merge(other.objects) { $1 }
    values.merge(other.values) { $1 }
  }

  /// Why a function of the name is none for a call, where there is one.
  func misfit(_ function: AppFunction) -> String? {
    guard !covers(function) else { return nil }
    return function.takesValues
      ? objects[function.name].map { _ in
        "the function \"\(function.name)\" of this program takes objects, and here one is called that takes a value"
      }
      : values[function.name].map { _ in
        "the function \"\(function.name)\" of this program takes a value, and here one is called that takes objects"
      }
  }

  func covers(_ function: AppFunction) -> Bool {
    function.takesValues ? values[function.name] != nil : objects[function.name] != nil
  }
}

// Functions cannot be compared: sets of steps are the same where their functions have the same names.
extension TransformTable: Hashable {
  static func == (left: TransformTable, right: TransformTable) -> Bool {
    left.objects.keys == right.objects.keys && left.values.keys == right.values.keys
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(Set(objects.keys))
    hasher.combine(Set(values.keys))
  }
}
