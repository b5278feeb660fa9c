// The texts that Foundation returns as `localizedDescription`. They are in English in every locale.

public import Foundation

extension StoreError: LocalizedError {
  /// The ``description``, which `localizedDescription` returns.
  public var errorDescription: String? { description }
}

extension StoreError.Cause: LocalizedError {
  /// The ``description``, which `localizedDescription` returns.
  public var errorDescription: String? { description }
}

extension SchemaFault: LocalizedError {
  /// The ``description``, which `localizedDescription` returns.
  public var errorDescription: String? { description }
}

extension PredicateError: LocalizedError {
  /// The ``description``, which `localizedDescription` returns.
  public var errorDescription: String? { description }
}

extension MigrationSyntaxError: LocalizedError {
  /// The ``description``, which `localizedDescription` returns.
  public var errorDescription: String? { description }
}
