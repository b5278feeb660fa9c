// A number with its noun in the singular or the plural, for messages.

/// Returns a count with its noun, such as `1 row`, `2 rows`, `0 entries`.
/// - Parameters:
///   - one: The noun in the singular.
///   - many: The noun in the plural; by default the singular with an `s` appended.
package func counted(_ number: some BinaryInteger, _ one: String, plural many: String? = nil) -> String {
  "\(number) \(number == 1 ? one : many ?? one + "s")"
}
