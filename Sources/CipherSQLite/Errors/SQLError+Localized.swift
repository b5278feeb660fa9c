// The text that Foundation shows for an error, such as in an alert.

public import Foundation

extension SQLError: LocalizedError {
  /// The text of `localizedDescription`, which is ``description``. It is in English, whatever the locale.
  public var errorDescription: String? { description }
}
