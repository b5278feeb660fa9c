// The SQL call of the function in `retype … using swift`, the failures of such functions, and the
// progress of functions that change objects.

internal import CipherSQLite
public import Foundation

/// The operation `retype … using swift` in SQL.
enum Conversion {
  static let function = "vault_transform"

  /// Returns the SQL that converts a column.
  /// - Parameters:
  ///   - call: The app's function, and the property that it converts.
  ///   - column: The column's name before the conversion.
  ///   - type: The type after the conversion.
  static func sql(_ call: Call, of column: String, to type: AttributeType) -> String {
    let sql: SQL = "\(call.head), \(written: column), \"id\", \(literal: type.rawValue))"
    return sql.text
  }

  /// A function of the app, and the property that it converts.
  struct Call: Hashable {
    /// The name of the app's function.
    let function: String
    /// The converted property as errors name it, such as `User.age`.
    let property: String

    /// The beginning of the call. An expression that contains this text contains the call.
    fileprivate var head: SQL {
      "\(written: Conversion.function)(\(literal: function), \(literal: property)"
    }

    /// Runs the conversion for a row.
    /// - Throws: ``UnstorableValue`` if the storage class of the result does not fit the type, because
    ///   the column might then convert the value; any error of the function.
    func value(_ type: AttributeType, _ convert: () throws -> SQLValue) throws -> SQLValue {
      let value = try convert()
      guard type.isKind(of: value) else {
        throw UnstorableValue(
          description: "the function \"\(function)\" returned \(value.kindName), which is not a valid "
            + "\(type.rawValue)")
      }
      return value
    }
  }
}

/// The failures of functions that SQL calls. An error cannot be thrown through the engine, so it is kept
/// here.
final class ConversionFailures: Sendable {
  enum Failure {
    case missing(String)
    case failed(TransformFailure)
  }

  private let first = Locked<Failure?>(nil)
  /// For each call, the last row for which it returned nil. Only the engine decides whether NULL is
  /// allowed.
  private let nothing = Locked<[Conversion.Call: Int64]>([:])

  var isEmpty: Bool { first.withLock { $0 == nil } }

  func note(_ failure: Failure) { first.withLock { $0 = $0 ?? failure } }

  func noteNil(_ call: Conversion.Call, row: Int64) { nothing.withLock { $0[call] = row } }

  /// Returns the reason why a required column has no value.
  /// - Parameter expression: The SQL that computes the column.
  /// - Returns: nil if the expression calls no function of the app, or none has returned nil.
  func missingValue(in expression: String) -> String? {
    guard
      let (call, row) = nothing.withLock({ calls in calls.first { expression.contains($0.key.head.text) } })
    else { return nil }
    return
      "the function \"\(call.function)\" returned nil for \(call.property) of row \(row), but a value is "
      + "required; return a value for each object, or first write: make \(call.property) optional"
  }

  /// Returns the first failure and clears it.
  func take() -> Failure? {
    first.withLock { first in
      defer { first = nil }
      return first
    }
  }
}

/// The progress of a function of the app that changes objects. It is in the user info of `Progress`,
/// under `ProgressUserInfoKey.storeIsTransforming`.
public struct TransformProgress: Sendable, Hashable {
  /// The name of the function in its step.
  public let transform: String
  /// The entity whose objects the function changes.
  public let entity: String
  /// The number of objects for which the function has been called.
  public let done: Int
  /// The number of objects when the function began.
  public let all: Int
}

extension ProgressUserInfoKey {
  /// The key of a ``TransformProgress``, which is present while a step calls a function of the app.
  public static let storeIsTransforming = ProgressUserInfoKey(rawValue: "ObjectVault.storeIsTransforming")
}
