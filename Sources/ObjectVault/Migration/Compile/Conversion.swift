// `retype … using swift` as SQL has it, what its functions could not throw through the engine, and how far functions are.

internal import CipherSQLite
public import Foundation

/// `retype … using swift`, as SQL calls it.
enum Conversion {
  static let function = "vault_transform"

  /// - Parameters:
  ///   - call: The app's function, and what is converted.
  ///   - column: The column before.
  ///   - type: What it is converted to.
  static func sql(_ call: Call, of column: String, to type: AttributeType) -> String {
    let sql: SQL = "\(call.head), \(written: column), \"id\", \(literal: type.rawValue))"
    return sql.text
  }

  /// A function of the app, and what it converts.
  struct Call: Hashable {
    /// The app's function.
    let function: String
    /// How errors call what is converted, such as `User.age`.
    let property: String

    /// What no other call in an expression begins with.
    fileprivate var head: SQL {
      "\(written: Conversion.function)(\(literal: function), \(literal: property)"
    }

    /// Runs it for a row.
    /// - Throws: ``UnstorableValue`` for what a column of the type would make something else of, and what the function throws.
    func value(_ type: AttributeType, _ convert: () throws -> SQLValue) throws -> SQLValue {
      let value = try convert()
      guard type.isKind(of: value) else {
        throw UnstorableValue(
          description: "the function \"\(function)\" gave \(value.kindName), which is no \(type.rawValue)")
      }
      return value
    }
  }
}

/// What a function that SQL calls could not throw through the engine.
final class ConversionFailures: Sendable {
  enum Failure {
    case missing(String)
    case failed(TransformFailure)
  }

  private let first = Locked<Failure?>(nil)
  /// The row for which each call gave nothing last. That may be right, and only the engine says where it is not.
  private let nothing = Locked<[Conversion.Call: Int64]>([:])

  var isEmpty: Bool { first.withLock { $0 == nil } }

  func note(_ failure: Failure) { first.withLock { $0 = $0 ?? failure } }

  func noteNothing(_ call: Conversion.Call, row: Int64) { nothing.withLock { $0[call] = row } }

  /// What is said of a required column that the engine refuses for want of a value.
  /// - Parameter expression: What makes the column.
  /// - Returns: nil where no function of the app has a part in it, or none has given nothing.
  func missingValue(in expression: String) -> String? {
    guard
      let (call, row) = nothing.withLock({ calls in calls.first { expression.contains($0.key.head.text) } })
    else { return nil }
    return
      "the function \"\(call.function)\" gave nil for \(call.property) of row \(row), and a value is required; "
      + "give one for each object, or write before: make \(call.property) optional"
  }

  /// The first failure, which is forgotten then.
  func take() -> Failure? {
    first.withLock { first in
      defer { first = nil }
      return first
    }
  }
}

/// How far a function of the app is that changes objects: of `Progress`, under
/// `ProgressUserInfoKey.storeIsTransforming`.
public struct TransformProgress: Sendable, Hashable {
  /// The function, as its step calls it.
  public let transform: String
  /// The entity whose objects it is called with.
  public let entity: String
  /// How many it was called with.
  public let done: Int
  /// How many there were when it began.
  public let all: Int
}

extension ProgressUserInfoKey {
  /// A ``TransformProgress`` while a step calls a function of the app; absent else.
  public static let storeIsTransforming = ProgressUserInfoKey(rawValue: "ObjectVault.storeIsTransforming")
}
