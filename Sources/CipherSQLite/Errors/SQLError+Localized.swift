// What Foundation shows of an error, as apps do.

public import Foundation

extension SQLError: LocalizedError {
  /// The ``description``: what `localizedDescription` gives. In English, whatever the locale.
  public var errorDescription: String? { description }
}
