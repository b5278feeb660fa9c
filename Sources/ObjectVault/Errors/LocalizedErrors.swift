// What Foundation shows of the errors, as apps do. In English, whatever the locale.

public import Foundation

extension StoreError: LocalizedError {
  /// The ``description``: what `localizedDescription` gives.
  public var errorDescription: String? { description }
}

extension StoreError.Cause: LocalizedError {
  /// The ``description``: what `localizedDescription` gives.
  public var errorDescription: String? { description }
}

extension SchemaFault: LocalizedError {
  /// The ``description``: what `localizedDescription` gives.
  public var errorDescription: String? { description }
}

extension PredicateError: LocalizedError {
  /// The ``description``: what `localizedDescription` gives.
  public var errorDescription: String? { description }
}

extension MigrationSyntaxError: LocalizedError {
  /// The ``description``: what `localizedDescription` gives.
  public var errorDescription: String? { description }
}
