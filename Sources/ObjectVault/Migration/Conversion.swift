// `retype … using swift` as SQL has it, what its functions could not throw through the engine, and how far functions are.

internal import CipherSQLite
public import Foundation

/// `retype … using swift`, as SQL calls it.
enum Conversion {
  static let function = "vault_transform"

  /// - Parameters:
  ///   - name: The app's function.
  ///   - property: How errors call what is converted.
  ///   - column: The column before.
  static func sql(_ name: String, of property: String, _ column: String) -> String {
    let sql: SQL =
      "\(written: function)(\(literal: name), \(literal: property), \(written: column), \"id\")"
    return sql.text
  }
}

/// What a function that SQL calls could not throw through the engine.
final class ConversionFailures: Sendable {
  enum Failure {
    case missing(String)
    case failed(TransformFailure)
  }

  private let first = Locked<Failure?>(nil)

  var isEmpty: Bool { first.withLock { $0 == nil } }

  func note(_ failure: Failure) { first.withLock { $0 = $0 ?? failure } }

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
